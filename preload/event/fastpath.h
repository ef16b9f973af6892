/* SPDX-License-Identifier: GPL-2.0 */
/* The short way of an event, for those that are nearly all. */
#ifndef MASSIF_PRELOAD_SHORTCUT_H
#define MASSIF_PRELOAD_SHORTCUT_H

#include <stdbool.h>
#include <stddef.h>

/* The block that an entry point has told of. Both are in registers: it need not save what it had. */
struct mf_fastpath_result {
	void *pointer;
	size_t done; /* a bool, as wide as its register: so a result is handed on without a move */
};

/*
 * The program was given @size bytes at @pointer by the entry point whose MF_FRAME is @frame; or is
 * about to free the block at @pointer. Not done: this is no such event, nothing was changed, and the
 * complete way is to be gone (track.h). A free that is done is one of the real allocator's blocks.
 */
#ifdef __x86_64__
struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame);
struct mf_fastpath_result mf_fastpath_free(void *pointer);

/*
 * Whether the block at @old may be resized before that is told: nobody else is given its address meanwhile.
 * Then mf_fastpath_realloc() is told that it has become the one at @pointer, of @size bytes, not 0.
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
