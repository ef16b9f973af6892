/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the context of the current stack. */
#ifndef MASSIF_PRELOAD_CONTEXT_H
#define MASSIF_PRELOAD_CONTEXT_H

#include <stdint.h>

#include "core/objects.h"
#include "core/thread.h"

/*
 * Adds the pseudo-objects, which stand for stacks that cannot be determined or stored. Called once, while the process
 * is still single-threaded. They cannot be added on demand, because adding an object takes the scan lock, and a thread
 * that holds the trie's lock must not wait for the scan lock.
 */
void mf_stack_start(void);

/* Discards all cached data about @thread's stacks, so that its next stack is walked in full. */
void mf_stack_forget(struct mf_thread *thread);

/*
 * Returns the context of @thread's stack, starting at @caller, if the thread has had that stack before; otherwise 0.
 * Takes no lock, does not change the session memory, and preserves errno.
 */
static inline uint32_t mf_stack_known(struct mf_thread *thread, const struct mf_registers *caller)
{
	if (__builtin_expect(thread->generation != mf_objects_generation(), 0))
		mf_stack_forget(thread);
	return mf_memo_looks(&thread->memo) ? mf_memo_find(&thread->memo, caller->sp, caller->pc) : 0;
}

/*
 * Returns the context of a stack, whether or not it has been seen before. Returns MF_CONTEXT_IGNORED if the user asked
 * for the stack to be ignored, or mf_trie_overflow() if there is no room for a new context. Takes the trie's lock.
 */
uint32_t mf_stack_context(struct mf_thread *thread, const struct mf_registers *caller);

/*
 * Returns the trie node that represents the whole stack of @thread, starting at @caller: the node of its innermost
 * frame. Creates the node if necessary, but no context. Returns UINT32_MAX if there is no room. Takes the trie's lock.
 */
uint32_t mf_stack_node(struct mf_thread *thread, const struct mf_registers *caller);

/*
 * Take and release the trie's lock. While it is held, no other thread changes the trie. A thread that holds this lock
 * may close the gate (gate.h), so to avoid a deadlock, do not take this lock while the gate is closed.
 */
void mf_stack_hold(void);
void mf_stack_release(void);
void mf_stack_reset(void); /* in a forked child: releases the trie's lock, whose holder does not exist in the child */

/* Return the context and the node for events whose stack cannot be determined. Both functions take the trie's lock. */
uint32_t mf_stack_interrupted(void);
uint32_t mf_stack_interrupted_node(void);

#endif
