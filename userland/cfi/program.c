// SPDX-License-Identifier: GPL-2.0
// Runs the call frame instructions of an FDE (DWARF 5, section 6.4.2; GNU extensions: Linux Standard Base).
//
// A run tracks only a few registers, so that remembered states take little memory: this code runs on the stacks of the
// program's threads and signal handlers.

#include "program.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

#include "check.h"

#define STATES_MAX 16

struct run {
	const struct mf_cie *cie;
	const uint8_t *wanted;
	uint64_t pc;
	uint64_t start, end;	/* range of code addresses for which @state is valid */
	/* state after the CIE's instructions; NULL while those instructions are being executed */
	const struct mf_program_state *initial;
	struct mf_program_state *state;
};

static uint8_t register_of(uint64_t number)
{
	return number < MF_PLACE_NO_REGISTER ? (uint8_t)number : MF_PLACE_NO_REGISTER;
}

static uint8_t read_register(struct mf_dwarf *reader)
{
	return register_of(mf_dwarf_uleb(reader));
}

/*
 * Multiplies @factor by the data alignment factor. If the product overflows, which is possible in damaged tables,
 * returns INT64_MAX, which cannot be a valid offset.
 */
static int64_t times(const struct run *run, int64_t factor)
{
	int64_t product;

	return __builtin_mul_overflow(factor, run->cie->data_align, &product) ? INT64_MAX : product;
}

static void put(struct run *run, uint8_t reg, struct mf_place place)
{
	for (size_t i = 0; i < MF_PROGRAM_REGISTERS; i++)
		if (run->wanted[i] == reg)
			run->state->of[i] = place;
}

static void restore(struct run *run, uint8_t reg)
{
	for (size_t i = 0; i < MF_PROGRAM_REGISTERS; i++)
		if (run->initial && run->wanted[i] == reg)
			run->state->of[i] = run->initial->of[i];
}

static struct mf_place offset_place(enum mf_place_kind kind, int64_t offset)
{
	return (struct mf_place){ .kind = (uint8_t)kind, .offset = offset };
}

static struct mf_place register_place(uint8_t reg, int64_t offset)
{
	return (struct mf_place){ .kind = MF_PLACE_REGISTER, .reg = reg, .offset = offset };
}

static struct mf_place read_expression(struct mf_dwarf *reader, enum mf_place_kind kind)
{
	struct mf_dwarf block = mf_dwarf_block(reader);

	if (block.end - block.at > UINT32_MAX)
		return (struct mf_place){ .kind = MF_PLACE_UNKNOWN };
	return (struct mf_place){
		.kind = (uint8_t)kind, .expression = (uint32_t)(block.end - block.at), .end = block.end,
	};
}

/* set_cfa_register() and set_cfa_offset() change only the register, or only the offset, of the rule for the CFA. */
static void set_cfa_register(struct run *run, uint8_t reg)
{
	struct mf_place *cfa = &run->state->cfa;

	*cfa = register_place(reg, cfa->kind == MF_PLACE_REGISTER ? cfa->offset : 0);
}

static void set_cfa_offset(struct run *run, int64_t offset)
{
	struct mf_place *cfa = &run->state->cfa;

	if (cfa->kind == MF_PLACE_REGISTER)
		cfa->offset = offset;
	else
		cfa->kind = MF_PLACE_UNKNOWN;
}

/*
 * Ends the current row and starts the next one at the code address @location. Returns false if execution must end: the
 * row for run->pc is complete, or the rows are not in ascending order (the CFA then becomes unknown), or the
 * instruction is in a CIE, which has no rows.
 */
static bool move(struct run *run, uint64_t location)
{
	if (!run->initial)
		return false;
	if (location < run->start) {
		run->state->cfa = offset_place(MF_PLACE_UNKNOWN, 0);
		return false;
	}
	if (location <= run->pc)
		run->start = location;
	else if (location < run->end)
		run->end = location;
	return location <= run->pc;
}

/*
 * Executes a call frame instruction whose opcode byte contains an operand. Returns false if the row for run->pc is
 * complete, because the instruction starts a row for higher addresses.
 */
static bool do_short(struct run *run, uint8_t op, struct mf_dwarf *program)
{
	uint8_t operand = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return move(run, run->start + operand * run->cie->code_align);
	case DW_CFA_offset:
		put(run, operand, offset_place(MF_PLACE_AT_CFA, times(run, (int64_t)mf_dwarf_uleb(program))));
		return true;
	default: /* DW_CFA_restore */
		restore(run, operand);
		return true;
	}
}

