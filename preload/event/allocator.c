// SPDX-License-Identifier: GPL-2.0
// The shim's versions of the C allocation functions: they call the real ones and count the result.

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator.h"
#include "core/real.h"
#include "core/session.h"
#include "core/start.h"
#include "trace.h"
#include "slowpath.h"
#include "core/xstate.h"

#define EXPORT __attribute__((visibility("default"), noinline))

/* The slow paths are separate functions, so that the fast paths need not save registers for them. */
static __attribute__((noinline)) void *tell_malloc(void *pointer, size_t size, const void *frame)
{
	struct mf_registers caller;

	if (mf_slowpath_is_nested(frame))
		return pointer;
	caller = mf_caller_by(frame, MF_FUNCTION_MALLOC);
	MF_TRACE("malloc(%u) = %p", size, pointer);
	mf_slowpath_alloc(pointer, size, &caller);
	return pointer;
}

EXPORT void *malloc(size_t size)
{
	struct mf_fastpath_result fast =
		mf_fastpath_alloc(mf_start()->malloc(size), size, MF_FRAME, MF_FUNCTION_MALLOC);

	return __builtin_expect(fast.done, 1) ? fast.pointer :
						tell_malloc(fast.pointer, size, MF_FRAME);
}

EXPORT void *calloc(size_t n, size_t size)
{
	/* If the product overflows, calloc() returns NULL, so nothing is counted. */
	struct mf_fastpath_result fast =
		mf_fastpath_alloc(mf_start()->calloc(n, size), n * size, MF_FRAME, MF_FUNCTION_CALLOC);
	struct mf_registers caller;
	void *pointer = fast.pointer;

	if (__builtin_expect(fast.done, 1))
		return pointer;
	MF_TRACE("calloc(%u,%u) = %p", n, size, pointer);
	caller = mf_caller_by(MF_FRAME, MF_FUNCTION_CALLOC);
	mf_slowpath_alloc(pointer, n * size, &caller);
	return pointer;
}

static __attribute__((noinline)) void free_completely(void *pointer, const void *frame)
{
	if (!mf_real_is_early(pointer) && mf_slowpath_is_nested(frame)) {
		mf_start()->free(pointer);
		return;
	}
	MF_TRACE("free(%p)", pointer);
	mf_allocator_free(pointer, mf_start()->free, frame);
}

EXPORT void free(void *pointer)
{
	struct mf_fastpath_result fast = mf_allocator_begin_free(pointer);

	if (__builtin_expect(fast.done, 1))
		mf_real_functions.free(fast.pointer);
	else
		free_completely(fast.pointer, MF_FRAME);
}

static void trace_realloc(const void *old, size_t size, const void *pointer)
{
	if (!old)
		mf_trace_line("realloc(%p,%u)malloc(%u) = %p", old, size, size, pointer);
	else if (!size && !pointer)
		mf_trace_line("realloc(%p,%u)free(%p)\n = 0", old, size, old);
	else
		mf_trace_line("realloc(%p,%u) = %p", old, size, pointer);
}

MF_ALIGNED_STACK void mf_allocator_resize_begin(struct mf_allocator_resize *resize)
{
	resize->is_early = mf_real_is_early(resize->old);
	if (resize->is_early)
		return;
	/*
	 * realloc(NULL, size) is an allocation. realloc(pointer, 0) may be a free, after which some allocators
	 * nevertheless return a block.
	 */
	resize->is_new = !resize->old || (!resize->size && !mf_slowpath_realloc_zero_keeps());
	if (resize->is_new) {
		mf_slowpath_free_at(resize->old, resize->caller);
		return;
	}
	mf_allocator_fetch(resize->old);
	mf_slowpath_realloc_begin(&resize->state, resize->old, resize->caller);
	resize->is_resized = resize->state.known;
}

MF_ALIGNED_STACK void mf_allocator_resize_end(struct mf_allocator_resize *resize, void *pointer)
{
	size_t kept;

	if (resize->is_early) {
		kept = mf_real_early_size(resize->old);
		if (pointer)
			memcpy(pointer, resize->old, kept < resize->size ? kept : resize->size);
		mf_slowpath_alloc(pointer, resize->size, resize->caller);
		return;
	}
	if (__builtin_expect(mf_session_traces, 0))
		trace_realloc(resize->old, resize->size, pointer);
	if (resize->is_new)
		mf_slowpath_alloc(pointer, resize->size, resize->caller);
	else if (pointer)
		mf_slowpath_realloc_end(&resize->state, resize->old, pointer, resize->size ? resize->size : 1,
				     resize->caller);
	else if (resize->size)
		mf_slowpath_realloc_end(&resize->state, resize->old, NULL, resize->size, resize->caller);
	else
		mf_slowpath_realloc_freed(&resize->state, resize->caller);
}

