// SPDX-License-Identifier: GPL-2.0
// ctl_orphan [SEED]: threads keep allocating with new call stacks while children are forked, some of which execute the
// program again. Prints its result, which is the same in each run, and exits with status 7.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	THREADS = 3,
	ROUNDS = 150,
	CHILDREN = 12,
	DEPTH = 12,
	KEPT = 256,
};

struct work {
	uint32_t random;
	uint64_t sum;
	void *kept[KEPT];
};

static uint32_t draw(struct work *work)
{
	work->random = work->random * 1664525 + 1013904223;
	return work->random >> 16;
}

static void keep(struct work *work, size_t size)
{
	void **place = &work->kept[draw(work) % KEPT];

	free(*place);
	*place = malloc(size);
	memset(*place, 1, size);
	work->sum = work->sum * 31 + size;
}

static void left(struct work *work, unsigned int depth);

__attribute__((noinline)) static void right(struct work *work, unsigned int depth)
{
	keep(work, 16 + draw(work) % 500);
	if (depth)
		(draw(work) & 1 ? left : right)(work, depth - 1);
	work->sum++;
}

__attribute__((noinline)) static void left(struct work *work, unsigned int depth)
{
	keep(work, 16 + draw(work) % 500);
	if (depth)
		(draw(work) & 1 ? left : right)(work, depth - 1);
	work->sum += 2;
}

static void go(struct work *work, int rounds)
{
	for (int i = 0; i < rounds; i++)
		left(work, DEPTH);
	for (int i = 0; i < KEPT; i++)
		free(work->kept[i]);
}

static void *run(void *data)
{
	go(data, ROUNDS);
	return NULL;
}

static int leaf(uint32_t seed)
{
	static struct work work;

	work.random = seed;
	go(&work, 5);
	return (int)(work.sum % 100);
}

static void execute(const char *path, uint32_t seed)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", (unsigned int)seed);
	execl(path, path, number, (char *)NULL);
	_exit(99);
}

/* Creates children; every other child executes the program again. Returns the sum of their exit statuses. */
static int have_children(const char *path)
{
	int sum = 0, status;

	for (uint32_t i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (!pid && i % 2)
			execute(path, i);
		if (!pid)
			_exit(leaf(i));
		waitpid(pid, &status, 0);
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
	}
	return sum;
}

int main(int argc, char **argv)
{
	static struct work works[THREADS];
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	int children;

	if (argc > 1)
		return leaf((uint32_t)atoi(argv[1]));
	for (uint32_t i = 0; i < THREADS; i++) {
		works[i].random = i;
		pthread_create(&threads[i], NULL, run, &works[i]);
	}
	children = have_children("/proc/self/exe");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += works[i].sum;
	}
	printf("%llu %d\n", (unsigned long long)sum, children);
	return 7;
}
