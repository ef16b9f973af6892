// SPDX-License-Identifier: GPL-2.0
// Call frame information: finds the row of .eh_frame that holds for an address.
//
// The format is that of the Linux Standard Base, chapter "Exception Frames", and of DWARF 5, section
// 6.4. What is implemented is what compilers emit for nearly every function of x86-64: a CFA from the
// stack pointer or rbp, the return address below it, rbp saved or kept. Anything else is unknown, and
// left to a complete unwinder.

#include "unwind/rows.h"

#include <stddef.h>
#include <string.h>

/* DWARF's numbers of the registers that matter. */
enum { REGISTER_RBP = 6, REGISTER_RSP = 7, REGISTER_RA = 16 };

enum {
	ENCODING_TABLE = 0x3b, /* datarel | sdata4: the sorted table of .eh_frame_hdr */
	ENCODING_OMITTED = 0xff,
};

#define STATES_MAX 16

struct cursor {
	const uint8_t *at, *end;
};

/* The @size bytes at @at, as far as they lie in @object: its tables may be damaged. */
static struct cursor cursor_in(const struct mf_rows_object *object, const uint8_t *at, uint64_t size)
{
	if (at < object->start || at > object->end)
		at = object->end;
	if (size > (uint64_t)(object->end - at))
		size = (uint64_t)(object->end - at);
	return (struct cursor){ at, at + size };
}

/* The registers' rules while a program of CFA instructions runs. */
struct state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	int64_t cfa_addend; /* if cfa_indirect: to what is stored at cfa_offset */
	bool cfa_indirect, cfa_unknown;
	enum mf_fp_kind fp;
	int64_t fp_offset;
	bool fp_unknown, ra_undefined, ra_moved;
};

struct cie {
	struct cursor program;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool augmented, signal;
};

static uint64_t read_fixed(struct cursor *cursor, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	return value;
}

static uint64_t read_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_fixed(cursor, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

static uint64_t read_uleb(struct cursor *cursor)
{
	return read_leb(cursor, false);
}

static int64_t read_sleb(struct cursor *cursor)
{
	return (int64_t)read_leb(cursor, true);
}

/* A pointer in one of the encodings that .eh_frame uses; only plain and pc-relative ones. */
static uint64_t read_encoded(struct cursor *cursor, uint8_t encoding)
{
	uint64_t base = (encoding & 0x70) == 0x10 ? (uint64_t)(uintptr_t)cursor->at : 0;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return base + read_fixed(cursor, 8);
	case 0x01:
		return base + read_uleb(cursor);
	case 0x02:
		return base + read_fixed(cursor, 2);
	case 0x03:
		return base + read_fixed(cursor, 4);
	case 0x09:
		return base + (uint64_t)read_sleb(cursor);
	case 0x0a:
		return base + (uint64_t)(int16_t)read_fixed(cursor, 2);
	case 0x0b:
		return base + (uint64_t)(int32_t)read_fixed(cursor, 4);
	default:
		cursor->at = cursor->end;
		return 0;
	}
}

/* Of DWARF's expressions. */
enum {
	OP_DEREF = 0x06,
	OP_PLUS = 0x22,
	OP_PLUS_CONSTANT = 0x23,
	OP_LITERAL_0 = 0x30,
	OP_LITERAL_31 = 0x4f,
	OP_BREG6 = 0x76,
};

/* Recognises the expression "register rbp plus an offset". */
static bool is_rbp_expression(struct cursor expression, int64_t *offset)
{
	if (read_fixed(&expression, 1) != OP_BREG6)
		return false;
	*offset = read_sleb(&expression);
	return expression.at == expression.end;
}

