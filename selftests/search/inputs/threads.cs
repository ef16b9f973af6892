// SPDX-License-Identifier: GPL-2.0
// 100 threads alive at once in the Mono runtime.
using System;
using System.Linq;
using System.Threading;

class Threads {
	static void Main() {
		var all = new Barrier(100);
		var sums = new long[100];
		var threads = Enumerable.Range(0, 100).Select(n => new Thread(() => {
			all.SignalAndWait();
			sums[n] = Enumerable.Range(0, 1000).Select(i => (i * n).ToString()).Sum(s => s.Length);
		})).ToArray();
		foreach (var thread in threads) thread.Start();
		foreach (var thread in threads) thread.Join();
		Console.WriteLine(sums.Sum());
	}
}
