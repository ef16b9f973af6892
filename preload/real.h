/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that the program would have called without the shim. */
#ifndef MASSIF_PRELOAD_REAL_H
#define MASSIF_PRELOAD_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* A table: name in the struct, symbol, type. C++ operators may be missing: no C++ library. */
#define MF_REAL_FUNCTIONS(X)                                                        \
	X(malloc, "malloc", void *, (size_t))                                       \
	X(free, "free", void, (void *))                                             \
	X(calloc, "calloc", void *, (size_t, size_t))                               \
	X(realloc, "realloc", void *, (void *, size_t))                             \
	X(memalign, "memalign", void *, (size_t, size_t))                           \
	X(aligned_alloc, "aligned_alloc", void *, (size_t, size_t))                 \
	X(posix_memalign, "posix_memalign", int, (void **, size_t, size_t))         \
	X(valloc, "valloc", void *, (size_t))                                       \
	X(pvalloc, "pvalloc", void *, (size_t))                                     \
	X(malloc_usable_size, "malloc_usable_size", size_t, (void *))               \
	X(dlclose, "dlclose", int, (void *))                                        \
	X(new_scalar, "_Znwm", void *, (size_t))                                    \
	X(new_array, "_Znam", void *, (size_t))                                     \
	X(new_scalar_aligned, "_ZnwmSt11align_val_t", void *, (size_t, size_t))     \
	X(new_array_aligned, "_ZnamSt11align_val_t", void *, (size_t, size_t))      \
	X(new_scalar_nothrow, "_ZnwmRKSt9nothrow_t", void *, (size_t, const void *)) \
	X(new_array_nothrow, "_ZnamRKSt9nothrow_t", void *, (size_t, const void *)) \
	X(new_scalar_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", void *, \
	  (size_t, size_t, const void *))                                           \
	X(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", void *,  \
	  (size_t, size_t, const void *))

#define MF_REAL_MEMBER(member, symbol, type, arguments) type(*member) arguments;

struct mf_real {
	MF_REAL_FUNCTIONS(MF_REAL_MEMBER)
};

extern struct mf_real mf_real_functions;
extern int mf_real_state;

/* Looks the functions up; while it does, allocations are served from a small arena of our own. */
void mf_real_resolve(void);

static inline const struct mf_real *mf_real(void)
{
	if (__builtin_expect(!__atomic_load_n(&mf_real_state, __ATOMIC_ACQUIRE), 0))
		mf_real_resolve();
	return &mf_real_functions;
}

/* Whether @pointer came from that arena: it must not reach the real free. */
bool mf_real_is_early(const void *pointer);

/* Size of a block of that arena, in bytes. */
size_t mf_real_early_size(const void *pointer);

#endif
