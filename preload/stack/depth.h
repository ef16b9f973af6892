/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The depth of a thread's stack, measured whenever the program allocates or frees: from the stack's base to the stack
 * pointer.
 *
 * The base is the stack pointer with which the kernel started the main thread, or the C library another thread. So the
 * figures equal Massif's at these moments. Changes between two such moments are not seen.
 *
 * A thread may run on another stack for a while, such as a coroutine's or that of sigaltstack(2). Such a stack, often a
 * heap block, is not counted; the thread's own stack keeps its last depth meanwhile.
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
	uint64_t bytes;	    /* depth that is counted in the model */
	uint64_t frozen;    /* depth in the copy for a forked child; see fork.c */
};

/* Finds out how far the main stack may reach. Called at the start, as it makes a system call. */
void mf_depth_start(void);

/*
 * Returns the change in depth of @thread's stack since the model last counted it, in bytes; 0 if @caller is on
 * another stack.
 */
int64_t mf_depth_change(struct mf_thread *thread, const struct mf_registers *caller);

/* Is @sp on the current thread's own stack? Returns false if that is unknown. Makes no system call. */
bool mf_depth_is_own_stack(uint64_t sp);

#endif
