// SPDX-License-Identifier: GPL-2.0
// C++ operator new and delete in all forms, defined by their mangled names so that the shim needs no C++.
//
// The plain forms call malloc() and free(), as the C++ library does; they call the library's own operator only when
// memory runs out, for its new-handlers and exceptions. The aligned forms always call the library: libraries differ in
// which alignments they refuse and how far they round sizes up, and programs rely on that. The library then calls the
// shim's malloc(); this inner call is not counted (see mf_slowpath_absorb()).

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator.h"
#include "core/cxx_library.h"
#include "core/real.h"
#include "core/start.h"
#include "trace.h"
#include "slowpath.h"

#define EXPORT __attribute__((visibility("default"), noinline))

/* std::align_val_t is passed like size_t, and std::nothrow_t by reference. */
typedef size_t align_val_t;

static void *allocate(size_t size)
{
	return mf_start()->program_malloc(size ? size : 1);
}

static bool is_power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

/*
 * Replaces the aligned operator new of the C++ library in a program that has no C++ library. Behaves like that of
 * libstdc++.
 */
static void *allocate_aligned(size_t size, align_val_t alignment)
{
	size_t rounded = ((size ? size : 1) + alignment - 1) & ~(alignment - 1);
	void *pointer;

	if (!is_power_of_two(alignment) || rounded < size)
		return NULL;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	return mf_start()->program_posix_memalign(&pointer, alignment, rounded) ? NULL : pointer;
}

