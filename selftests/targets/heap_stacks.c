// SPDX-License-Identifier: GPL-2.0
// heap_stacks ROUNDS: allocates repeatedly from all kinds of stacks, many of which share outer frames or addresses
// with earlier ones: recursion, callbacks, frames of variable size, longjmp, coroutines that begin and end, signal
// handlers on the thread's stack and on an alternate stack, threads.

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FRAME __attribute__((noipa, optimize("no-optimize-sibling-calls")))
#define STACK_SIZE (64 * 1024)

static __thread uint32_t seed;
static __thread jmp_buf escape;
static __thread ucontext_t outside, inside;
static __thread uint32_t budget; /* number of nested calls that the running coroutine makes; 0 if none is running */

static uint32_t choose(uint32_t n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static FRAME int allocate(void)
{
	void *block = malloc(16 + choose(200));

	if (choose(2))
		block = realloc(block, 16 + choose(400));
	free(block);
	return 1;
}

static FRAME int wander(uint32_t depth);

static FRAME int aligned(uint32_t depth)
{
	alignas(64) volatile char line[64];

	line[0] = 1;
	return wander(depth) + line[0];
}

static FRAME int variable(uint32_t depth)
{
	volatile char *room = alloca(choose(4) * 16 + 1);

	room[0] = 1;
	return wander(depth) + room[0];
}

static FRAME int compare(const void *a, const void *b)
{
	allocate();
	return *(const int *)a - *(const int *)b;
}

static FRAME int callback(uint32_t depth)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(*numbers), compare);
	return wander(depth) + numbers[0];
}

static FRAME __attribute__((noreturn)) void leave(void)
{
	allocate();
	longjmp(escape, 1);
}

static FRAME int jump(uint32_t depth)
{
	if (!setjmp(escape))
		leave();
	return wander(depth);
}

static void run_inside(void)
{
	wander(budget);
	swapcontext(&inside, &outside);
	wander(budget);
}

/* Runs on a stack that is unmapped afterwards; the next stack may be smaller and at the same address. */
static FRAME int coroutine(uint32_t depth)
{
	size_t size = STACK_SIZE + choose(3) * 4096;
	char *stack;

	if (budget)
		return wander(depth);
	budget = depth;
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		abort();
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, run_inside, 0);
	swapcontext(&outside, &inside);
	allocate();
	swapcontext(&outside, &inside);
	budget = 0;
	munmap(stack, size);
	return allocate();
}

static void on_signal(int number)
{
	allocate();
}

static FRAME int interrupted(uint32_t depth)
{
	raise(choose(2) ? SIGUSR1 : SIGUSR2);
	return wander(depth);
}

static FRAME int wander(uint32_t depth)
{
	static int (*const ways[])(uint32_t) = { aligned, variable, callback, jump, coroutine,
						 interrupted, wander, wander };

	allocate();
	if (!depth)
		return 1;
	return ways[choose(sizeof(ways) / sizeof(*ways))](depth - 1) + allocate();
}

static FRAME int recurse(uint32_t depth)
{
	return (depth ? recurse(depth - 1) : allocate()) + allocate();
}

static void *run(void *data)
{
	uint32_t rounds = (uint32_t)(uintptr_t)data;
	stack_t stack = { .ss_size = STACK_SIZE, .ss_sp = malloc(STACK_SIZE) };

	seed = rounds;
	sigaltstack(&stack, NULL);
	for (uint32_t i = 0; i < rounds; i++)
		wander(1 + i % 12);
	recurse(300);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[2];

	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	run((void *)(uintptr_t)rounds);
	for (uint32_t i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(rounds + i)))
			return 1;
	for (uint32_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
