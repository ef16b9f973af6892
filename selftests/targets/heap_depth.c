// SPDX-License-Identifier: GPL-2.0
// Allocates at many depths of many stacks: those of threads, coroutines and signal handlers. A mark is the allocation
// of a block of a unique size. If $POINTS is set, each mark also makes Valgrind or massif write a snapshot to a file
// named $POINTS followed by the mark's number.

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_MONITOR_COMMAND(command) (void)(command)
#endif

#include "heap_depth.h"

#define NOINLINE __attribute__((noinline))

static void *kept[64];

/*
 * Marks point @i of the run by allocating a block of a unique size. If $POINTS is set, also asks Valgrind or massif for
 * a snapshot, in the same stack frame.
 */
NOINLINE static void mark(int i)
{
	const char *points = getenv("POINTS");
	char command[256];

	snprintf(command, sizeof(command), "snapshot %s%d", points ? points : "", i);
	kept[i] = malloc(MARK_SIZE(i));
	if (points)
		VALGRIND_MONITOR_COMMAND(command);
}

/* Calls mark(), which allocates a block of a unique size, from a stack frame of more than @bytes bytes. */
NOINLINE static void mark_deep(int i, size_t bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	mark(i);
	room[bytes - 1] = room[0];
}

NOINLINE static void descend(int i, int depth)
{
	volatile char frame[1000];

	frame[0] = 1;
	if (depth)
		descend(i, depth - 1);
	else
		mark(i);
	frame[1] = frame[0];
}

static int compare(const void *a, const void *b)
{
	if (!kept[5])
		mark(5);
	return *(const int *)a - *(const int *)b;
}

static void at_exit(void)
{
	mark(8);
}

/* Marks each point of the run at which the program uses the main stack, by allocating a block of a unique size. */
static void points(void)
{
	int numbers[] = { 3, 1, 2 };

	mark(1);
	descend(2, 10);
	mark_deep(3, 50000);
	mark(4);
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	descend(6, 100);
	free(kept[6]);
	mark(7);
	atexit(at_exit);
}

/*
 * Flags on which threads wait in a loop. The loop calls no functions, so that a thread's stack stays as it was at its
 * last event.
 */
static int waiting, done;

static inline __attribute__((always_inline)) void wait_for(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
		long number = SYS_sched_yield;

		__asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
	}
}

static void *body(void *data)
{
	wait_for(&waiting);
	mark(1);
	descend(2, 10);
	mark_deep(3, 100000);
	mark(4);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

NOINLINE static void wait_deep(void)
{
	volatile char room[3000];

	room[0] = 1;
	free(malloc(1));
	__atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
	wait_for(&done);
	room[1] = room[0];
}

static void in_thread(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, body, NULL))
		exit(1);
	wait_deep();
	pthread_join(id, NULL);
	mark(5);
}

/* Uses several stacks at once, and ends threads in every possible way. */
static pthread_barrier_t barrier;

NOINLINE static void stay(size_t bytes)
{
	volatile char *room = alloca(bytes);

	room[0] = 1;
	free(malloc(1));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	room[bytes - 1] = room[0];
}

static void *stay_and_end(void *data)
{
	size_t number = (size_t)data;

	stay(STAY_BYTES);
	if (number % 3 == 1)
		pthread_exit(NULL);
	while (number % 3 == 2)
		pause(); /* wait until this thread is cancelled */
	return NULL;
}

static void many(void)
{
	pthread_t ids[STAYING];

	pthread_barrier_init(&barrier, NULL, STAYING + 1);
	for (size_t i = 0; i < STAYING; i++)
		if (pthread_create(&ids[i], NULL, stay_and_end, (void *)i))
			exit(1);
	pthread_barrier_wait(&barrier);
	mark(1);
	if (!fork()) {
		mark(2); /* in the child, the other threads do not exist */
		_exit(0);
	}
	wait(NULL);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < STAYING; i++) {
		if (i % 3 == 2)
			pthread_cancel(ids[i]);
		pthread_join(ids[i], NULL);
	}
	mark(3);
}

/* A thread other than the main thread forks, so the child has no main thread. */
static void *fork_deep(void *data)
{
	mark_deep(1, STAY_BYTES);
	if (!fork()) {
		mark(2);
		_exit(0);
	}
	wait(NULL);
	return NULL;
}

NOINLINE static void fork_in_thread(void)
{
	volatile char room[200000];
	pthread_t id;

	room[0] = 1;
	free(malloc(1));
	if (pthread_create(&id, NULL, fork_deep, NULL))
		exit(1);
	pthread_join(id, NULL);
	room[1] = room[0];
}

/* Allocates on stacks that the program provides. One of them is directly below the thread's own stack. */
static ucontext_t outside, inside;

static void coroutine(void)
{
	volatile char room[10000];

	room[0] = 1;
	mark(2);
	descend(3, 10);
	room[1] = room[0];
}

static void run_coroutine(void *stack, size_t size)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	mark(1);
	swapcontext(&outside, &inside);
	mark(4);
}

static void main_coroutine(void)
{
	static char stack[65536];

	run_coroutine(stack, sizeof(stack));
}

static void *thread_coroutine(void *data)
{
	run_coroutine(data, SMALL_STACK);
	mark_deep(5, SMALL_STACK / 2);
	return NULL;
}

static void small_coroutine(void)
{
	char *both = mmap(NULL, 2 * SMALL_STACK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t id;

	if (both == MAP_FAILED)
		exit(1);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, both + SMALL_STACK, SMALL_STACK);
	if (pthread_create(&id, &attributes, thread_coroutine, both))
		exit(1);
	pthread_join(id, NULL);
}

static void handle(int signal)
{
	descend(2, 10);
}

static void alternate(void)
{
	static char stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	mark(1);
	raise(SIGUSR1);
	mark(3);
}

/* At this point, the sum of heap and stack reaches its maximum. The heap alone reached its maximum earlier. */
NOINLINE static void with_stack(void)
{
	volatile char room[1000000];

	room[0] = 1;
	free(malloc(10000));
	room[1] = room[0];
}

static void peaks(void)
{
	free(malloc(300000));
	with_stack();
	free(malloc(1));
}

/* Allocates a block, then recurses @depth times. Both the heap and the stack are largest in the innermost call. */
NOINLINE static void deepest(int depth)
{
	volatile char frame[5000];
	void *block = malloc(100);

	frame[0] = 1;
	if (depth)
		deepest(depth - 1);
	free(block);
	frame[1] = frame[0];
}

static void climb(void)
{
	deepest(200);
	mark(1);
}

/* Uses a deep stack only between two events, so that massif never sees this depth. */
NOINLINE static void unseen_depth(void)
{
	volatile char room[200000];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 1;
}

static void unseen(void)
{
	mark(1);
	unseen_depth();
	mark(2);
	free(kept[2]);
}

static void huge(void)
{
	mark(1);
	mark_deep(2, HUGE_BYTES);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {
		{ "points", points }, { "thread", in_thread }, { "many", many },
		{ "fork_in_thread", fork_in_thread }, { "main_coroutine", main_coroutine },
		{ "small_coroutine", small_coroutine }, { "alternate", alternate },
		{ "peaks", peaks }, { "climb", climb }, { "unseen", unseen }, { "huge", huge },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	}
	return 2;
}
