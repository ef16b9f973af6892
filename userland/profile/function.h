/* SPDX-License-Identifier: GPL-2.0 */
/* The allocation functions that a profile tells apart. */
#ifndef MASSIF_PROFILE_FUNCTION_H
#define MASSIF_PROFILE_FUNCTION_H

/* The numbers are those in recordings. */
enum mf_function {
	MF_FUNCTION_UNKNOWN,
	MF_FUNCTION_MALLOC,
	MF_FUNCTION_CALLOC,
	MF_FUNCTION_REALLOC, /* reallocarray() as well */
	MF_FUNCTION_ALIGNED, /* memalign(), aligned_alloc(), posix_memalign(), valloc(), pvalloc() */
	MF_FUNCTION_NEW,     /* C++'s operator new, with and without alignment */
	MF_FUNCTION_NEW_ARRAY, /* operator new[] */
	MF_FUNCTION_OWN,     /* a function of the program's own allocator */
	MF_FUNCTION_REQUEST, /* a block that the program has reported itself (client.rst) */
	MF_FUNCTIONS,
};

#endif
