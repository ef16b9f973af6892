# SPDX-License-Identifier: GPL-2.0
# 200 threads, 20 processes of a pool, subprocesses, a ctypes callback and a signal timer.
import ctypes, json, multiprocessing, signal, subprocess, sys, threading

def work(n):
    return sum(len(str(i * n)) for i in range(2000))

if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    ticks = []
    signal.signal(signal.SIGALRM, lambda *_: ticks.append('x' * 100))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    results = [0] * 200
    def thread(n):
        results[n] = work(n)
    threads = [threading.Thread(target=thread, args=(n,)) for n in range(200)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(sum(results))
    signal.setitimer(signal.ITIMER_REAL, 0)
    with multiprocessing.Pool(20) as pool:
        print(sum(pool.map(work, range(100))))
    print(subprocess.run(['sort'], input=b'b\na\n', stdout=subprocess.PIPE).stdout)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    array = (ctypes.c_int * 1000)(*[i * 7919 % 1000 for i in range(1000)])
    ctypes.CDLL(None).qsort(array, 1000, 4, compare(lambda a, b: a[0] - b[0]))
    print(list(array) == list(range(1000)), len(json.dumps(list(array))))