static void *reallocate(void *old, size_t size, const struct mf_registers *caller)
{
	struct mf_allocator_resize resize = { .old = old, .size = size, .caller = caller };
	void *pointer;

	mf_allocator_resize_begin(&resize);
	pointer = mf_start()->realloc(resize.is_early ? NULL : old, size);
	mf_allocator_resize_end(&resize, pointer);
	return pointer;
}

MF_ALIGNED_STACK void mf_allocator_resized(void *old, void *pointer, size_t size, const void *frame,
					    unsigned int function)
{
	const struct mf_registers caller = mf_caller_by(frame, function);
	struct mf_slowpath_realloc state;

	if (__builtin_expect(mf_session_traces, 0))
		trace_realloc(old, size, pointer);
	if (!old) {
		mf_slowpath_alloc(pointer, size, &caller);
		return;
	}
	mf_slowpath_realloc_begin(&state, old, &caller);
	mf_slowpath_realloc_end(&state, old, pointer, size, &caller);
}

static __attribute__((noinline)) void *tell_realloc(void *old, void *pointer, size_t size, const void *frame)
{
	mf_allocator_resized(old, pointer, size, frame, MF_FUNCTION_REALLOC);
	return pointer;
}

static __attribute__((noinline)) void *realloc_completely(void *old, size_t size, const void *frame)
{
	const struct mf_registers caller = mf_caller_by(frame, MF_FUNCTION_REALLOC);

	return reallocate(old, size, &caller);
}

EXPORT void *realloc(void *old, size_t size)
{
	struct mf_fastpath_result fast;

	if (!old) {
		fast = mf_fastpath_alloc(mf_start()->realloc(NULL, size), size, MF_FRAME, MF_FUNCTION_REALLOC);
	} else {
		if (!size || mf_real_is_early(old) || !mf_fastpath_may_realloc(old))
			return realloc_completely(old, size, MF_FRAME);
		mf_allocator_fetch(old);
		fast = mf_fastpath_realloc(old, mf_start()->realloc(old, size), size, MF_FRAME);
	}
	return __builtin_expect(fast.done, 1) ? fast.pointer : tell_realloc(old, fast.pointer, size, MF_FRAME);
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	const struct mf_registers caller = mf_caller_by(MF_FRAME, MF_FUNCTION_REALLOC);
	size_t product;

	if (__builtin_mul_overflow(n, size, &product)) {
		errno = ENOMEM;
		return NULL;
	}
	return reallocate(old, product, &caller);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *pointer = mf_start()->memalign(alignment, size);

	MF_TRACE("memalign(al %u, size %u) = %p", alignment, size, pointer);
	mf_allocator_made(pointer, size, MF_FRAME, MF_FUNCTION_ALIGNED);
	return pointer;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *pointer = mf_start()->aligned_alloc(alignment, size);

	MF_TRACE("memalign(al %u, size %u) = %p", alignment, size, pointer);
	mf_allocator_made(pointer, size, MF_FRAME, MF_FUNCTION_ALIGNED);
	return pointer;
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	int code = mf_start()->posix_memalign(result, alignment, size);

	if (!code)
		MF_TRACE("memalign(al %u, size %u) = %p", alignment, size, *result);
	mf_allocator_made(code ? NULL : *result, size, MF_FRAME, MF_FUNCTION_ALIGNED);
	return code;
}

EXPORT void *valloc(size_t size)
{
	void *pointer = mf_start()->valloc(size);

	MF_TRACE("memalign(al %u, size %u) = %p", (size_t)getpagesize(), size, pointer);
	mf_allocator_made(pointer, size, MF_FRAME, MF_FUNCTION_ALIGNED);
	return pointer;
}

EXPORT void *pvalloc(size_t size)
{
	void *pointer = mf_start()->pvalloc(size);

	MF_TRACE("pvalloc(%u) = %p", size, pointer);
	mf_allocator_made(pointer, size, MF_FRAME, MF_FUNCTION_ALIGNED);
	return pointer;
}

EXPORT size_t malloc_usable_size(void *pointer)
{
	size_t size;

	if (mf_real_is_early(pointer))
		return mf_real_early_size(pointer);
	size = mf_start()->malloc_usable_size(pointer);
	MF_TRACE("malloc_usable_size(%p) = %u", pointer, size);
	return size;
}

/* Variants of free() added in C23. The shim ignores the size and the alignment. */
void free_sized(void *pointer, size_t size);
void free_aligned_sized(void *pointer, size_t alignment, size_t size);

EXPORT void free_sized(void *pointer, size_t size)
{
	MF_TRACE("free_sized(%p)", pointer);
	mf_allocator_free(pointer, mf_start()->free, MF_FRAME);
}

EXPORT void free_aligned_sized(void *pointer, size_t alignment, size_t size)
{
	MF_TRACE("free_aligned_sized(%p)", pointer);
	mf_allocator_free(pointer, mf_start()->free, MF_FRAME);
}
