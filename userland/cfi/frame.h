/* SPDX-License-Identifier: GPL-2.0 */
/* All registers of a frame's caller, by all that unwind rules can say. */
#ifndef MASSIF_UNWIND_FRAME_H
#define MASSIF_UNWIND_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "description.h"
#include "expression.h"

enum mf_frame_undone {
	MF_FRAME_DONE,
	MF_FRAME_END,  /* it has no caller */
	MF_FRAME_LOST, /* it has no rules, or they cannot be followed */
};

/*
 * Makes of the @registers in a frame those in its caller. @pc: whose rule holds, in @object (not a return address:
 * subtract 1 from one). @exact: the caller was interrupted, and is at its instruction; else behind a call. Memory is
 * read only by @read. If it is not done, @registers are as they were.
 */
enum mf_frame_undone mf_frame_undo(const struct mf_rows_object *object, uint64_t pc,
				   struct mf_expression_registers *registers, bool *exact, mf_expression_read *read,
				   void *data);

#endif
