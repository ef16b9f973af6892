/* SPDX-License-Identifier: GPL-2.0 */
/* The fast path of an event, which handles nearly all of them. */
#ifndef MASSIF_PRELOAD_FASTPATH_H
#define MASSIF_PRELOAD_FASTPATH_H

#include <stdbool.h>
#include <stddef.h>

/* The block of an entry point's event. Both members are returned in registers, so the caller need not save them. */
struct mf_fastpath_result {
	void *pointer;
	size_t done; /* a bool, widened to its register so that a result is passed on without a move */
};

/*
 * Count a block of @size bytes at @pointer that the entry point with MF_FRAME @frame is about to return, or one that
 * is about to be freed. If the result is not done, nothing was changed and the slow path (slowpath.h) must
 * handle the event. If a free is done, the block came from the real allocator, not from the early arena.
 */
#ifdef __x86_64__
struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame);
struct mf_fastpath_result mf_fastpath_free(void *pointer);

/*
 * Returns whether the resize of the block at @old may be counted after it was done. That is so if no other thread can
 * get the block's address meanwhile. Then mf_fastpath_realloc() counts it; @pointer and @size (not 0) are the new ones.
 */
bool mf_fastpath_may_realloc(const void *old);
struct mf_fastpath_result mf_fastpath_realloc(const void *old, void *pointer, size_t size,
					      const void *frame);
#else
static inline struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame)
{
	return (struct mf_fastpath_result){ pointer, false };
}

static inline struct mf_fastpath_result mf_fastpath_free(void *pointer)
{
	return (struct mf_fastpath_result){ pointer, false };
}

static inline bool mf_fastpath_may_realloc(const void *old)
{
	return false;
}

static inline struct mf_fastpath_result mf_fastpath_realloc(const void *old, void *pointer, size_t size,
							    const void *frame)
{
	return (struct mf_fastpath_result){ pointer, false };
}
#endif

#endif
