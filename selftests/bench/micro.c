// SPDX-License-Identifier: GPL-2.0
// Measures the time taken by a malloc and the matching free: micro ROW PAIRS
//
// Prints the thread's CPU time per pair in nanoseconds. For rows with several threads, prints the mean wall time per
// pair, followed by the mean CPU time over all threads.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define BELOW	 4 /* number of frames from _start to main, inclusive */
#define THREADS	 2

struct row {
	const char *name;
	int frames;   /* stack depth at the call to malloc */
	int sites;    /* number of call sites, used in turn */
	int threads;  /* number of threads created; 0: use the main thread */
	int shared;   /* true if all threads use the same call site */
};

static const struct row rows[] = {
	{ .name = "stack14", .frames = 14, .sites = 1 },
	{ .name = "stack64", .frames = 64, .sites = 1 },
	{ .name = "stacks16", .frames = 14, .sites = 16 },
	{ .name = "one", .frames = 14, .sites = 1, .threads = 1 },
	{ .name = "separate", .frames = 14, .sites = 1, .threads = THREADS },
	{ .name = "shared", .frames = 14, .sites = 1, .threads = THREADS, .shared = 1 },
};

static const struct row *row;
static long pairs;

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#define SITE(n)                                    \
	static NOINLINE void pair_##n(void)        \
	{                                          \
		void *volatile block = malloc(48); \
						   \
		free(block);                       \
	}

SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)

static void (*const sites[])(void) = {
	pair_0, pair_1, pair_2,	 pair_3,  pair_4,  pair_5,  pair_6,  pair_7,
	pair_8, pair_9, pair_10, pair_11, pair_12, pair_13, pair_14, pair_15,
};

/* Nanoseconds per malloc/free pair. */
struct times {
	double wall, cpu;
};

static NOINLINE struct times run(int first)
{
	struct times times;
	double begin, cpu_begin;

	sites[first]();
	begin = now(CLOCK_MONOTONIC);
	cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
	for (long i = 0; i < pairs; i++)
		sites[first + (row->sites == 1 ? 0 : i % row->sites)]();
	times.cpu = (now(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) / (double)pairs;
	times.wall = (now(CLOCK_MONOTONIC) - begin) / (double)pairs;
	return times;
}

/* Calls run() through @levels additional frames. run() and the call site add another two. */
static NOINLINE struct times descend(int levels, int first)
{
	struct times times = levels ? descend(levels - 1, first) : run(first);
	/* Prevents a tail call, so that this function keeps its frame. */
	volatile double after = times.cpu;

	times.cpu = after;
	return times;
}

static void *work(void *data)
{
	struct times *times = data;
	int number = (int)times->wall;

	*times = descend(row->frames - BELOW - 3, row->shared ? 0 : number);
	return NULL;
}

static struct times run_threads(void)
{
	struct times of[THREADS], mean = { 0, 0 };
	pthread_t threads[THREADS];

	for (int i = 0; i < row->threads; i++) {
		of[i].wall = i;
		if (pthread_create(&threads[i], NULL, work, &of[i]))
			exit(1);
	}
	for (int i = 0; i < row->threads; i++) {
		pthread_join(threads[i], NULL);
		mean.wall += of[i].wall / row->threads;
		mean.cpu += of[i].cpu / row->threads;
	}
	return mean;
}

int main(int argc, char **argv)
{
	struct times times;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (argc == 3 && strcmp(rows[i].name, argv[1]) == 0)
			row = &rows[i];
	}
	pairs = row ? atol(argv[2]) : 0;
	if (pairs <= 0) {
		fprintf(stderr, "usage: micro ROW PAIRS\n");
		return 2;
	}
	if (row->threads) {
		times = run_threads();
		printf("%.3f ", times.wall);
	} else {
		times = descend(row->frames - BELOW - 3, 0);
	}
	printf("%.3f\n", times.cpu);
	return 0;
}
