// SPDX-License-Identifier: GPL-2.0
// Which call frame instructions are safe to hand to libunwind.

#include "check.h"

#include <dwarf.h>

#define LEB_BYTES 10 /* longest LEB128 encoding of a 64-bit number */

/* A limit greater than any register number in the unwind tables of any architecture. */
#define REGISTERS 128u

void mf_cfi_skip_leb(struct mf_dwarf *reader)
{
	for (int i = 0; i < LEB_BYTES; i++)
		if (!(mf_dwarf_byte(reader) & 0x80))
			return;
	reader->overrun = true;
}

uint64_t mf_cfi_uleb(struct mf_dwarf *reader)
{
	struct mf_dwarf start = *reader;

	/* Fast path: nearly all numbers take a single byte. */
	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	mf_cfi_skip_leb(reader);
	return reader->overrun ? 0 : mf_dwarf_uleb(&start);
}

static void skip_register(struct mf_dwarf *reader)
{
	if (mf_cfi_uleb(reader) >= REGISTERS)
		reader->overrun = true;
}

/*
 * Skips the operands of a DWARF operation. Returns false if the operation must not reach libunwind: it jumps or
 * divides, or some versions of libunwind decode its operands differently (DW_OP_constu). No compiler emits these
 * operations in unwind rules.
 */
static bool skip_operation(struct mf_dwarf *code)
{
	uint8_t op = mf_dwarf_byte(code);

	if (op >= DW_OP_lit0 && op <= DW_OP_reg31)
		return true;
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		mf_cfi_skip_leb(code);
		return true;
	}
	switch (op) {
	case DW_OP_deref: case DW_OP_dup: case DW_OP_drop: case DW_OP_over: case DW_OP_swap: case DW_OP_rot:
	case DW_OP_abs: case DW_OP_and: case DW_OP_minus: case DW_OP_mul: case DW_OP_neg: case DW_OP_not:
	case DW_OP_or: case DW_OP_plus: case DW_OP_shl: case DW_OP_shr: case DW_OP_shra: case DW_OP_xor:
	case DW_OP_eq: case DW_OP_ge: case DW_OP_gt: case DW_OP_le: case DW_OP_lt: case DW_OP_ne: case DW_OP_nop:
		return true;
	case DW_OP_const1u: case DW_OP_const1s: case DW_OP_pick: case DW_OP_deref_size:
		mf_dwarf_byte(code);
		return true;
	case DW_OP_const2u: case DW_OP_const2s:
		mf_dwarf_fixed(code, 2);
		return true;
	case DW_OP_const4u: case DW_OP_const4s:
		mf_dwarf_fixed(code, 4);
		return true;
	case DW_OP_addr: case DW_OP_const8u: case DW_OP_const8s:
		mf_dwarf_fixed(code, 8);
		return true;
	case DW_OP_plus_uconst:
		mf_cfi_skip_leb(code);
		return true;
	case DW_OP_regx:
		skip_register(code);
		return true;
	case DW_OP_bregx:
		skip_register(code);
		mf_cfi_skip_leb(code);
		return true;
	default:
		return false;
	}
}

/*
 * Skips the length of an expression and the expression itself. Since jumps are not allowed, each operation of the
 * expression is evaluated at most once.
 */
static void skip_expression(struct mf_dwarf *program)
{
	uint64_t length = mf_cfi_uleb(program);
	struct mf_dwarf code = *program;

	if (length > (uint64_t)(program->end - program->at)) {
		program->overrun = true;
		return;
	}
	code.end = code.at + length;
	program->at += length;
	while (code.at < code.end)
		if (!skip_operation(&code) || code.overrun) {
			program->overrun = true;
			return;
		}
}

static void count_remembered(struct mf_dwarf *program, uint8_t op, uint32_t *remembered)
{
	if (op == DW_CFA_restore_state)
		*remembered -= *remembered > 0;
	else if (++*remembered > MF_CFI_REMEMBERED_MAX)
		program->overrun = true;
}

struct mf_cfi_instruction mf_cfi_next(struct mf_dwarf *program, uint32_t *remembered)
{
	struct mf_cfi_instruction next = { .kind = MF_CFI_PLAIN };
	uint8_t op = mf_dwarf_byte(program);

	switch (op & 0xc0 ? op & 0xc0 : op) {
	case DW_CFA_advance_loc:
		next = (struct mf_cfi_instruction){ MF_CFI_ADVANCE, op & 0x3f };
		break;
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		next.kind = MF_CFI_ADVANCE;
		next.operand = mf_dwarf_fixed(program, 1u << (op - DW_CFA_advance_loc1));
		break;
	case DW_CFA_set_loc:
		next.kind = MF_CFI_SET_LOC;
		break;
	case DW_CFA_offset:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		mf_cfi_skip_leb(program);
		break;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		skip_register(program);
		break;
	case DW_CFA_register:
		skip_register(program);
		skip_register(program);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_GNU_negative_offset_extended:
		skip_register(program);
		mf_cfi_skip_leb(program);
		break;
	case DW_CFA_def_cfa_expression:
		skip_expression(program);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		skip_register(program);
		skip_expression(program);
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		count_remembered(program, op, remembered);
		break;
	case DW_CFA_nop:
	case DW_CFA_restore:
#if defined(__aarch64__)
	case DW_CFA_GNU_window_save: /* arm64: toggles signing of the return address */
#endif
		break;
	case MF_CFI_STOP_OPCODE:
		next.kind = MF_CFI_STOP;
		break;
	default:
		/*
		 * The default case includes DW_CFA_val_offset, whose operands libunwind 1.6 executes as instructions.
		 */
		next.kind = MF_CFI_UNSAFE;
	}
	if (program->overrun)
		next.kind = MF_CFI_UNSAFE;
	return next;
}

bool mf_cfi_is_safe(struct mf_dwarf program)
{
	uint32_t remembered = 0;

	while (program.at < program.end) {
		switch (mf_cfi_next(&program, &remembered).kind) {
		case MF_CFI_PLAIN:
		case MF_CFI_ADVANCE:
			break;
		case MF_CFI_STOP:
			return true;
		default:
			return false;
		}
	}
	return true;
}
