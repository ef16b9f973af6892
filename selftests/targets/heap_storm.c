// SPDX-License-Identifier: GPL-2.0
// heap_storm THREADS ROUNDS: threads allocate, resize and free each other's blocks, while a timer's signals interrupt
// them, and children that also allocate are forked. Frees everything at the end.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 1024

static void *volatile slots[SLOTS];
static unsigned long rounds;

static void *swap(unsigned int i, void *block)
{
	return __atomic_exchange_n(&slots[i], block, __ATOMIC_SEQ_CST);
}

/* A signal handler. It must not allocate, because it may interrupt the allocator while the allocator's lock is held. */
static void on_alarm(int signal)
{
	static volatile int alarms;

	alarms += signal == SIGVTALRM;
}

static void *run(void *data)
{
	unsigned int random = (unsigned int)(size_t)data * 2654435761u + 1;

	for (unsigned long i = 0; i < rounds; i++) {
		unsigned int slot, kind;
		void *block;

		random = random * 1103515245u + 12345;
		slot = (random >> 8) % SLOTS;
		kind = (random >> 20) % 4;
		if (kind == 0) {
			block = swap(slot, NULL);
			block = realloc(block, (random >> 18) + 1);
		} else if (kind == 1) {
			block = calloc(1 + (random >> 28), 100);
		} else {
			block = malloc(random >> 20);
		}
		free(swap(slot, block));
	}
	return NULL;
}

static void *volatile of_a_child;

static void fork_one(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			of_a_child = malloc(12345);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 4;
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	pthread_t threads[256];

	rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
	signal(SIGVTALRM, on_alarm);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	for (long i = 1; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < 3; i++)
		fork_one();
	run(NULL);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		free(swap((unsigned int)i, NULL));
	return 0;
}
