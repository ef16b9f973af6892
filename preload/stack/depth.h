/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The depth of a thread's stack, measured whenever the program allocates or frees: from the stack's base to the stack
 * pointer.
 *
 * The base is the initial stack pointer, as set by the kernel for the main thread and by the C library for other
 * threads. So each measured depth equals the depth that Massif computes. Changes between two measurements are not seen.
 *
 * A thread may temporarily run on another stack, such as a coroutine's or one set by sigaltstack(2). Such a stack,
 * often a heap block, is not counted; meanwhile the thread's own stack keeps its last depth.
 */
#ifndef MASSIF_PRELOAD_DEPTH_H
#define MASSIF_PRELOAD_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

struct mf_thread;

/* All zero until the thread's stack is first measured. */
struct mf_depth {
	uint64_t base, low; /* bounds of the thread's own stack; 0 if unknown */
	uint64_t bytes;	    /* depth of the stack in bytes when the model last counted it */
	/*
	 * The value that @bytes had at the fork, when the parent's session memory was frozen so that the child could
	 * get a copy; see fork.c.
	 */
	uint64_t frozen;
};

/* Determines the maximum size of the main stack. Called at startup, because it makes a system call. */
void mf_depth_start(void);

/*
 * Returns the number of bytes by which the depth of @thread's stack has changed since the model last counted it; 0 if
 * @caller is on another stack.
 */
int64_t mf_depth_change(struct mf_thread *thread, const struct mf_registers *caller);

/* Is @sp on the current thread's own stack? Returns false if this is unknown. Makes no system call. */
bool mf_depth_is_own_stack(uint64_t sp);

#endif
