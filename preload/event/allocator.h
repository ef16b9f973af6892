/* SPDX-License-Identifier: GPL-2.0 */
/* What the shim's entry points have in common; `free` and others may be the program's own functions. */
#ifndef MASSIF_PRELOAD_ALLOCATOR_H
#define MASSIF_PRELOAD_ALLOCATOR_H

#include "core/real.h"
#include "fastpath.h"
#include "core/start.h"
#include "slowpath.h"

/* The program was given @size bytes at @pointer by the entry point whose MF_FRAME is @frame. */
static inline __attribute__((always_inline)) void mf_allocator_made(void *pointer, size_t size,
								    const void *frame)
{
	if (__builtin_expect(!mf_fastpath_alloc(pointer, size, frame).done, 0))
		mf_slowpath_alloc(pointer, size, &MF_CALLER_OF(frame));
}

/* The allocator's header of a block is often as far away as our own notes: fetch both at once. */
static inline void mf_allocator_fetch(const void *pointer)
{
	__builtin_prefetch((const char *)pointer - 16);
}

/* Before a block is freed; done: and need not be told of any more. */
static inline struct mf_fastpath_result mf_allocator_begin_free(void *pointer)
{
	mf_allocator_fetch(pointer);
	return mf_fastpath_free(pointer);
}

/* As free(3), which is @real_free, by the entry point whose MF_FRAME is @frame; NULL is allowed. */
static inline void mf_allocator_free(void *pointer, void (*real_free)(void *), const void *frame)
{
	if (__builtin_expect(mf_real_is_early(pointer), 0))
		return;
	mf_slowpath_free(pointer, frame);
	real_free(pointer);
}

/* A realloc(3) of @old to @size bytes, which @caller wants, before and after the real one. */
struct mf_allocator_resize {
	void *old;
	size_t size;
	const struct mf_registers *caller;

	bool is_early; /* set by the first: the block is of the shim's early arena; the real one is to get NULL */
	bool is_new;   /* the old block, if any, is freed */
	bool is_resized; /* it is out of the table meanwhile: state.block */
	struct mf_slowpath_realloc state;
};

void mf_allocator_resize_begin(struct mf_allocator_resize *resize);
void mf_allocator_resize_end(struct mf_allocator_resize *resize, void *pointer);

/* The same in one, when it has been done: for a thread that is alone. @old may be NULL. */
void mf_allocator_resized(void *old, void *pointer, size_t size, const void *frame);

#endif
