// SPDX-License-Identifier: GPL-2.0
// Sets errno before each call to the allocator and checks it afterwards. Meanwhile, signals interrupt the calling
// threads, which also have to wait for one another whenever one of them allocates with a new call stack or reaches a
// new peak. With an argument, many threads free a block each when no more memory can be mapped.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS	40
#define MANY	400
#define ROUNDS	3000
#define OWN	12345
#define BLOCKS	200

static unsigned int changes, last, ended;

static void on_signal(int signal)
{
}

static void look(void)
{
	if (errno == OWN)
		return;
	__atomic_store_n(&last, (unsigned int)errno, __ATOMIC_RELAXED);
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
}

#define LOOK(expression)       \
	do {                   \
		errno = OWN;   \
		(expression);  \
		look();        \
	} while (0)

/* Produces a different call stack for each @number: each bit of @number selects one of two call sites. */
static __attribute__((noinline)) void *descend(unsigned int number, unsigned int depth, size_t size)
{
	void *volatile block;

	if (!depth)
		return malloc(size);
	if (number & 1)
		block = descend(number >> 1, depth - 1, size);
	else
		block = descend(number >> 1, depth - 1, size + 1);
	return block;
}

static void *work(void *data)
{
	unsigned int number = (unsigned int)(size_t)data * ROUNDS;
	void *blocks[BLOCKS] = { NULL };

	for (unsigned int i = 0; i < ROUNDS; i++) {
		void **block = &blocks[i % BLOCKS];

		LOOK(free(*block));
		LOOK(*block = descend(number + i, 16, 100 + i));
		if (i % 4 == 0)
			LOOK(*block = realloc(*block, 3 * i + 1));
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		LOOK(free(blocks[i]));
	__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	return NULL;
}

static pthread_barrier_t barrier;

static void *free_one(void *block)
{
	pthread_barrier_wait(&barrier);
	LOOK(free(block));
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* Each thread's first event needs memory for the thread's state, which soon cannot be mapped. */
static void free_without_memory(void)
{
	const struct rlimit limit = { 1 << 20, RLIM_INFINITY };
	pthread_attr_t attributes;
	pthread_t threads[MANY];

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&barrier, NULL, MANY + 1);
	for (size_t i = 0; i < MANY; i++)
		if (pthread_create(&threads[i], &attributes, free_one, malloc(30)))
			exit(1);
	/* By system call: massif allows for its own memory in setrlimit(). */
	syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
}

static void work_together(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[THREADS];

	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < THREADS) {
		for (size_t i = 0; i < THREADS; i++)
			pthread_kill(threads[i], SIGUSR1);
		usleep(100);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		free_without_memory();
	else
		work_together();
	printf("%u changes%s%s\n", changes, changes ? ", the last to " : "",
	       changes ? strerror((int)last) : "");
	return 0;
}
