/* SPDX-License-Identifier: GPL-2.0 */
/* Computes all registers of a frame's caller from unwind rules of any kind, including DWARF expressions. */
#ifndef MASSIF_CFI_FRAME_H
#define MASSIF_CFI_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "description.h"
#include "expression.h"

enum mf_frame_undone {
	MF_FRAME_DONE,
	MF_FRAME_END,  /* the frame has no caller */
	MF_FRAME_LOST, /* the frame has no rules, or they cannot be evaluated */
};

/*
 * Replaces the @registers of a frame with those of its caller. @pc is the address in @object whose rules apply
 * (subtract 1 from a return address). Sets *@exact to true if a signal interrupted the caller, in which case the
 * caller's pc is exact rather than a return address; otherwise to false. All memory is read through @read, which is
 * passed @data. If the result is not MF_FRAME_DONE, @registers and *@exact are unchanged.
 */
enum mf_frame_undone mf_frame_undo(const struct mf_rows_object *object, uint64_t pc,
				   struct mf_expression_registers *registers, bool *exact, mf_expression_read *read,
				   void *data);

#endif
