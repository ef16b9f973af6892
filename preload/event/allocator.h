/* SPDX-License-Identifier: GPL-2.0 */
/* Code shared by the shim's entry points, and by hooks of the program's own allocation functions. */
#ifndef MASSIF_PRELOAD_ALLOCATOR_H
#define MASSIF_PRELOAD_ALLOCATOR_H

#include "core/real.h"
#include "fastpath.h"
#include "core/start.h"
#include "slowpath.h"

/*
 * Counts a block of @size bytes at @pointer that an entry point of the shim returns. @frame is MF_FRAME in that entry
 * point, and @function is what it is (enum mf_function).
 */
static inline __attribute__((always_inline)) void mf_allocator_made(void *pointer, size_t size, const void *frame,
								    unsigned int function)
{
	if (__builtin_expect(!mf_fastpath_alloc(pointer, size, frame, function).done, 0)) {
		const struct mf_registers caller = mf_caller_by(frame, function);

		mf_slowpath_alloc(pointer, size, &caller);
	}
}

/* Prefetches the block's allocator header. Like the block's slot in the shim's table, it is unlikely to be cached. */
static inline void mf_allocator_fetch(const void *pointer)
{
	__builtin_prefetch((const char *)pointer - 16);
}

/* Call this before a block is freed. If @done is set in the result, the free has been counted. */
static inline struct mf_fastpath_result mf_allocator_begin_free(void *pointer)
{
	mf_allocator_fetch(pointer);
	return mf_fastpath_free(pointer);
}

/*
 * Counts a free and calls @real_free, unless the block is in the early arena. @pointer may be NULL. @frame: the frame
 * (MF_FRAME, see unwind.h) of the entry point, which is the function of the shim that the program called.
 */
static inline void mf_allocator_free(void *pointer, void (*real_free)(void *), const void *frame)
{
	if (__builtin_expect(mf_real_is_early(pointer), 0))
		return;
	mf_slowpath_free(pointer, frame);
	real_free(pointer);
}

/*
 * A realloc(3) of @old to @size bytes by @caller. Call mf_allocator_resize_begin() before the real function, and
 * mf_allocator_resize_end() with its result.
 */
struct mf_allocator_resize {
	void *old;
	size_t size;
	const struct mf_registers *caller;

	/*
	 * set by mf_allocator_resize_begin() if @old is a block of the early arena, which the real realloc() does not
	 * know: pass NULL to realloc() instead of @old
	 */
	bool is_early;
	/* the call is counted as a free of @old (unless that is NULL) and an allocation of a new block */
	bool is_new;
	/*
	 * true if @old was a counted block; until mf_allocator_resize_end(), this block is in state.block and not in
	 * the table of blocks
	 */
	bool is_resized;
	struct mf_slowpath_realloc state;
};

void mf_allocator_resize_begin(struct mf_allocator_resize *resize);
void mf_allocator_resize_end(struct mf_allocator_resize *resize, void *pointer);

/* Counts a realloc(3) that has already happened. Only valid in a single-threaded process. @old may be NULL. */
void mf_allocator_resized(void *old, void *pointer, size_t size, const void *frame, unsigned int function);

#endif
