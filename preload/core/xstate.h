/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saves the processor's extended state (vector and mask registers) around calls to the C library. The shim itself is
 * compiled without these registers (build.mk), but the C library's functions use them.
 */
#ifndef MASSIF_PRELOAD_XSTATE_H
#define MASSIF_PRELOAD_XSTATE_H

#include <stdint.h>

typedef uint64_t mf_xstate_function(const void *data, uint64_t more);

/*
 * Calls @function(@data, @more) and returns its result. The function may call the C library: it runs with an aligned
 * stack and a clear direction flag. Afterwards, the extended state and the flag are restored. Caller-saved
 * general-purpose registers are clobbered, as in any call.
 */
uint64_t mf_xstate_call(mf_xstate_function *function, const void *data, uint64_t more);

#ifdef __x86_64__
/* For process/late.c, which has to know all variables that each thread has. */
extern __thread uint64_t mf_xstate_own_stack __attribute__((visibility("hidden"), tls_model("initial-exec")));
#endif

/* Determines which registers must be saved, and how. Called once, before the first mf_xstate_call(). */
void mf_xstate_start(void);

/* Frees the stack that mf_xstate_call() uses for this thread if the program has split stacks. */
void mf_xstate_thread_ended(void);

/*
 * Attribute of a function that aligns its stack to 16 bytes. It is needed for functions that call the C library and
 * that the program may call with an unaligned stack. (The fast path of glibc's own malloc works with such a stack, so
 * programs get away with it.)
 */
#ifdef __x86_64__
/* The attribute noinline is needed because an inlined function would not align the stack. */
#define MF_ALIGNED_STACK __attribute__((force_align_arg_pointer, noinline))
#else
#define MF_ALIGNED_STACK
#endif

#endif
