// SPDX-License-Identifier: GPL-2.0
// own_escapes WAY: leaves a call of the program's own allocator before it returns, by a jump or a stack switch, or
// re-enters the allocator, in one of the ways below. The allocator's functions call each other. The size of each block
// identifies the place where it was allocated.

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* function that the next malloc() calls first, or NULL; malloc() clears this pointer, so later calls do not call it */
static void (*in_malloc)(void);

static _Alignas(64) unsigned char arena[64 << 20];
static size_t used;

#define FUNCTION __attribute__((noipa))

FUNCTION void *malloc(size_t size)
{
	void (*first)(void) = in_malloc;
	unsigned char *block;

	in_malloc = NULL;
	if (first)
		first();
	block = arena + used + 16;
	memcpy(block - 16, &size, sizeof(size));
	used += (size + 31) & ~(size_t)15;
	return block;
}

FUNCTION void free(void *block)
{
	__asm__ volatile("" : : "r"(block));
}

FUNCTION void *calloc(size_t n, size_t size)
{
	return memset(malloc(n * size), 0, n * size);
}

FUNCTION void *realloc(void *block, size_t size)
{
	void *fresh = malloc(size);
	size_t old = 0;

	if (block)
		memcpy(&old, (unsigned char *)block - 16, sizeof(old));
	memcpy(fresh, block, old < size ? old : size);
	free(block);
	return fresh;
}

static void *volatile kept;

/*
 * Allocates @n blocks of @size bytes. The frames occupy stack memory that other frames have used before, and overwrite
 * only a part of it.
 */
static FUNCTION void deep(int depth, int n, size_t size)
{
	volatile char room[120];

	room[0] = (char)depth;
	if (depth)
		deep(depth - 1, n, size);
	else
		for (int i = 0; i < n; i++)
			kept = i % 3 ? malloc(size) : i % 2 ? calloc(1, size) : realloc(malloc(1), size);
	room[1] = room[0];
}

static jmp_buf out;

static void jump(void)
{
	longjmp(out, 1);
}

static FUNCTION void leave(int depth)
{
	volatile char room[200];

	room[0] = (char)depth;
	if (depth) {
		leave(depth - 1);
	} else {
		in_malloc = jump;
		kept = depth % 2 ? malloc(7) : realloc(kept, 7);
	}
	room[1] = room[0];
}

/*
 * Leaves malloc() with a longjmp() to a shallow frame. Some later calls are deeper on the stack than the abandoned
 * call.
 */
static void by_longjmp(void)
{
	kept = malloc(1);
	if (!setjmp(out))
		leave(0);
	deep(10, 900, 1001);
	deep(0, 90, 1002);
}

/* Leaves malloc() with longjmp() many times, at several stack depths. */
static void by_many_longjmps(void)
{
	for (volatile int i = 0; i < 40; i++) {
		if (!setjmp(out))
			leave(i * 7 % 20);
		deep(i * 5 % 23, 10, 1001);
	}
}

static sigjmp_buf out_of_handler;

static void jump_from_handler(int number)
{
	siglongjmp(out_of_handler, 1);
}

static void allocate_in_handler(int number)
{
	deep(3, 30, 1002);
	kept = calloc(3, 401);
}

static void interrupt(void)
{
	raise(SIGUSR1);
}

static void handle(void (*handler)(int), int flags)
{
	static unsigned char stack[65536];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

/* A signal handler interrupts malloc() and leaves it with siglongjmp(). */
static void by_siglongjmp(int flags)
{
	handle(jump_from_handler, flags);
	in_malloc = interrupt;
	if (!sigsetjmp(out_of_handler, 1))
		kept = malloc(7);
	deep(10, 900, 1001);
}

/*
 * Runs in malloc(). A signal handler interrupts it and allocates; when the handler has returned, malloc() calls
 * calloc().
 */
static void calling_itself(void)
{
	interrupt();
	kept = calloc(1, 8);
}

static void in_handler(int flags)
{
	handle(allocate_in_handler, flags);
	for (int i = 0; i < 10; i++) {
		in_malloc = calling_itself;
		kept = malloc(1001);
		deep(5, 10, 1003);
	}
}

static ucontext_t first, second;

static void yield(void)
{
	swapcontext(&second, &first);
	kept = calloc(1, 8);
	swapcontext(&second, &first);
	kept = calloc(1, 8);
}

static void other_routine(void)
{
	for (;;) {
		in_malloc = yield;
		kept = malloc(1001);
		deep(5, 10, 1003);
		swapcontext(&second, &first);
	}
}

/* A coroutine yields in the middle of the allocator, and a different coroutine allocates in the meantime. */
static void in_coroutine(void)
{
	static unsigned char stack[262144];

	getcontext(&second);
	second.uc_stack.ss_sp = stack;
	second.uc_stack.ss_size = sizeof(stack);
	makecontext(&second, other_routine, 0);
	for (int i = 0; i < 10; i++) {
		swapcontext(&first, &second);
		deep(4, 30, 1002);
		swapcontext(&first, &second);
		deep(9, 30, 1002);
		swapcontext(&first, &second);
	}
	/* The coroutine never returns from malloc(). */
	swapcontext(&first, &second);
	deep(20, 40, 1002);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (!strcmp(way, "longjmp"))
		by_longjmp();
	else if (!strcmp(way, "longjmps"))
		by_many_longjmps();
	else if (!strcmp(way, "siglongjmp"))
		by_siglongjmp(0);
	else if (!strcmp(way, "siglongjmp_stack"))
		by_siglongjmp(SA_ONSTACK);
	else if (!strcmp(way, "handler"))
		in_handler(0);
	else if (!strcmp(way, "handler_stack"))
		in_handler(SA_ONSTACK);
	else if (!strcmp(way, "coroutine"))
		in_coroutine();
	else
		return 2;
	return 0;
}
