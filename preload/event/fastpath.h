/* SPDX-License-Identifier: GPL-2.0 */
/* The fast path of an event, which handles nearly all of them. */
#ifndef MASSIF_PRELOAD_FASTPATH_H
#define MASSIF_PRELOAD_FASTPATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The result of an event. @pointer is the block that was passed in. Both members are returned in registers, so the
 * caller need not save the pointer across the call.
 */
struct mf_fastpath_result {
	void *pointer;
	/*
	 * 1 if the event was counted, else 0. This member has the size of a register, so that passing it on takes no
	 * instruction.
	 */
	size_t done;
};

/*
 * mf_fastpath_alloc() counts the allocation of a block of @size bytes at @pointer, which an entry point is about to
 * return; @frame is that entry point's MF_FRAME, and @function is what it is (enum mf_function). mf_fastpath_free()
 * counts the free of a block, just before the block is freed. If the result's @done is 0, nothing has been changed, and
 * the slow path (slowpath.h) must handle the event. If @done is 1 for a free, the block came from the real allocator, not
 * from the early arena.
 */
#ifdef __x86_64__
struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame,
						   unsigned int function);
struct mf_fastpath_result mf_fastpath_free(void *pointer);

/*
 * Returns whether a resize of the block at @old may be counted after the fact. This requires that no other thread can
 * get the block's address in the meantime. If it returns true, call mf_fastpath_realloc() afterwards with the block's
 * new address @pointer and its new @size (not 0).
 */
bool mf_fastpath_may_realloc(const void *old);
struct mf_fastpath_result mf_fastpath_realloc(const void *old, void *pointer, size_t size,
					      const void *frame);
#else
static inline struct mf_fastpath_result mf_fastpath_alloc(void *pointer, size_t size, const void *frame,
						   unsigned int function)
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
