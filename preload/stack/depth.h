/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How deep a thread's stack is: from its base to the stack pointer, seen where the program allocates
 * or frees.
 *
 * The base of the main thread is where the kernel began it, that of another thread where the C
 * library did: so these figures are those that Massif comes to, at such a moment. What lies between
 * two moments nobody sees.
 *
 * A thread may run on another stack for a while: a coroutine's, sigaltstack(2)'s. That one is memory
 * of another kind, often a block, and does not count; the thread's own stack keeps its depth.
 */
#ifndef MASSIF_PRELOAD_DEPTH_H
#define MASSIF_PRELOAD_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

struct mf_thread;

/* Zero is that of a thread which is not known yet. */
struct mf_depth {
	uint64_t base, low; /* of the thread's own stack; 0: not known */
	uint64_t bytes;	    /* as the model knows it */
	uint64_t frozen;    /* the same in the copy that a child has, see fork.c */
};

/* At the start of the session: how far the main thread's stack may reach. Later that would take a system call. */
void mf_depth_start(void);

/*
 * By how much @thread's stack has grown, or shrunk, since the model last knew of it; 0 also where @caller
 * is on another stack.
 */
int64_t mf_depth_change(struct mf_thread *thread, const struct mf_registers *caller);

/*
 * Does @sp lie on the present thread's own stack? False also where that is not known; the kernel is not
 * asked.
 */
bool mf_depth_is_own_stack(uint64_t sp);

#endif
