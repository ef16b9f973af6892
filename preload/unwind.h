/* SPDX-License-Identifier: GPL-2.0 */
/* The present thread's call stack. */
#ifndef MASSIF_PRELOAD_UNWIND_H
#define MASSIF_PRELOAD_UNWIND_H

#include <stdint.h>

#define MF_DEPTH_MAX 256u /* frames of a stack at most: depth (up to 200) + 50 */

/* Values that a buffer for mf_unwind_capture() has: the frames of the shim itself come first. */
#define MF_UNWIND_ROOM (MF_DEPTH_MAX + 16u)

/*
 * Fills @pcs, of MF_UNWIND_ROOM values, with the return addresses of the present stack, innermost
 * first, beginning with @caller, the return address of the entry point that the program called; at
 * most @depth (up to MF_DEPTH_MAX). Returns their number, at least 1. Needs no frame pointers (but
 * goes by them in code without unwind tables), allocates nothing and takes no lock.
 *
 * With @merge not 0, cycles of up to @merge frames are merged as they appear: a frame with the
 * address of the one j frames before it, j as small as possible, takes the last j frames away.
 */
uint32_t mf_unwind_capture(uint64_t *pcs, const void *caller, uint32_t depth, uint32_t merge);

/* Code was unmapped: other code may come to lie at its addresses. */
void mf_unwind_forget(void);

#endif
