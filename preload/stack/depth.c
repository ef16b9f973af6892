// SPDX-License-Identifier: GPL-2.0
// How deep a thread's stack is.
//
// The bounds of a thread's stack cannot be asked for: pthread_getattr_np allocates with a lock held that
// the program may be holding in the very call which made the thread's first event. glibc keeps them in
// the thread's own descriptor, at the thread pointer, in two words: the stack's lowest address and its
// size. The descriptor lies in the stack that they tell of, near its end; two words of which that is
// true are those, wherever they stand.

#include "depth.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

#include "context.h"
#include "core/thread.h"

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define GIB (1024ull * MIB)

enum {
	DESCRIPTOR_BYTES = 2048, /* no glibc's is smaller */
};

/* What glibc allows, and what nobody has. */
#define STACK_LEAST (16 * KIB)
#define STACK_MOST  (64 * GIB)
/* Above the thread pointer there is the descriptor's rest, aligned as thread-local variables need. */
#define ABOVE_MOST (1 * MIB)

/* The kernel keeps so much free below the main stack, if its limit is no larger; without limit, more. */
#define MAIN_GAP  (128 * MIB)
#define UNLIMITED (1024 * GIB)

/* The main thread's stack pointer when the program began. Set by the dynamic linker. */
extern void *__libc_stack_end;

static bool is_within(uint64_t sp, uint64_t low, uint64_t base)
{
	return sp >= low && sp <= base;
}

static uint64_t main_size;

void mf_depth_start(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < MAIN_GAP)
		main_size = MAIN_GAP;
	else
		main_size = limit.rlim_cur < UNLIMITED ? limit.rlim_cur : UNLIMITED;
}

/* The lowest address of the stack whose descriptor is at @descriptor; 0 if it is not told. */
#if defined(__x86_64__)
static uint64_t find_low(uint64_t descriptor)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)descriptor;

	for (size_t i = 0; i + 1 < DESCRIPTOR_BYTES / sizeof(*words); i++) {
		uint64_t low = words[i], size = words[i + 1];

		if (low < descriptor && descriptor - low <= STACK_MOST && size >= STACK_LEAST &&
		    size > descriptor - low && size - (descriptor - low) <= ABOVE_MOST)
			return low;
	}
	return 0;
}
#else
/* On other machines it is not at the thread pointer: only the main stack is known. */
static uint64_t find_low(uint64_t descriptor)
{
	return 0;
}
#endif

/*
 * Where @thread began: in the frame of the function that the C library started it with. If that is too
 * far away, the descriptor is some KiB further out.
 */
static uint64_t find_base(struct mf_thread *thread, const struct mf_registers *caller,
			  uint64_t descriptor)
{
	uint64_t base = 0;

	mf_stack_forget(thread);
	mf_unwind(&thread->walk, caller, MF_DEPTH_MAX);
	if (thread->walk.complete)
		base = thread->walk.frames[0].sp;
	/* It went deeper than others do. */
	mf_stack_forget(thread);
	return is_within(base, caller->sp, descriptor) ? base : descriptor;
}

/* Whether @caller is on @thread's own stack, whose bounds are known then. */
static __attribute__((noinline)) bool find_bounds(struct mf_thread *thread,
						  const struct mf_registers *caller)
{
	uint64_t descriptor = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	uint64_t first = (uint64_t)(uintptr_t)__libc_stack_end, size = main_size, low;

	if (is_within(caller->sp, first - size, first)) {
		thread->private->depth.low = first - size;
		thread->private->depth.base = first;
		return true;
	}
	low = find_low(descriptor);
	if (!low || !is_within(caller->sp, low, descriptor))
		return false;
	thread->private->depth.low = low;
	thread->private->depth.base = find_base(thread, caller, descriptor);
	return true;
}

int64_t mf_depth_change(struct mf_thread *thread, const struct mf_registers *caller)
{
	const struct mf_depth *depth = &thread->private->depth;

	if (!depth->base && !find_bounds(thread, caller))
		return 0;
	if (!is_within(caller->sp, depth->low, depth->base))
		return 0;
	return (int64_t)(depth->base - caller->sp) - (int64_t)depth->bytes;
}

bool mf_depth_is_own_stack(uint64_t sp)
{
	uint64_t descriptor = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	uint64_t first = (uint64_t)(uintptr_t)__libc_stack_end, low;

	if (is_within(sp, first - MAIN_GAP, first))
		return true;
	low = find_low(descriptor);
	return low && is_within(sp, low, descriptor);
}