/* Recognises "what is stored at register rbp plus an offset", and then perhaps "plus a constant". */
static bool is_stored_expression(struct cursor expression, int64_t *offset, int64_t *addend)
{
	uint64_t op;

	*addend = 0;
	if (read_fixed(&expression, 1) != OP_BREG6)
		return false;
	*offset = read_sleb(&expression);
	if (read_fixed(&expression, 1) != OP_DEREF)
		return false;
	if (expression.at == expression.end)
		return true;
	op = read_fixed(&expression, 1);
	if (op == OP_PLUS_CONSTANT)
		*addend = (int64_t)read_uleb(&expression);
	else if (op >= OP_LITERAL_0 && op <= OP_LITERAL_31 && read_fixed(&expression, 1) == OP_PLUS)
		*addend = (int64_t)(op - OP_LITERAL_0);
	else
		return false;
	return expression.at == expression.end;
}

static struct cursor read_block(struct cursor *cursor)
{
	uint64_t length = read_uleb(cursor);
	struct cursor block = { cursor->at, cursor->at };

	if (length > (uint64_t)(cursor->end - cursor->at))
		length = 0;
	block.end += length;
	cursor->at += length;
	return block;
}

/* @factor of what the tables count in; what they say may be absurd, and is too far away then. */
static int64_t times(const struct cie *cie, int64_t factor)
{
	int64_t product;

	return __builtin_mul_overflow(factor, cie->data_align, &product) ? INT64_MAX : product;
}

static void save_register(struct state *state, uint64_t reg, int64_t offset)
{
	if (reg == REGISTER_RBP) {
		state->fp = MF_FP_AT_CFA;
		state->fp_offset = offset;
		state->fp_unknown = false;
	} else if (reg == REGISTER_RA) {
		state->ra_undefined = false;
		state->ra_moved = offset != -8;
	}
}

static void restore_register(struct state *state, const struct state *initial, uint64_t reg)
{
	if (reg == REGISTER_RBP) {
		state->fp = initial->fp;
		state->fp_offset = initial->fp_offset;
		state->fp_unknown = initial->fp_unknown;
	} else if (reg == REGISTER_RA) {
		state->ra_undefined = initial->ra_undefined;
		state->ra_moved = initial->ra_moved;
	}
}

static void set_expression(struct state *state, uint64_t reg, struct cursor expression, bool is_value)
{
	int64_t offset;

	if (reg == REGISTER_RA) {
		state->ra_moved = true;
	} else if (reg == REGISTER_RBP) {
		state->fp_unknown = is_value || !is_rbp_expression(expression, &offset);
		if (!state->fp_unknown) {
			state->fp = MF_FP_AT_FP;
			state->fp_offset = offset;
		}
	}
}

static void forget_register(struct state *state, uint64_t reg, bool undefined)
{
	if (reg == REGISTER_RA && undefined)
		state->ra_undefined = true;
	else if (reg == REGISTER_RA)
		state->ra_moved = true;
	else if (reg == REGISTER_RBP && !undefined)
		state->fp = MF_FP_KEPT;
}

/* A row ends at @location, which is that of the next; returns whether that is the one of @pc. */
static bool move(struct mf_row *row, uint64_t location, uint64_t pc)
{
	if (location <= pc)
		row->start = location;
	else if (location < row->end)
		row->end = location;
	return location <= pc;
}

/*
 * Runs CFA instructions until the location passes @pc, to where @row ends then. @row NULL: a CIE's,
 * which has no locations.
 */
static void run(struct cursor program, const struct cie *cie, const struct state *initial,
		struct mf_row *row, uint64_t pc, struct state *state)
{
	struct state stack[STATES_MAX];
	unsigned int depth = 0;

