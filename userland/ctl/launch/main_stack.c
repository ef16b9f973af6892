// SPDX-License-Identifier: GPL-2.0
// Gives massif-ctl a larger stack if the limit (ulimit -s) is too low.
//
// The libraries that read debug information and demangle names are recursive, and receiving one message from a
// profiled process takes 64 KiB. Users must still be able to profile programs with a low limit.

#include "main_stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

/* The usual default for the stack limit. */
#define STACK_BYTES (8u << 20)

/*
 * The function to call on the new stack, its arguments and its result. The variable is static because makecontext()
 * passes only int arguments.
 */
static struct {
	int (*run)(int argc, char **argv);
	int argc, status;
	char **argv;
} call;

static void make_call(void)
{
	call.status = call.run(call.argc, call.argv);
}

static bool suffices(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES;
}

/* Sets the default stack size of new threads to STACK_BYTES; without this, it would be the stack limit (ulimit -s). */
static void give_threads_room(void)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int mf_main_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	static ucontext_t before, inside;
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *stack;

	if (suffices())
		return run(argc, argv);
	stack = mmap(NULL, STACK_BYTES + guard, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, guard, PROT_NONE) || getcontext(&inside))
		return run(argc, argv);
	give_threads_room();
	call.run = run;
	call.argc = argc;
	call.argv = argv;
	inside.uc_stack.ss_sp = stack + guard;
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &before;
	makecontext(&inside, make_call, 0);
	swapcontext(&before, &inside);
	return call.status;
}
