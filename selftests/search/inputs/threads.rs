// SPDX-License-Identifier: GPL-2.0
// 200 threads alive at once, each with maps and strings.
use std::collections::HashMap;
use std::sync::{Arc, Barrier};

fn main() {
    let all = Arc::new(Barrier::new(200));
    let threads: Vec<_> = (0..200u64)
        .map(|n| {
            let all = all.clone();
            std::thread::spawn(move || {
                let mut map = HashMap::new();
                for i in 0..1000u64 {
                    map.insert(i * n, format!("{}-{}", i, n));
                }
                all.wait();
                map.values().map(|text| text.len() as u64).sum::<u64>()
            })
        })
        .collect();
    println!("{}", threads.into_iter().map(|t| t.join().unwrap()).sum::<u64>());
}