	while (program.at < program.end) {
		uint8_t op = (uint8_t)read_fixed(&program, 1);
		uint64_t reg, advance = 0;

		switch (op & 0xc0) {
		case 0x40: /* advance_loc */
			advance = op & 0x3f;
			goto advance_location;
		case 0x80: /* offset */
			save_register(state, op & 0x3f, times(cie, (int64_t)read_uleb(&program)));
			continue;
		case 0xc0: /* restore */
			restore_register(state, initial, op & 0x3f);
			continue;
		}
		switch (op) {
		case 0x00: /* nop */
			break;
		case 0x01: /* set_loc */
			if (!row || !move(row, read_encoded(&program, cie->encoding), pc))
				return;
			break;
		case 0x02: /* advance_loc1, 2, 4 */
		case 0x03:
		case 0x04:
			advance = read_fixed(&program, 1u << (op - 0x02));
advance_location:
			if (!row || !move(row, row->start + advance * cie->code_align, pc))
				return;
			break;
		case 0x05: /* offset_extended */
			reg = read_uleb(&program);
			save_register(state, reg, times(cie, (int64_t)read_uleb(&program)));
			break;
		case 0x06: /* restore_extended */
			restore_register(state, initial, read_uleb(&program));
			break;
		case 0x07: /* undefined */
		case 0x08: /* same_value */
			forget_register(state, read_uleb(&program), op == 0x07);
			break;
		case 0x09: /* register */
			reg = read_uleb(&program);
			read_uleb(&program);
			state->fp_unknown |= reg == REGISTER_RBP;
			state->ra_moved |= reg == REGISTER_RA;
			break;
		case 0x0a: /* remember_state */
			if (depth == STATES_MAX)
				goto unknown;
			stack[depth++] = *state;
			break;
		case 0x0b: /* restore_state */
			if (!depth)
				goto unknown;
			*state = stack[--depth];
			break;
		case 0x0c: /* def_cfa */
			state->cfa_register = read_uleb(&program);
			state->cfa_offset = (int64_t)read_uleb(&program);
			state->cfa_indirect = state->cfa_unknown = false;
			break;
		case 0x0d: /* def_cfa_register */
			state->cfa_register = read_uleb(&program);
			state->cfa_indirect = state->cfa_unknown = false;
			break;
		case 0x0e: /* def_cfa_offset */
			state->cfa_offset = (int64_t)read_uleb(&program);
			break;
		case 0x0f: /* def_cfa_expression */
			state->cfa_indirect = is_stored_expression(read_block(&program), &state->cfa_offset,
								   &state->cfa_addend);
			state->cfa_unknown = !state->cfa_indirect;
			break;
		case 0x10: /* expression */
		case 0x16: /* val_expression */
			reg = read_uleb(&program);
			set_expression(state, reg, read_block(&program), op == 0x16);
			break;
		case 0x11: /* offset_extended_sf */
			reg = read_uleb(&program);
			save_register(state, reg, times(cie, read_sleb(&program)));
			break;
		case 0x12: /* def_cfa_sf */
			state->cfa_register = read_uleb(&program);
			state->cfa_offset = times(cie, read_sleb(&program));
			state->cfa_indirect = state->cfa_unknown = false;
			break;
		case 0x13: /* def_cfa_offset_sf */
			state->cfa_offset = times(cie, read_sleb(&program));
			break;
		case 0x14: /* val_offset, val_offset_sf */
		case 0x15:
			reg = read_uleb(&program);
			read_uleb(&program);
			state->fp_unknown |= reg == REGISTER_RBP;
			state->ra_moved |= reg == REGISTER_RA;
			break;
		case 0x2e: /* GNU_args_size */
			read_uleb(&program);
			break;
		default:
			goto unknown;
		}
	}
	return;
unknown:
	state->cfa_unknown = true;
}

/* The entry at @at behind its length; an empty one if it is none that we know. */
static struct cursor read_entry(const struct mf_rows_object *object, const uint8_t *at)
{
	struct cursor cursor = cursor_in(object, at, 4);
	uint64_t length = read_fixed(&cursor, 4);

	return cursor_in(object, cursor.at, length == 0xffffffff ? 0 : length);
}

