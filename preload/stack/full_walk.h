/* SPDX-License-Identifier: GPL-2.0 */
/* A walk with all registers, for frames whose rules take more than the stack and the frame pointer. */
#ifndef MASSIF_PRELOAD_COMPLETE_H
#define MASSIF_PRELOAD_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"
#include "cfi/frame.h"

/* Where it has come to. Nothing but @begun is to be set before, to false. */
struct mf_full_walk {
	bool begun, exact;
	uint32_t steps; /* frames that it has undone */
	struct mf_expression_registers registers;
};

/*
 * From the frame at @at to its caller's registers, in *@outer. @steps: by how many frames that is outside the shim's
 * caller. The walk follows from the shim's own frames, where registers are known, or from where it was the last time;
 * if it does not come to @at, only the stack and the frame pointer are known there. Reads only what is there.
 */
enum mf_frame_undone mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps, const struct mf_registers *at,
				      struct mf_registers *outer);

#endif