/* Runs the instructions of @program until they describe code beyond run->pc. */
static void follow(struct run *run, struct mf_dwarf program)
{
	struct mf_program_state kept[STATES_MAX], *state = run->state;
	unsigned int depth = 0;
	uint8_t reg;

	/* A file of a few bytes can have a segment, and a program in it, of any length in memory. */
	if (program.end - program.at > (ptrdiff_t)MF_CFI_PROGRAM_MAX)
		goto unknown;
	while (program.at < program.end) {
		uint8_t op = (uint8_t)mf_dwarf_fixed(&program, 1);

		if (op & 0xc0) {
			if (!do_short(run, op, &program))
				return;
			continue;
		}
		switch (op) {
		case DW_CFA_nop:
			break;
		case DW_CFA_set_loc:
			if (!move(run, mf_dwarf_encoded(&program, run->cie->encoding)))
				return;
			break;
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
			if (!move(run, run->start + mf_dwarf_fixed(&program, 1u << (op - DW_CFA_advance_loc1)) *
						    run->cie->code_align))
				return;
			break;
		case DW_CFA_offset_extended:
			reg = read_register(&program);
			put(run, reg, offset_place(MF_PLACE_AT_CFA, times(run, (int64_t)mf_dwarf_uleb(&program))));
			break;
		case DW_CFA_restore_extended:
			restore(run, read_register(&program));
			break;
		case DW_CFA_undefined:
			put(run, read_register(&program), offset_place(MF_PLACE_UNDEFINED, 0));
			break;
		case DW_CFA_same_value:
			put(run, read_register(&program), offset_place(MF_PLACE_KEPT, 0));
			break;
		case DW_CFA_register:
			reg = read_register(&program);
			put(run, reg, register_place(read_register(&program), 0));
			break;
		case DW_CFA_remember_state:
			if (depth == STATES_MAX)
				goto unknown;
			kept[depth++] = *state;
			break;
		case DW_CFA_restore_state:
			if (!depth)
				goto unknown;
			*state = kept[--depth];
			break;
		case DW_CFA_def_cfa:
			reg = read_register(&program);
			state->cfa = register_place(reg, (int64_t)mf_dwarf_uleb(&program));
			break;
		case DW_CFA_def_cfa_register:
			set_cfa_register(run, read_register(&program));
			break;
		case DW_CFA_def_cfa_offset:
			set_cfa_offset(run, (int64_t)mf_dwarf_uleb(&program));
			break;
		case DW_CFA_def_cfa_expression:
			state->cfa = read_expression(&program, MF_PLACE_VALUE);
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			reg = read_register(&program);
			put(run, reg, read_expression(&program,
						      op == DW_CFA_expression ? MF_PLACE_EXPRESSION : MF_PLACE_VALUE));
			break;
		case DW_CFA_offset_extended_sf:
			reg = read_register(&program);
			put(run, reg, offset_place(MF_PLACE_AT_CFA, times(run, mf_dwarf_sleb(&program))));
			break;
		case DW_CFA_def_cfa_sf:
			reg = read_register(&program);
			state->cfa = register_place(reg, times(run, mf_dwarf_sleb(&program)));
			break;
		case DW_CFA_def_cfa_offset_sf:
			set_cfa_offset(run, times(run, mf_dwarf_sleb(&program)));
			break;
		case DW_CFA_val_offset:
			reg = read_register(&program);
			put(run, reg, offset_place(MF_PLACE_CFA, times(run, (int64_t)mf_dwarf_uleb(&program))));
			break;
		case DW_CFA_val_offset_sf:
			reg = read_register(&program);
			put(run, reg, offset_place(MF_PLACE_CFA, times(run, mf_dwarf_sleb(&program))));
			break;
		case DW_CFA_GNU_args_size:
			mf_dwarf_uleb(&program);
			break;
		default:
			goto unknown;
		}
	}
	return;
unknown:
	state->cfa = offset_place(MF_PLACE_UNKNOWN, 0);
}

struct mf_program_state mf_program_run(const struct mf_description *description,
				       const uint8_t wanted[MF_PROGRAM_REGISTERS], uint64_t pc, uint64_t *start,
				       uint64_t *end)
{
	struct mf_program_state state, initial;
	struct mf_dwarf program = description->program;
	struct run run = {
		.cie = &description->cie, .wanted = wanted, .pc = pc,
		.start = description->begin, .end = description->begin + description->size,
		.state = &state,
	};

	state.cfa = offset_place(MF_PLACE_UNKNOWN, 0);
	for (size_t i = 0; i < MF_PROGRAM_REGISTERS; i++)
		state.of[i] = wanted[i] == MF_DWARF_RA ? offset_place(MF_PLACE_AT_CFA, -8) :
							 offset_place(MF_PLACE_KEPT, 0);
	if (description->cie.augmented)
		mf_dwarf_block(&program);
	follow(&run, description->cie.program);
	initial = state;
	run.initial = &initial;
	follow(&run, program);
	*start = run.start;
	*end = run.end;
	return state;
}