static bool read_cie(const struct mf_rows_object *object, const uint8_t *at, struct cie *cie)
{
	struct cursor cursor = read_entry(object, at);
	const char *augmentation;

	if (cursor.at == cursor.end || read_fixed(&cursor, 4) != 0)
		return false;
	read_fixed(&cursor, 1); /* version */
	augmentation = (const char *)cursor.at;
	cursor.at += strnlen(augmentation, (size_t)(cursor.end - cursor.at));
	if (cursor.at == cursor.end)
		return false;
	cursor.at++;
	memset(cie, 0, sizeof(*cie));
	cie->code_align = read_uleb(&cursor);
	cie->data_align = read_sleb(&cursor);
	if (read_uleb(&cursor) != REGISTER_RA)
		return false;
	if (*augmentation == 'z') {
		struct cursor data = read_block(&cursor);

		cie->augmented = true;
		for (augmentation++; *augmentation; augmentation++) {
			if (*augmentation == 'R')
				cie->encoding = (uint8_t)read_fixed(&data, 1);
			else if (*augmentation == 'P')
				read_encoded(&data, (uint8_t)read_fixed(&data, 1));
			else if (*augmentation == 'L')
				read_fixed(&data, 1);
			else if (*augmentation == 'S')
				cie->signal = true;
		}
	} else if (*augmentation) {
		return false;
	}
	cie->program = cursor;
	return true;
}

/*
 * Searches the sorted table of .eh_frame_hdr for the FDE whose code begins at or before @pc. Returns
 * MF_CFA_SP with it in *@fde; MF_CFA_NONE if all code that has an FDE lies behind @pc, or no code has one;
 * MF_CFA_UNKNOWN if the table has a form that we do not read.
 */
