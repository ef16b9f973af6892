// SPDX-License-Identifier: GPL-2.0
// C++ operator new and delete, all forms, by their mangled names: the shim itself needs no C++.
//
// They allocate as the C++ library's own do, with the C functions underneath. Only when memory runs
// out is the library's operator called, for what it does then: new-handlers and exceptions.

#include <stdlib.h>
#include <unistd.h>

#include "allocator.h"
#include "real.h"
#include "start.h"
#include "trace.h"
#include "track.h"

#define EXPORT __attribute__((visibility("default"), noinline))

/* std::align_val_t and size_t are passed alike; std::nothrow_t is passed by reference. */
typedef size_t align_val_t;

static void *allocate(size_t size)
{
	return mf_start()->program_malloc(size ? size : 1);
}

/* aligned_alloc wants a size that is a multiple; the C++ library rounds up, too. */
static void *allocate_aligned(size_t size, align_val_t alignment)
{
	void *pointer;

	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return mf_start()->program_posix_memalign(&pointer, alignment, size ? size : 1) ? NULL : pointer;
}

static __attribute__((noreturn)) void fail_without_library(void)
{
	static const char text[] = "massif: operator new failed, and there is no C++ library to throw\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

/* What the library's operator allocates inside is counted there, as any malloc. */
typedef void *new_type(size_t size);
typedef void *new_aligned_type(size_t size, align_val_t alignment);
typedef void *new_nothrow_type(size_t size, const void *nothrow);
typedef void *new_aligned_nothrow_type(size_t size, align_val_t alignment, const void *nothrow);

/*
 * Defines operator @symbol: @type of the list above, with its parameters and the arguments made of
 * them. @allocation is how it allocates, @missing what to do where there is no C++ library, @trace
 * what to tell of the call.
 */
#define NEW(symbol, type, parameters, arguments, allocation, missing, trace) \
	void *symbol parameters;                                            \
	EXPORT void *symbol parameters                                      \
	{                                                                   \
		void *pointer = allocation;                                 \
		struct mf_shortcut_result told;                             \
                                                                            \
		if (__builtin_expect(!pointer, 0)) {                        \
			type *next = (type *)mf_real_operator(#symbol);     \
                                                                            \
			if (next)                                           \
				return next arguments;                      \
			missing;                                            \
		}                                                           \
		told = mf_shortcut_alloc(pointer, size, MF_FRAME);          \
		pointer = told.pointer;                                     \
		if (__builtin_expect(told.done, 1))                         \
			return pointer;                                     \
		trace;                                                      \
		mf_track_alloc(pointer, size, &MF_CALLER); \
		return pointer;                                             \
	}

#define TRACE_PLAIN(symbol) MF_TRACE(#symbol "(%u) = %p", size, pointer)
#define TRACE_ALIGNED(symbol) \
	MF_TRACE(#symbol "(size %u, al %u) = %p", size, alignment, pointer)

#define NEW_PLAIN(symbol)                                                           \
	NEW(symbol, new_type, (size_t size), (size), allocate(size), fail_without_library(),    \
	    TRACE_PLAIN(symbol))

#define NEW_ALIGNED(symbol)                                                         \
	NEW(symbol, new_aligned_type, (size_t size, align_val_t alignment),         \
	    (size, alignment), allocate_aligned(size, alignment), fail_without_library(),   \
	    TRACE_ALIGNED(symbol))

#define NEW_NOTHROW(symbol)                                                         \
	NEW(symbol, new_nothrow_type, (size_t size, const void *nothrow),           \
	    (size, nothrow), allocate(size), return NULL, TRACE_PLAIN(symbol))

#define NEW_ALIGNED_NOTHROW(symbol)                                                 \
	NEW(symbol, new_aligned_nothrow_type,                                       \
	    (size_t size, align_val_t alignment, const void *nothrow),              \
	    (size, alignment, nothrow), allocate_aligned(size, alignment), return NULL,     \
	    TRACE_ALIGNED(symbol))

#define DELETE(symbol, ...)                             \
	void symbol(void *pointer, ##__VA_ARGS__);      \
	EXPORT void symbol(void *pointer, ##__VA_ARGS__) \
	{                                               \
		struct mf_shortcut_result told = mf_allocator_begin_free(pointer); \
                                                        \
		pointer = told.pointer;                         \
		if (__builtin_expect(told.done, 1)) {           \
			mf_real_functions.program_free(pointer); \
			return;                                 \
		}                                               \
		MF_TRACE(#symbol "(%p)", pointer);      \
		mf_allocator_free(pointer, mf_start()->program_free, MF_FRAME); \
	}

NEW_PLAIN(_Znwm)
NEW_PLAIN(_Znam)
NEW_ALIGNED(_ZnwmSt11align_val_t)
NEW_ALIGNED(_ZnamSt11align_val_t)
NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
NEW_NOTHROW(_ZnamRKSt9nothrow_t)
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, size_t size)
DELETE(_ZdaPvm, size_t size)
DELETE(_ZdlPvRKSt9nothrow_t, const void *nothrow)
DELETE(_ZdaPvRKSt9nothrow_t, const void *nothrow)
DELETE(_ZdlPvSt11align_val_t, align_val_t alignment)
DELETE(_ZdaPvSt11align_val_t, align_val_t alignment)
DELETE(_ZdlPvmSt11align_val_t, size_t size, align_val_t alignment)
DELETE(_ZdaPvmSt11align_val_t, size_t size, align_val_t alignment)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, align_val_t alignment, const void *nothrow)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, align_val_t alignment, const void *nothrow)
