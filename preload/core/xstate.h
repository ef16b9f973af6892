/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processor's extended state: the vector and mask registers. The shim itself is compiled without them
 * (build.mk), but the C library's functions use them.
 */
#ifndef MASSIF_PRELOAD_XSTATE_H
#define MASSIF_PRELOAD_XSTATE_H

#include <stdint.h>

typedef uint64_t mf_xstate_function(const void *data, uint64_t more);

/*
 * Returns @function(@data, @more), which may call the C library: it has an aligned stack and a direction
 * flag that is clear, and afterwards the extended state and that flag are what they were. General
 * registers change as in any call.
 */
uint64_t mf_xstate_call(mf_xstate_function *function, const void *data, uint64_t more);

/* Once, before the first call. */
void mf_xstate_start(void);

/*
 * For functions that the program's call may reach with a stack that is not aligned to 16 bytes, and which
 * call the C library. (The C library's own malloc does not mind as long as its fast path suffices.)
 */
#ifdef __x86_64__
#define MF_ALIGNED_STACK __attribute__((force_align_arg_pointer, noinline)) /* inlined, it would do nothing */
#else
#define MF_ALIGNED_STACK
#endif

#endif