static enum mf_cfa_kind search_table(const struct mf_rows_object *object, uint64_t pc,
				     const uint8_t **fde)
{
	const uint8_t *header = object->header;
	struct cursor cursor = cursor_in(object, header, UINT64_MAX);
	int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)header);
	struct {
		int32_t location, fde;
	} entry;
	uint64_t count, low = 0, high;

	if (cursor.end - cursor.at < 4 || header[0] != 1 || header[2] == ENCODING_OMITTED ||
	    header[3] != ENCODING_TABLE)
		return MF_CFA_UNKNOWN;
	cursor.at += 4;
	read_encoded(&cursor, header[1]);
	count = read_encoded(&cursor, header[2]);
	if (count > (uint64_t)(cursor.end - cursor.at) / sizeof(entry))
		return MF_CFA_UNKNOWN;
	for (high = count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(&entry, cursor.at + middle * sizeof(entry), sizeof(entry));
		if (entry.location <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return MF_CFA_NONE;
	memcpy(&entry, cursor.at + (low - 1) * sizeof(entry), sizeof(entry));
	*fde = header + entry.fde;
	return MF_CFA_SP;
}

static bool fits(int64_t value, int64_t least, int64_t most)
{
	return value >= least && value <= most;
}

static struct mf_cfi_rule rule_of(const struct state *state)
{
	struct mf_cfi_rule rule = { .cfa = MF_CFA_UNKNOWN };

	if (state->ra_undefined) {
		rule.cfa = MF_CFA_END;
		return rule;
	}
	if (state->cfa_unknown || state->fp_unknown || state->ra_moved ||
	    !fits(state->cfa_offset, INT32_MIN, INT32_MAX) ||
	    (state->cfa_indirect && state->cfa_addend &&
	     (state->cfa_offset || !fits(state->cfa_addend, INT32_MIN, INT32_MAX))) ||
	    !fits(state->fp_offset, INT16_MIN, INT16_MAX))
		return rule;
	if (state->cfa_indirect)
		rule.cfa = state->cfa_addend ? MF_CFA_FP_LINK : MF_CFA_FP_INDIRECT;
	else if (state->cfa_register == REGISTER_RSP)
		rule.cfa = MF_CFA_SP;
	else if (state->cfa_register == REGISTER_RBP)
		rule.cfa = MF_CFA_FP;
	else
		return rule;
	rule.cfa_offset = (int32_t)(rule.cfa == MF_CFA_FP_LINK ? state->cfa_addend : state->cfa_offset);
	rule.fp = (uint8_t)state->fp;
	rule.fp_offset = state->fp == MF_FP_KEPT ? 0 : (int16_t)state->fp_offset;
	return rule;
}

/*
 * Code that says it was interrupted. What the kernel returns to has an expression for where all of it
 * lies; anything else, as a jump that stands for an instruction, a full interpreter can tell.
 */
static struct mf_cfi_rule signal_rule(const struct state *state)
{
	return (struct mf_cfi_rule){ .cfa = state->cfa_unknown ? MF_CFA_SIGNAL : MF_CFA_UNKNOWN };
}

/* The description of the code at @pc or of the last before it, read as far as its instructions. */
struct description {
	struct cie cie;
	struct cursor program;
	uint64_t begin, size;
};

/* Reads the FDE at @fde, behind its length and as far as its instructions. False: it makes no sense to us. */
static bool read_description(const struct mf_rows_object *object, const uint8_t *fde, struct description *found)
{
	const uint8_t *cie;

	found->program = read_entry(object, fde);
	/* The distance of the CIE, from here. */
	cie = found->program.at;
	cie -= read_fixed(&found->program, 4);
	if (!read_cie(object, cie, &found->cie))
		return false;
	found->begin = read_encoded(&found->program, found->cie.encoding);
	found->size = read_encoded(&found->program, found->cie.encoding & 0x0f);
	return true;
}

/* Looks at one entry of .eh_frame after the other: slow, for the few objects that have no index. */
static enum mf_cfa_kind search_frames(const struct mf_rows_object *object, uint64_t pc, struct description *found)
{
	struct cursor cursor = cursor_in(object, object->frames, object->frames_size);
	enum mf_cfa_kind kind = MF_CFA_NONE;

	while (cursor.end - cursor.at >= 8) {
		const uint8_t *at = cursor.at;
		uint64_t length = read_fixed(&cursor, 4), id;
		struct description description;

		if (length == 0xffffffff)
			return kind == MF_CFA_NONE ? MF_CFA_UNKNOWN : kind;
		/* An end, behind which the linker may have put more. */
		if (!length)
			continue;
		if (length > (uint64_t)(cursor.end - cursor.at))
			break;
		id = length < 4 ? 0 : read_fixed(&(struct cursor){ cursor.at, cursor.end }, 4);
		cursor.at += length;
		if (!id || !read_description(object, at, &description) || description.begin > pc ||
		    (kind == MF_CFA_SP && description.begin <= found->begin))
			continue;
		*found = description;
		kind = MF_CFA_SP;
		if (pc - found->begin < found->size)
			break;
	}
	return kind;
}

static enum mf_cfa_kind find_description(const struct mf_rows_object *object, uint64_t pc,
					 struct description *found)
{
	const uint8_t *fde;
	enum mf_cfa_kind kind;

	if (!object->header)
		return object->frames ? search_frames(object, pc, found) : MF_CFA_NONE;
	kind = search_table(object, pc, &fde);
	if (kind != MF_CFA_SP)
		return kind;
	return read_description(object, fde, found) ? MF_CFA_SP : MF_CFA_UNKNOWN;
}

bool mf_rows_is_start(const struct mf_rows_object *object, uint64_t pc)
{
	struct description found;

	return find_description(object, pc, &found) == MF_CFA_SP && found.begin == pc;
}

struct mf_row mf_rows_find(const struct mf_rows_object *object, uint64_t pc)
{
	struct state state = { 0 }, initial;
	struct description found;
	struct mf_row row = { .rule.cfa = (uint8_t)find_description(object, pc, &found) };

	if (row.rule.cfa != MF_CFA_SP)
		return row;
	row.rule.cfa = MF_CFA_NONE;
	if (pc < found.begin || pc - found.begin >= found.size)
		return row;
	row.start = found.begin;
	row.end = found.begin + found.size;
	if (found.cie.augmented)
		read_block(&found.program);

	run(found.cie.program, &found.cie, &state, NULL, 0, &state);
	initial = state;
	run(found.program, &found.cie, &initial, &row, pc, &state);
	row.rule = found.cie.signal ? signal_rule(&state) : rule_of(&state);
	return row;
}
