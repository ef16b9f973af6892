// SPDX-License-Identifier: GPL-2.0
// Computes all registers of a frame's caller.

#include "frame.h"

#include "program.h"

struct undo {
	const struct mf_expression_registers *before;
	struct mf_expression_registers after;
	mf_expression_read *read;
	void *data;
	uint64_t cfa;
};

static bool get_register(const struct undo *undo, uint8_t reg, uint64_t *value)
{
	if (reg >= MF_EXPRESSION_REGISTERS || !(undo->before->known >> reg & 1))
		return false;
	*value = undo->before->value[reg];
	return true;
}

static bool evaluate(struct undo *undo, const struct mf_place *place, const uint64_t *first, uint64_t *value)
{
	return mf_expression_evaluate(mf_place_expression(place), first, undo->before, undo->read, undo->data, value);
}

static bool find_cfa(struct undo *undo, const struct mf_place *place)
{
	if (place->kind == MF_PLACE_VALUE)
		return evaluate(undo, place, NULL, &undo->cfa);
	if (place->kind != MF_PLACE_REGISTER || !get_register(undo, place->reg, &undo->cfa))
		return false;
	undo->cfa += (uint64_t)place->offset;
	return true;
}

/* Computes the caller's value of register @reg, as described by @place. Returns false if it is unknown. */
static bool find_value(struct undo *undo, uint8_t reg, const struct mf_place *place, uint64_t *value)
{
	switch (place->kind) {
	case MF_PLACE_KEPT:
		if (reg != MF_DWARF_RSP)
			return get_register(undo, reg, value);
		*value = undo->cfa;
		return true;
	case MF_PLACE_AT_CFA:
		return undo->read(undo->cfa + (uint64_t)place->offset, value, undo->data);
	case MF_PLACE_CFA:
		*value = undo->cfa + (uint64_t)place->offset;
		return true;
	case MF_PLACE_REGISTER:
		return get_register(undo, place->reg, value);
	case MF_PLACE_EXPRESSION:
		return evaluate(undo, place, &undo->cfa, value) && undo->read(*value, value, undo->data);
	case MF_PLACE_VALUE:
		return evaluate(undo, place, &undo->cfa, value);
	default:
		return false;
	}
}

enum mf_frame_undone mf_frame_undo(const struct mf_rows_object *object, uint64_t pc,
				   struct mf_expression_registers *registers, bool *exact, mf_expression_read *read,
				   void *data)
{
	struct undo undo = { .before = registers, .read = read, .data = data };
	struct mf_description description;

	if (mf_description_find(object, pc, &description) != MF_DESCRIPTION_FOUND ||
	    !mf_description_holds(&description, pc))
		return MF_FRAME_LOST;
	for (uint8_t reg = 0; reg < MF_EXPRESSION_REGISTERS; reg += MF_PROGRAM_REGISTERS) {
		uint8_t wanted[MF_PROGRAM_REGISTERS];
		struct mf_program_state state;
		uint64_t start, end;

		for (uint8_t i = 0; i < MF_PROGRAM_REGISTERS; i++)
			wanted[i] = reg + i;
		state = mf_program_run(&description, wanted, pc, &start, &end);
		if (!reg && !find_cfa(&undo, &state.cfa))
			return MF_FRAME_LOST;
		for (uint8_t i = 0; i < MF_PROGRAM_REGISTERS && reg + i < MF_EXPRESSION_REGISTERS; i++) {
			if (wanted[i] == MF_DWARF_RA && state.of[i].kind == MF_PLACE_UNDEFINED)
				return MF_FRAME_END;
			if (find_value(&undo, wanted[i], &state.of[i], &undo.after.value[wanted[i]]))
				undo.after.known |= 1u << wanted[i];
		}
	}
	if (!(undo.after.known >> MF_DWARF_RA & 1) || !(undo.after.known >> MF_DWARF_RSP & 1))
		return MF_FRAME_LOST;
	if (!undo.after.value[MF_DWARF_RA])
		return MF_FRAME_END;
	*registers = undo.after;
	*exact = description.cie.signal;
	return MF_FRAME_DONE;
}
