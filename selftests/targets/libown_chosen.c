// SPDX-License-Identifier: GPL-2.0
// A library whose allocation functions are chosen when it is loaded (IFUNC). The library itself must free its blocks.

#define malloc	       chosen_malloc
#define free	       chosen_free
#define calloc	       chosen_calloc
#define realloc	       chosen_realloc
#define memalign       chosen_memalign
#define posix_memalign chosen_posix_memalign
#define OWN	       static __attribute__((noipa, unused))
#include "own_allocator.h"
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef memalign
#undef posix_memalign

void own_library_calls(void);
void *own_library_allocate(size_t size);

#define CHOSEN(symbol, result, ...)                                       \
	result symbol(__VA_ARGS__) __attribute__((ifunc("choose_" #symbol))); \
	static __attribute__((used)) result (*choose_##symbol(void))(__VA_ARGS__) \
	{                                                                 \
		return chosen_##symbol;                                   \
	}

CHOSEN(malloc, void *, size_t size)
CHOSEN(free, void, void *block)
CHOSEN(calloc, void *, size_t n, size_t size)
CHOSEN(realloc, void *, void *block, size_t size)
CHOSEN(memalign, void *, size_t alignment, size_t size)
CHOSEN(posix_memalign, int, void **result, size_t alignment, size_t size)

/* Checks that no blocks of other allocators were passed to this library. */
void own_library_calls(void)
{
	if (own_foreign)
		__builtin_trap();
}

/* Calls the library's own malloc(), which is an IFUNC, directly. */
void *own_library_allocate(size_t size)
{
	return malloc(size);
}
