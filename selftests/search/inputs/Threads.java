// SPDX-License-Identifier: GPL-2.0
// 200 threads alive at once, each with garbage of its own, twice.
import java.util.concurrent.*;

public class Threads {
	public static void main(String[] args) throws Exception {
		long sum = 0;
		for (int round = 0; round < 2; round++) {
			ExecutorService pool = Executors.newFixedThreadPool(200);
			CountDownLatch all = new CountDownLatch(200);
			Future<?>[] results = new Future<?>[200];
			for (int i = 0; i < 200; i++) {
				final int number = i;
				results[i] = pool.submit(() -> {
					all.countDown();
					all.await();
					StringBuilder text = new StringBuilder();
					for (int k = 0; k < 2000; k++)
						text.append(number * k).append(',');
					return (long)text.toString().hashCode();
				});
			}
			for (Future<?> result : results)
				sum += (Long)result.get();
			pool.shutdown();
		}
		System.out.println(sum);
	}
}
