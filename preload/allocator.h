/* SPDX-License-Identifier: GPL-2.0 */
/* Freeing for the shim's entry points; `free` may be the program's own function. */
#ifndef MASSIF_PRELOAD_ALLOCATOR_H
#define MASSIF_PRELOAD_ALLOCATOR_H

#include "real.h"
#include "start.h"
#include "track.h"

/* As free(3), by the entry point whose MF_FRAME is @frame; NULL is allowed. */
static inline void mf_allocator_free(void *pointer, const void *frame)
{
	const struct mf_real *real = mf_start();

	if (__builtin_expect(mf_real_is_early(pointer), 0))
		return;
	/* The allocator's header is often as far away as our own notes: fetch both at once. */
	__builtin_prefetch((const char *)pointer - 16);
	mf_track_free(pointer, frame);
	real->free(pointer);
}

#endif
