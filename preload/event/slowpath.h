/* SPDX-License-Identifier: GPL-2.0 */
/* Counts the program's allocations and frees. */
#ifndef MASSIF_PRELOAD_SLOWPATH_H
#define MASSIF_PRELOAD_SLOWPATH_H

#include <stddef.h>

#include "model/blocks.h"
#include "model/details.h"
#include "core/thread.h"
#include "stack/unwind.h"

/*
 * In all these functions, @caller is the caller of the entry point. The functions preserve errno, do nothing in a
 * process that is not profiled, and never change the effect of the program's call.
 */

/* Counts a block of @size bytes at @pointer. NULL is ignored. */
void mf_slowpath_alloc(const void *pointer, size_t size, const struct mf_registers *caller);

/*
 * Is the current event nested in another event? @frame: MF_FRAME of the entry point. The functions below check this as
 * well, but later. malloc() and free() check it first, because the program's own operators new and delete call them.
 */
bool mf_slowpath_is_nested(const void *frame);

/*
 * Adds 1 to the number of lost events, for an event that cannot be counted because the thread has no struct mf_thread.
 */
void mf_slowpath_lose(void);

/*
 * Counts the events that @thread deferred while it was inside the shim. Call this after the thread has left the shim.
 */
struct mf_thread;
void mf_slowpath_deferred(struct mf_thread *thread);

/*
 * Call these before and after the C++ library's operator new or delete, which calls malloc() or free(). The thread's
 * first event between the two calls is part of the operator and is not counted. If it is an allocation that fails, all
 * later events are counted as usual, because they may come from new-handlers.
 *
 * mf_slowpath_absorb() does nothing and returns false if the thread's events are not currently being counted.
 * mf_slowpath_absorbed() returns whether the block still has to be counted.
 */
bool mf_slowpath_absorb(void);
bool mf_slowpath_absorbed(void);

static inline bool mf_slowpath_is_absorbing(void)
{
	return mf_thread_local.inside & MF_INSIDE_LIBRARY;
}

/*
 * Client request: the program has created a block of @size bytes at @pointer in its own memory. Unlike an allocator's
 * block, its size is not rounded up. NULL is ignored.
 */
void mf_slowpath_made(const void *pointer, size_t size, const struct mf_registers *caller);

/*
 * Client request: the block at @pointer now has @size bytes. Counted as a free (if the block was counted) followed by
 * an allocation.
 */
void mf_slowpath_resized(const void *pointer, size_t size, const struct mf_registers *caller);

/* Client request: takes a detailed snapshot. */
void mf_slowpath_snapshot(void);

/*
 * Counts the free of the block at @pointer. Call this before the block is freed. NULL is ignored. mf_slowpath_free()
 * takes the entry point's MF_FRAME, from which it derives the caller's registers if a feature needs them.
 */
void mf_slowpath_free(const void *pointer, const void *frame);
void mf_slowpath_free_at(const void *pointer, const struct mf_registers *caller);

/*
 * A reallocation: call mf_slowpath_realloc_begin() before the real function, and one of the other functions after it.
 * See model/heap.h.
 */
struct mf_slowpath_realloc {
	struct mf_block block;
	struct mf_life life; /* in a session that keeps details, the end of the block's life */
	bool known;
};

void mf_slowpath_realloc_begin(struct mf_slowpath_realloc *state, const void *old, const struct mf_registers *caller);
bool mf_slowpath_realloc_zero_keeps(void); /* does realloc(pointer, 0) return a one-byte block? */
/* Ends a reallocation (realloc(pointer, 0)) in which the real function has freed the block. */
void mf_slowpath_realloc_freed(const struct mf_slowpath_realloc *state, const struct mf_registers *caller);
void mf_slowpath_realloc_end(const struct mf_slowpath_realloc *state, const void *old, const void *pointer,
			  size_t size, const struct mf_registers *caller);

#endif
