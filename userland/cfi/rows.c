// SPDX-License-Identifier: GPL-2.0
// Converts call frame information to rows. A row can express what compilers emit for nearly all x86-64 functions: the
// CFA relative to the stack pointer or rbp, the return address just below the CFA, and rbp saved or unchanged. Anything
// else is MF_CFA_UNKNOWN (see frame.h).

#include "rows.h"

#include "program.h"

/* Operations of DWARF expressions. */
enum {
	OP_DEREF = 0x06,
	OP_PLUS = 0x22,
	OP_PLUS_CONSTANT = 0x23,
	OP_LITERAL_0 = 0x30,
	OP_LITERAL_31 = 0x4f,
	OP_BREG6 = 0x76,
};

/* Recognises the expression "rbp plus an offset". */
static bool is_rbp_expression(struct mf_dwarf expression, int64_t *offset)
{
	if (mf_dwarf_fixed(&expression, 1) != OP_BREG6)
		return false;
	*offset = mf_dwarf_sleb(&expression);
	return expression.at == expression.end;
}

/* Recognises the expression "word at rbp plus an offset", optionally "plus a constant". */
static bool is_stored_expression(struct mf_dwarf expression, int64_t *offset, int64_t *addend)
{
	uint64_t op;

	*addend = 0;
	if (mf_dwarf_fixed(&expression, 1) != OP_BREG6)
		return false;
	*offset = mf_dwarf_sleb(&expression);
	if (mf_dwarf_fixed(&expression, 1) != OP_DEREF)
		return false;
	if (expression.at == expression.end)
		return true;
	op = mf_dwarf_fixed(&expression, 1);
	if (op == OP_PLUS_CONSTANT)
		*addend = (int64_t)mf_dwarf_uleb(&expression);
	else if (op >= OP_LITERAL_0 && op <= OP_LITERAL_31 && mf_dwarf_fixed(&expression, 1) == OP_PLUS)
		*addend = (int64_t)(op - OP_LITERAL_0);
	else
		return false;
	return expression.at == expression.end;
}

static bool fits(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

/*
 * Records in @rule that the caller's value of the frame register is at @place. Returns false if a rule cannot express
 * it.
 */
static bool set_fp(struct mf_cfi_rule *rule, const struct mf_place *place)
{
	int64_t offset;

	switch (place->kind) {
	case MF_PLACE_KEPT:
	/* the caller's value of the frame register is undefined, so neither the caller nor its callers need it */
	case MF_PLACE_UNDEFINED:
		rule->fp = MF_FP_KEPT;
		return true;
	case MF_PLACE_AT_CFA:
		rule->fp = MF_FP_AT_CFA;
		offset = place->offset;
		break;
	case MF_PLACE_EXPRESSION:
		rule->fp = MF_FP_AT_FP;
		if (!is_rbp_expression(mf_place_expression(place), &offset))
			return false;
		break;
	default:
		return false;
	}
	rule->fp_offset = (int16_t)offset;
	return fits(offset, INT16_MIN, INT16_MAX);
}

/* Sets the CFA in @rule. Returns false if a rule cannot express it. */
static bool set_cfa(struct mf_cfi_rule *rule, const struct mf_place *place)
{
	int64_t offset = place->offset, addend;

	if (place->kind == MF_PLACE_REGISTER && place->reg == MF_DWARF_RSP) {
		rule->cfa = MF_CFA_SP;
	} else if (place->kind == MF_PLACE_REGISTER && place->reg == MF_DWARF_RBP) {
		rule->cfa = MF_CFA_FP;
	} else if (place->kind == MF_PLACE_VALUE &&
		   is_stored_expression(mf_place_expression(place), &offset, &addend)) {
		rule->cfa = addend ? MF_CFA_FP_LINK : MF_CFA_FP_INDIRECT;
		if (addend && offset)
			return false;
		offset += addend;
	} else {
		return false;
	}
	rule->cfa_offset = (int32_t)offset;
	return fits(offset, INT32_MIN, INT32_MAX);
}

/* The registers for which a struct mf_cfi_rule says how to find the caller's values. */
static const uint8_t wanted[MF_PROGRAM_REGISTERS] = { MF_DWARF_RBP, MF_DWARF_RA };

static struct mf_cfi_rule rule_of(const struct mf_program_state *state)
{
	struct mf_cfi_rule rule = { .cfa = MF_CFA_UNKNOWN };
	const struct mf_place *fp = &state->of[0], *ra = &state->of[1];

	if (ra->kind == MF_PLACE_UNDEFINED)
		return (struct mf_cfi_rule){ .cfa = MF_CFA_END };
	if (ra->kind != MF_PLACE_AT_CFA || ra->offset != -8 || !set_fp(&rule, fp) || !set_cfa(&rule, &state->cfa))
		return (struct mf_cfi_rule){ .cfa = MF_CFA_UNKNOWN };
	return rule;
}

/*
 * Returns the rule of a signal frame. In the frame to which a signal handler returns, the CFA is an expression. Other
 * code can also be marked as a signal frame, for example a jump that replaces an instruction. Such code needs the full
 * unwind rules, so its rule is MF_CFA_UNKNOWN.
 */
static struct mf_cfi_rule signal_rule(const struct mf_program_state *state)
{
	struct mf_cfi_rule rule;

	return (struct mf_cfi_rule){
		.cfa = state->cfa.kind == MF_PLACE_VALUE && !set_cfa(&rule, &state->cfa) ? MF_CFA_SIGNAL :
											  MF_CFA_UNKNOWN,
	};
}

bool mf_rows_is_start(const struct mf_rows_object *object, uint64_t pc)
{
	struct mf_description found;

	return mf_description_find(object, pc, &found) == MF_DESCRIPTION_FOUND && found.begin == pc;
}

struct mf_row mf_rows_find(const struct mf_rows_object *object, uint64_t pc)
{
	struct mf_program_state state;
	struct mf_description found;
	struct mf_row row = { .rule.cfa = MF_CFA_NONE };

	switch (mf_description_find(object, pc, &found)) {
	case MF_DESCRIPTION_NONE:
		return row;
	case MF_DESCRIPTION_UNKNOWN:
		row.rule.cfa = MF_CFA_UNKNOWN;
		return row;
	case MF_DESCRIPTION_FOUND:
		break;
	}
	if (!mf_description_holds(&found, pc))
		return row;
	state = mf_program_run(&found, wanted, pc, &row.start, &row.end);
	row.rule = found.cie.signal ? signal_rule(&state) : rule_of(&state);
	return row;
}
