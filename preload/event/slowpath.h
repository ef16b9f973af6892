/* SPDX-License-Identifier: GPL-2.0 */
/* Tells the model what the program allocates and frees. */
#ifndef MASSIF_PRELOAD_TRACK_H
#define MASSIF_PRELOAD_TRACK_H

#include <stddef.h>

#include "model/blocks.h"
#include "core/thread.h"
#include "stack/unwind.h"

/*
 * @caller is who called the entry point. All of these keep errno, do nothing in a process
 * that is not profiled, and cost the program nothing but time.
 */

/* The program was given @size bytes at @pointer; NULL is no event. */
void mf_slowpath_alloc(const void *pointer, size_t size, const struct mf_registers *caller);

/*
 * Whether the event of the entry point whose MF_FRAME is @frame is a part of another one, as the functions
 * here find out, too, but later: what an operator new of the program's calls is malloc(), mostly.
 */
bool mf_slowpath_is_nested(const void *frame);

/* An event that there is no state to account in. */
void mf_slowpath_lose(void);

/* A thread that is not inside any more accounts what a signal handler has left behind. */
struct mf_thread;
void mf_slowpath_deferred(struct mf_thread *thread);

/*
 * Around a call of the C++ library's operator new or delete, which comes back to malloc() or free(): between
 * the two, the thread's first event is the operator's own and is not accounted. If that allocation fails,
 * all that follows is accounted as usual: new-handlers run then.
 *
 * The first returns false, and does nothing, if the thread's events are not accounted as they come. The
 * second returns whether the block is still to be accounted.
 */
bool mf_slowpath_absorb(void);
bool mf_slowpath_absorbed(void);

static inline bool mf_slowpath_is_absorbing(void)
{
	return mf_thread_local.inside & MF_INSIDE_LIBRARY;
}

/*
 * The program says that it has made a block of @size bytes at @pointer out of memory of its own: nothing
 * of that is lost to an allocator. NULL is no event.
 */
void mf_slowpath_made(const void *pointer, size_t size, const struct mf_registers *caller);

/* The same, and that one has become a block of @size bytes: a free, if there is one, and another. */
void mf_slowpath_resized(const void *pointer, size_t size, const struct mf_registers *caller);

/* The program wants a snapshot with a tree. */
void mf_slowpath_snapshot(void);

/*
 * @pointer is about to be freed; NULL is no event. Who frees it is not asked for most of the time, so
 * the entry point's MF_FRAME will do, of which the caller can be made.
 */
void mf_slowpath_free(const void *pointer, const void *frame);
void mf_slowpath_free_at(const void *pointer, const struct mf_registers *caller);

/* A reallocation, before and after the real one; see model/heap.h. */
struct mf_slowpath_realloc {
	struct mf_block block;
	bool known;
};

void mf_slowpath_realloc_begin(struct mf_slowpath_realloc *state, const void *old, const struct mf_registers *caller);
bool mf_slowpath_realloc_zero_keeps(void); /* is one to no bytes a resize, if there is a block? */
/* It was a free, after all. */
void mf_slowpath_realloc_freed(const struct mf_slowpath_realloc *state, const struct mf_registers *caller);
/* The end of that of @block will not come: it is where it was, unless another one is there by now. */
void mf_slowpath_realloc_left(struct mf_thread *thread, const struct mf_block *block);
void mf_slowpath_realloc_end(const struct mf_slowpath_realloc *state, const void *old, const void *pointer,
			  size_t size, const struct mf_registers *caller);

#endif
