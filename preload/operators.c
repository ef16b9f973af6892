// SPDX-License-Identifier: GPL-2.0
// C++ operator new and delete, all forms, by their mangled names: the shim itself needs no C++.
//
// They allocate as the C++ library's own do, with the C functions underneath. Only when memory runs
// out is the library's operator called, for what it does then: new-handlers and exceptions.

#include <stdlib.h>
#include <unistd.h>

#include "real.h"
#include "start.h"
#include "track.h"

#define EXPORT __attribute__((visibility("default"), noinline))

/* std::align_val_t and size_t are passed alike; std::nothrow_t is passed by reference. */
typedef size_t align_val_t;

static void *allocate(size_t size)
{
	return mf_start()->malloc(size ? size : 1);
}

/* aligned_alloc wants a size that is a multiple; the C++ library rounds up, too. */
static void *allocate_aligned(size_t size, align_val_t alignment)
{
	void *pointer;

	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return mf_start()->posix_memalign(&pointer, alignment, size ? size : 1) ? NULL : pointer;
}

static void __attribute__((noreturn)) fail_without_library(void)
{
	static const char text[] = "massif: operator new failed, and there is no C++ library to throw\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

/* What the library allocates inside is counted there, as any malloc. */
#define NEW(symbol, real_member)                                                 \
	void *symbol(size_t size);                                               \
	EXPORT void *symbol(size_t size)                                         \
	{                                                                        \
		void *pointer = allocate(size);                                  \
                                                                                 \
		if (__builtin_expect(!pointer, 0)) {                             \
			if (!mf_start()->real_member)                            \
				fail_without_library();                          \
			return mf_start()->real_member(size);                    \
		}                                                                \
		mf_track_alloc(pointer, size, __builtin_return_address(0));      \
		return pointer;                                                  \
	}

#define NEW_ALIGNED(symbol, real_member)                                         \
	void *symbol(size_t size, align_val_t alignment);                        \
	EXPORT void *symbol(size_t size, align_val_t alignment)                  \
	{                                                                        \
		void *pointer = allocate_aligned(size, alignment);               \
                                                                                 \
		if (__builtin_expect(!pointer, 0)) {                             \
			if (!mf_start()->real_member)                            \
				fail_without_library();                          \
			return mf_start()->real_member(size, alignment);         \
		}                                                                \
		mf_track_alloc(pointer, size, __builtin_return_address(0));      \
		return pointer;                                                  \
	}

#define NEW_NOTHROW(symbol, real_member)                                         \
	void *symbol(size_t size, const void *nothrow);                          \
	EXPORT void *symbol(size_t size, const void *nothrow)                    \
	{                                                                        \
		void *pointer = allocate(size);                                  \
                                                                                 \
		if (__builtin_expect(!pointer, 0))                               \
			return mf_start()->real_member ?                         \
				       mf_start()->real_member(size, nothrow) :  \
				       NULL;                                     \
		mf_track_alloc(pointer, size, __builtin_return_address(0));      \
		return pointer;                                                  \
	}

#define NEW_ALIGNED_NOTHROW(symbol, real_member)                                         \
	void *symbol(size_t size, align_val_t alignment, const void *nothrow);           \
	EXPORT void *symbol(size_t size, align_val_t alignment, const void *nothrow)     \
	{                                                                                \
		void *pointer = allocate_aligned(size, alignment);                       \
                                                                                         \
		if (__builtin_expect(!pointer, 0))                                       \
			return mf_start()->real_member ?                                 \
				       mf_start()->real_member(size, alignment,          \
							       nothrow) :                \
				       NULL;                                             \
		mf_track_alloc(pointer, size, __builtin_return_address(0));              \
		return pointer;                                                          \
	}

#define DELETE(symbol, ...)                             \
	void symbol(void *pointer, ##__VA_ARGS__);      \
	EXPORT void symbol(void *pointer, ##__VA_ARGS__) \
	{                                               \
		free(pointer);                          \
	}

NEW(_Znwm, new_scalar)
NEW(_Znam, new_array)
NEW_ALIGNED(_ZnwmSt11align_val_t, new_scalar_aligned)
NEW_ALIGNED(_ZnamSt11align_val_t, new_array_aligned)
NEW_NOTHROW(_ZnwmRKSt9nothrow_t, new_scalar_nothrow)
NEW_NOTHROW(_ZnamRKSt9nothrow_t, new_array_nothrow)
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_scalar_aligned_nothrow)
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow)

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
