// SPDX-License-Identifier: GPL-2.0
// Measures the depth of a thread's stack.
//
// pthread_getattr_np() cannot be used to find the bounds of a thread's stack: it allocates while it holds a lock, and
// the program may hold that lock in the very call that causes the thread's first event. glibc keeps the bounds in the
// thread's descriptor, at the thread pointer, in two words: the stack's lowest address and its size. Their offset
// differs between versions of glibc. But the descriptor itself is in that stack, near its end. So two words are
// accepted as the bounds if they describe a stack that has the descriptor near its end.

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
	/*
	 * number of bytes of a thread descriptor that are searched for the stack's bounds; glibc's descriptor is never
	 * smaller
	 */
	DESCRIPTOR_BYTES = 2048,
};

/* Minimum and maximum plausible size of a stack, in bytes. The minimum is the smallest that glibc allows. */
#define STACK_LEAST (16 * KIB)
#define STACK_MOST  (64 * GIB)
/*
 * Maximum number of bytes between the thread pointer and the end of the stack: the descriptor, and padding to align
 * thread-local variables.
 */
#define ABOVE_MOST (1 * MIB)

/* The kernel reserves this many bytes below the top of the main stack, or RLIMIT_STACK if that is larger. */
#define MAIN_GAP  (128 * MIB)
#define UNLIMITED (1024 * GIB)

/* The main thread's initial stack pointer. Set by the dynamic linker. */
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

/* Returns the lowest address of the stack of the thread whose descriptor is at @descriptor, or 0 if it is not found. */
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
/*
 * Except on x86-64, the thread pointer does not point to the thread's descriptor, so only the bounds of the main stack
 * are known.
 */
static uint64_t find_low(uint64_t descriptor)
{
	return 0;
}
#endif

/*
 * Returns the base of @thread's stack: the frame of the function with which the C library started the thread. If the
 * walk does not reach that frame, returns @descriptor, which is a few KiB above it.
 */
static uint64_t find_base(struct mf_thread *thread, const struct mf_registers *caller,
			  uint64_t descriptor)
{
	uint64_t base = 0;

	mf_stack_forget(thread);
	mf_unwind(&thread->walk, caller, MF_DEPTH_MAX);
	if (thread->walk.complete)
		base = thread->walk.frames[0].sp;
	/*
	 * Discard the walk to the stack's base: it may be deeper than a walk for an event, so the next event must not
	 * reuse it.
	 */
	mf_stack_forget(thread);
	return is_within(base, caller->sp, descriptor) ? base : descriptor;
}

/* Is @caller on @thread's own stack? If so, stores the stack's bounds. */
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
