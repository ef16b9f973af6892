/* SPDX-License-Identifier: GPL-2.0 */
/* The present thread's call stack. */
#ifndef MASSIF_PRELOAD_UNWIND_H
#define MASSIF_PRELOAD_UNWIND_H

#include <stdint.h>

/*
 * Fills mf_thread.captured with the return addresses of the present stack, innermost first,
 * beginning with @caller, the return address of the entry point that the program called; at most
 * @depth (up to MF_DEPTH_MAX). Returns their number, at least 1. Needs no frame pointers, allocates
 * nothing, and is called with mf_thread.inside set.
 */
uint32_t mf_unwind_capture(const void *caller, uint32_t depth);

/* Code was unmapped: other code may come to lie at its addresses. */
void mf_unwind_forget(void);

#endif