static __attribute__((noreturn)) void fail_without_library(void)
{
	static const char text[] = "massif: operator new failed, and there is no C++ library to throw "
				   "std::bad_alloc\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

typedef void *new_type(size_t size);
typedef void *new_aligned_type(size_t size, align_val_t alignment);
typedef void *new_nothrow_type(size_t size, const void *nothrow);
typedef void *new_aligned_nothrow_type(size_t size, align_val_t alignment, const void *nothrow);
typedef void delete_aligned_type(void *pointer, align_val_t alignment);
typedef void delete_sized_aligned_type(void *pointer, size_t size, align_val_t alignment);
typedef void delete_aligned_nothrow_type(void *pointer, align_val_t alignment, const void *nothrow);

/*
 * Defines the plain operator @symbol of type @type, which profiles call @function (enum mf_function). @arguments: the
 * names of the parameters in @parameters. If the allocation fails, the operator calls the C++ library's version of
 * itself; the allocations made by that call (by new-handlers, for exceptions and for the block) are counted like any
 * malloc(). @missing: the statement to execute instead of that call if there is no C++ library.
 */
#define NEW(symbol, function, type, parameters, arguments, missing)                  \
	void *symbol parameters;                                                     \
	EXPORT void *symbol parameters                                               \
	{                                                                            \
		void *pointer = allocate(size);                                      \
		struct mf_fastpath_result fast;                                      \
		struct mf_registers caller;                                          \
										\
		if (__builtin_expect(!pointer, 0)) {                                 \
			type *library = (type *)mf_cxx_library_find(MF_LIBRARY_##symbol); \
										\
			if (library)                                                 \
				return library arguments;                            \
			missing;                                                     \
		}                                                                    \
		fast = mf_fastpath_alloc(pointer, size, MF_FRAME, function);         \
		pointer = fast.pointer;                                              \
		if (__builtin_expect(fast.done, 1))                                  \
			return pointer;                                              \
		MF_TRACE(#symbol "(%u) = %p", size, pointer);                        \
		caller = mf_caller_by(MF_FRAME, function);                           \
		mf_slowpath_alloc(pointer, size, &caller);                           \
		return pointer;                                                      \
	}

NEW(_Znwm, MF_FUNCTION_NEW, new_type, (size_t size), (size), fail_without_library())
NEW(_Znam, MF_FUNCTION_NEW_ARRAY, new_type, (size_t size), (size), fail_without_library())
NEW(_ZnwmRKSt9nothrow_t, MF_FUNCTION_NEW, new_nothrow_type, (size_t size, const void *nothrow), (size, nothrow), return NULL)
NEW(_ZnamRKSt9nothrow_t, MF_FUNCTION_NEW_ARRAY, new_nothrow_type, (size_t size, const void *nothrow), (size, nothrow),
    return NULL)

/*
 * Called before the library's aligned operator new. Returns whether the library's next allocation will be the program's
 * block. Returns false if the operator is going to throw, because the next allocation is then the exception object.
 * Also returns false if the library itself called this operator, as when operator new[] calls operator new.
 */
static bool begin_library_new(size_t size, align_val_t alignment)
{
	return is_power_of_two(alignment) && size <= PTRDIFF_MAX && mf_slowpath_absorb();
}

/* Counts the block once, with @size bytes, for the caller of the outermost operator. */
static void end_library_new(void *pointer, size_t size, const void *frame, unsigned int function)
{
	const struct mf_registers caller = mf_caller_by(frame, function);
	struct mf_slowpath_realloc state;

	if (mf_slowpath_absorbed()) {
		mf_allocator_made(pointer, size, frame, function);
		return;
	}
	/*
	 * The library's first attempt failed and a new-handler freed memory. The second attempt was counted as a
	 * malloc(); correct its size and context.
	 */
	mf_slowpath_realloc_begin(&state, pointer, &caller);
	mf_slowpath_realloc_end(&state, pointer, pointer, size, &caller);
}

/*
 * Defines the aligned operator @symbol, which profiles call @function. @missing is executed if there is no C++ library and
 * the allocation fails.
 */
#define NEW_ALIGNED(symbol, function, type, parameters, arguments, missing)           \
	void *symbol parameters;                                                      \
	EXPORT void *symbol parameters                                                \
	{                                                                             \
		type *library = (type *)mf_cxx_library_find(MF_LIBRARY_##symbol);         \
		bool is_outermost = true;                                             \
		void *pointer;                                                        \
										\
		if (__builtin_expect(library != NULL, 1)) {                           \
			mf_start();                                                   \
			is_outermost = begin_library_new(size, alignment);            \
			pointer = library arguments;                                  \
			if (!is_outermost)                                            \
				return pointer;                                       \
		} else {                                                              \
			pointer = allocate_aligned(size, alignment);                  \
			if (!pointer)                                                 \
				missing;                                              \
		}                                                                     \
		/* Call MF_TRACE before counting the block: counting uses the function name that MF_TRACE records. */   \
		MF_TRACE(#symbol "(size %u, al %u) = %p", size, alignment, pointer);  \
		if (library)                                                          \
			end_library_new(pointer, size, MF_FRAME, function);           \
		else                                                                  \
			mf_allocator_made(pointer, size, MF_FRAME, function);         \
		return pointer;                                                       \
	}

NEW_ALIGNED(_ZnwmSt11align_val_t, MF_FUNCTION_NEW, new_aligned_type, (size_t size, align_val_t alignment),
	    (size, alignment), fail_without_library())
NEW_ALIGNED(_ZnamSt11align_val_t, MF_FUNCTION_NEW_ARRAY, new_aligned_type, (size_t size, align_val_t alignment),
	    (size, alignment), fail_without_library())
NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, MF_FUNCTION_NEW, new_aligned_nothrow_type,
	    (size_t size, align_val_t alignment, const void *nothrow), (size, alignment, nothrow), return NULL)
NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, MF_FUNCTION_NEW_ARRAY, new_aligned_nothrow_type,
	    (size_t size, align_val_t alignment, const void *nothrow), (size, alignment, nothrow), return NULL)

#define DELETE(symbol, ...)                             \
	void symbol(void *pointer, ##__VA_ARGS__);      \
	EXPORT void symbol(void *pointer, ##__VA_ARGS__) \
	{                                               \
		struct mf_fastpath_result fast = mf_allocator_begin_free(pointer); \
							\
		pointer = fast.pointer;                         \
		if (__builtin_expect(fast.done, 1)) {           \
			mf_real_functions.program_free(pointer); \
			return;                                 \
		}                                               \
		MF_TRACE(#symbol "(%p)", pointer);      \
		mf_allocator_free(pointer, mf_start()->program_free, MF_FRAME); \
	}

DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, size_t size)
DELETE(_ZdaPvm, size_t size)
DELETE(_ZdlPvRKSt9nothrow_t, const void *nothrow)
DELETE(_ZdaPvRKSt9nothrow_t, const void *nothrow)

/* A block from the C++ library's aligned operator new must be freed by that library. */
#define DELETE_ALIGNED(symbol, type, parameters, arguments)                           \
	void symbol parameters;                                                       \
	EXPORT void symbol parameters                                                 \
	{                                                                             \
		type *library = (type *)mf_cxx_library_find(MF_LIBRARY_##symbol);         \
		bool is_outermost = !mf_slowpath_is_absorbing();                         \
										\
		if (is_outermost && !mf_allocator_begin_free(pointer).done) {         \
			MF_TRACE(#symbol "(%p)", pointer);                            \
			mf_slowpath_free(pointer, MF_FRAME);                             \
		}                                                                     \
		if (__builtin_expect(!library, 0)) {                                  \
			mf_start()->program_free(pointer);                            \
			return;                                                       \
		}                                                                     \
		is_outermost = is_outermost && mf_slowpath_absorb();                     \
		library arguments;                                                    \
		if (is_outermost)                                                     \
			mf_slowpath_absorbed();                                          \
	}

DELETE_ALIGNED(_ZdlPvSt11align_val_t, delete_aligned_type, (void *pointer, align_val_t alignment),
	       (pointer, alignment))
DELETE_ALIGNED(_ZdaPvSt11align_val_t, delete_aligned_type, (void *pointer, align_val_t alignment),
	       (pointer, alignment))
DELETE_ALIGNED(_ZdlPvmSt11align_val_t, delete_sized_aligned_type,
	       (void *pointer, size_t size, align_val_t alignment), (pointer, size, alignment))
DELETE_ALIGNED(_ZdaPvmSt11align_val_t, delete_sized_aligned_type,
	       (void *pointer, size_t size, align_val_t alignment), (pointer, size, alignment))
DELETE_ALIGNED(_ZdlPvSt11align_val_tRKSt9nothrow_t, delete_aligned_nothrow_type,
	       (void *pointer, align_val_t alignment, const void *nothrow), (pointer, alignment, nothrow))
DELETE_ALIGNED(_ZdaPvSt11align_val_tRKSt9nothrow_t, delete_aligned_nothrow_type,
	       (void *pointer, align_val_t alignment, const void *nothrow), (pointer, alignment, nothrow))
