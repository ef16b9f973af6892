/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stack walk that recovers all registers, for frames whose rules need more than the stack pointer and the frame
 * pointer.
 */
#ifndef MASSIF_PRELOAD_FULL_WALK_H
#define MASSIF_PRELOAD_FULL_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"
#include "cfi/frame.h"

/* State of the walk. Only @begun needs to be initialised, to false. */
struct mf_full_walk {
	bool begun, exact;
	uint32_t steps; /* frames walked so far */
	struct mf_expression_registers registers;
};

/*
 * Steps from the frame @at to its caller, and stores the caller's registers in *@outer. @steps: number of frames
 * between the shim's caller and @at. The walk begins in the shim's own frames, where all registers are known, or
 * continues from its last step. If the walk cannot reach @at, the step uses only the registers in @at. Reads only
 * readable memory.
 */
enum mf_frame_undone mf_full_walk_step(struct mf_full_walk *complete, uint32_t steps, const struct mf_registers *at,
				      struct mf_registers *outer);

#endif
