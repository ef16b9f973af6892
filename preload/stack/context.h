/* SPDX-License-Identifier: GPL-2.0 */
/* The context of the present stack. */
#ifndef MASSIF_PRELOAD_STACK_H
#define MASSIF_PRELOAD_STACK_H

#include <stdint.h>

#include "core/objects.h"
#include "core/thread.h"

/*
 * Adds the objects that stacks may need besides those that are loaded. Once, while there is one thread: later
 * objects are added under the scan's lock, for which nobody may wait with that of the trie.
 */
void mf_stack_start(void);

/* The next stack of @thread is walked from the start: its past is no longer to be trusted. */
void mf_stack_forget(struct mf_thread *thread);

/*
 * The context of @thread's stack from @caller on, if the thread has had that stack before; else 0.
 * Takes no lock, changes nothing in the session memory, and keeps errno.
 */
static inline uint32_t mf_stack_known(struct mf_thread *thread, const struct mf_registers *caller)
{
	if (__builtin_expect(thread->generation != mf_objects_generation(), 0))
		mf_stack_forget(thread);
	return mf_memo_looks(&thread->memo) ? mf_memo_find(&thread->memo, caller->sp, caller->pc) : 0;
}

/*
 * The same for any stack: that of all for which there is no room (mf_trie_overflow()) when it is such a
 * one, MF_CONTEXT_IGNORED when the user wants it ignored. Takes the lock of the trie.
 */
uint32_t mf_stack_context(struct mf_thread *thread, const struct mf_registers *caller);

/*
 * The node of the trie in which @thread's stack from @caller on ends, of which no context is made;
 * UINT32_MAX when there is no room for it. Takes the lock of the trie.
 */
uint32_t mf_stack_node(struct mf_thread *thread, const struct mf_registers *caller);

/* Between the two nobody else changes the trie. Before the gate is closed. */
void mf_stack_hold(void);
void mf_stack_release(void);
void mf_stack_reset(void); /* in a forked child: nobody holds it */

/* The context and the node of events whose stack cannot be known. Take the lock of the trie. */
uint32_t mf_stack_interrupted(void);
uint32_t mf_stack_interrupted_node(void);

#endif
