// SPDX-License-Identifier: GPL-2.0
// diff_frames MODE: allocates below all kinds of frames, in optimised code: inlined calls, tail calls, calls that do
// not return, frames of any size, callbacks from the C library.

#include <setjmp.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE	 static inline __attribute__((always_inline))

static void *volatile seen;

static NOINLINE void see(void *block)
{
	seen = block;
}

INLINE void *inner(size_t size)
{
	return malloc(size);
}

INLINE void *between(size_t size)
{
	void *block = inner(size + 1);

	see(block);
	return block;
}

INLINE void *outer(size_t size)
{
	see(inner(size));
	return between(size * 2);
}

static NOINLINE void call_inlined(void)
{
	see(inner(1000));
	see(outer(2000));
	see(between(3000));
}

/* real_wrap() is not inlined itself, but all of outer() is inlined into it. */
static NOINLINE void *real_wrap(size_t size)
{
	void *block = outer(size);

	see(block);
	return block;
}

static void inlined(void)
{
	call_inlined();
	see(real_wrap(5000));
	for (int i = 0; i < 3; i++)
		see(outer(100));
}

/* Called by a tail call, so that the caller's frame is gone when this function runs. */
static NOINLINE void *tail_end(size_t size)
{
	return malloc(size);
}

static NOINLINE void *tail(size_t size)
{
	return tail_end(size + 8);
}

static void tails(void)
{
	see(tail(400));
	see(tail_end(300));
	see(malloc(200));
}

static jmp_buf back;

/* If a call never returns, its return address may be beyond the end of the caller's code. */
static NOINLINE __attribute__((noreturn)) void leave(size_t size)
{
	see(malloc(size));
	longjmp(back, 1);
}

static NOINLINE void enter(size_t size)
{
	see(malloc(size));
	leave(size + 1);
}

static void noreturn(void)
{
	volatile int round = 0;

	if (setjmp(back) < 1 || round < 3) {
		round = round + 1;
		enter((size_t)round * 100);
	}
}

static NOINLINE void on_stack(size_t size)
{
	char room[size];

	memset(room, 1, size);
	see(room);
	see(malloc(size + (size_t)room[size / 2]));
	if (size < 4000)
		on_stack(size * 3);
	see(room);
}

static NOINLINE void large_frame(int level)
{
	char room[50000];

	see(room);
	see(malloc(600));
	if (level)
		large_frame(level - 1);
	see(room);
}

static void stacks(void)
{
	on_stack(10);
	large_frame(3);
}

/* Takes arguments on the stack. Its caller, realigned(), aligns its frame to 64 bytes. */
static NOINLINE void many(long a, long b, long c, long d, long e, long f, long g, ...)
{
	va_list list;

	va_start(list, g);
	see(malloc((size_t)(a + b + c + d + e + f + g + va_arg(list, long))));
	va_end(list);
}

static NOINLINE void realigned(void)
{
	__attribute__((aligned(64))) char room[64];

	see(room);
	see(malloc(64));
	many(1, 2, 3, 4, 5, 6, 7, 8L, 9L, 10L);
	see(room);
}

static int compare(const void *a, const void *b)
{
	see(malloc(24));
	return *(const int *)a - *(const int *)b;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void callbacks(void)
{
	static int numbers[] = { 5, 3, 1, 4, 2 };
	static const int wanted = 3;
	static const char *const names[] = { "b", "d", "a", "c", "e" };
	void *root = NULL;

	see(bsearch(&wanted, (const int[]){ 1, 2, 3, 4, 5 }, 5, sizeof(int), compare));
	qsort(numbers, 5, sizeof(int), compare);
	for (int i = 0; i < 5; i++)
		tsearch(names[i], &root, compare_names);
	realigned();
}

/* A signal handler that allocates. It never interrupts the allocator. */
static void handle(int signal)
{
	see(malloc((size_t)signal * 100));
}

static NOINLINE void raise_both(void)
{
	raise(SIGUSR1);
	see(malloc(50));
	raise(SIGUSR2);
}

static void handlers(void)
{
	signal(SIGUSR1, handle);
	signal(SIGUSR2, handle);
	raise_both();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "inlined", inlined }, { "tails", tails },		{ "noreturn", noreturn },
	{ "stacks", stacks },   { "callbacks", callbacks }, { "handlers", handlers },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
