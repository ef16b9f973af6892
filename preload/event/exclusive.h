/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts events directly in the model, while no other thread may count. This is slower than counting in the thread's
 * own tally, and is used for events that a tally cannot count: those that may lead to a snapshot, and those whose block
 * is not in its usual slot of the table of blocks.
 *
 * In all these functions, @thread is the calling thread. Context: the thread is inside the shim (mf_thread_local.inside
 * has MF_INSIDE_SHIM set), and not between mf_gate_enter() and mf_gate_leave().
 */
#ifndef MASSIF_PRELOAD_EXCLUSIVE_H
#define MASSIF_PRELOAD_EXCLUSIVE_H

#include <stddef.h>
#include <stdint.h>

#include "core/thread.h"
#include "model/blocks.h"
#include "model/details.h"
#include "stack/unwind.h"

/*
 * mf_exclusive_alloc() counts an allocation, mf_exclusive_made() a block that a client request has reported, and
 * mf_exclusive_free() a free. All three preserve errno.
 */
void mf_exclusive_alloc(struct mf_thread *thread, uint64_t address, size_t size, uint32_t context);
void mf_exclusive_made(struct mf_thread *thread, uint64_t address, size_t size, uint32_t context);

/*
 * @node: trie node of the stack that called free(). It is ignored if the session has no ledger (see mf_ledger_free()).
 */
void mf_exclusive_free(struct mf_thread *thread, uint64_t address, uint32_t node);

/* Counts the deferred events of signal handlers that interrupted the shim. Preserves errno. */
void mf_exclusive_deferred(struct mf_thread *thread);

/*
 * These functions complete the reallocation of a block (@old or @block) that mf_tally_realloc_begin() or
 * mf_heap_realloc_begin() has removed from the table of blocks:
 *
 * mf_exclusive_realloc(): the block is now at @address and has @size bytes. @context is the context of @caller's stack,
 * or 0 if it is not known yet.
 * @life is the end of the block's life, in a session that keeps details (model/details.h).
 * mf_exclusive_realloc_failed(): the block is unchanged.
 * mf_exclusive_realloc_freed(): the real function has freed the block. @node has the same meaning as for
 * mf_exclusive_free().
 * mf_exclusive_realloc_left(): the real function never returned. The block is counted as before, unless another block
 * now has its address.
 */
void mf_exclusive_realloc(struct mf_thread *thread, const struct mf_block *old, struct mf_life life, uint64_t address,
			  size_t size, uint32_t context, const struct mf_registers *caller);
void mf_exclusive_realloc_failed(struct mf_thread *thread, const struct mf_block *block, struct mf_life life);
void mf_exclusive_realloc_freed(struct mf_thread *thread, const struct mf_block *block, struct mf_life life,
				uint32_t node);
void mf_exclusive_realloc_left(struct mf_thread *thread, const struct mf_block *block);

/* Adds @change to the total size of the threads' stacks, in bytes. */
void mf_exclusive_stacks(struct mf_thread *thread, int64_t change);

/* Takes a detailed snapshot. */
void mf_exclusive_snapshot(struct mf_thread *thread);

#endif
