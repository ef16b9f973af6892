// SPDX-License-Identifier: GPL-2.0
// Determines the length of a machine instruction, using the opcode maps in volume 2 of Intel's manual. 64-bit mode
// only.
//
// The tables say what follows an opcode: whether there is a ModRM byte, and the size of an immediate. Instructions
// that are not in the tables (privileged, 16-bit or obsolete ones) are refused, so a result is always reliable.

#include "instruction.h"

#include <string.h>

#ifdef __x86_64__

/* The operand bytes that follow an opcode. */
enum form {
	NONE = 0,  /* unsupported opcode; also the default for opcodes that a table omits */
	PLAIN = 1, /* no operand bytes */
	IMM8 = 2,
	IMM16 = 3,
	IMMZ = 4, /* an immediate of 4 bytes, or 2 with an operand size prefix */
	IMMV = 5, /* an immediate of 4 bytes, 2 with an operand size prefix, or 8 with REX.W */
	OFFS = 6, /* an 8-byte address */
	ENTR = 7, /* the 3 bytes of operands of enter */
	REL8 = 8,
	RELZ = 9, /* a jump distance of 4 bytes */
	FORM = 15,
	MODRM = 16,
	GROUP3 = 32, /* there is an immediate only if the ModRM byte selects the TEST instruction */
};

#define M  (MODRM | PLAIN)
#define MB (MODRM | IMM8)
#define MZ (MODRM | IMMZ)

#define ALU	 M, M, M, M, IMM8, IMMZ, NONE, NONE
#define EIGHT(x) x, x, x, x, x, x, x, x

static const uint8_t one_byte[256] = {
	ALU, ALU, ALU, ALU, ALU, ALU, ALU, ALU, /* opcodes 00-3f */
	EIGHT(NONE), EIGHT(NONE), /* opcodes 40-4f: REX prefixes */
	EIGHT(PLAIN), EIGHT(PLAIN), /* opcodes 50-5f */
	NONE, NONE, NONE, M, NONE, NONE, NONE, NONE, /* opcodes 60-6f */
	IMMZ, MZ, IMM8, MB, PLAIN, PLAIN, PLAIN, PLAIN,
	EIGHT(REL8), EIGHT(REL8), /* opcodes 70-7f */
	MB, MZ, NONE, MB, M, M, M, M, EIGHT(M), /* opcodes 80-8f */
	EIGHT(PLAIN), PLAIN, PLAIN, NONE, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, /* opcodes 90-9f */
	OFFS, OFFS, OFFS, OFFS, PLAIN, PLAIN, PLAIN, PLAIN, /* opcodes a0-af */
	IMM8, IMMZ, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN,
	EIGHT(IMM8), EIGHT(IMMV), /* opcodes b0-bf */
	MB, MB, IMM16, PLAIN, NONE, NONE, MB, MZ, /* opcodes c0-cf */
	ENTR, PLAIN, NONE, NONE, PLAIN, IMM8, NONE, NONE,
	M, M, M, M, NONE, NONE, NONE, PLAIN, EIGHT(M), /* opcodes d0-df */
	REL8, REL8, REL8, REL8, NONE, NONE, NONE, NONE, /* opcodes e0-ef */
	RELZ, RELZ, NONE, REL8, NONE, NONE, NONE, NONE,
	NONE, NONE, NONE, NONE, PLAIN, PLAIN, GROUP3 | MODRM | IMM8, GROUP3 | MODRM | IMMZ, /* opcodes f0-ff */
	PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, M, M,
};
/* Two-byte opcodes (0f xx), indexed by the second byte. */
static const uint8_t two_bytes[256] = {
	M, M, M, M, NONE, PLAIN, NONE, NONE, NONE, NONE, NONE, PLAIN, NONE, M, NONE, NONE, /* second byte 00-0f */
	EIGHT(M), EIGHT(M), /* second byte 10-1f */
	NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, EIGHT(M), /* second byte 20-2f */
	NONE, PLAIN, NONE, NONE, NONE, NONE, NONE, NONE, EIGHT(NONE), /* second byte 30-3f */
	EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), /* second byte 40-6f */
	MB, MB, MB, MB, M, M, M, PLAIN, NONE, NONE, NONE, NONE, M, M, M, M, /* second byte 70-7f */
	EIGHT(RELZ), EIGHT(RELZ), /* second byte 80-8f */
	EIGHT(M), EIGHT(M), /* second byte 90-9f */
	PLAIN, PLAIN, PLAIN, M, MB, M, NONE, NONE, PLAIN, PLAIN, NONE, M, MB, M, M, M, /* second byte a0-af */
	EIGHT(M), M, M, MB, M, M, M, M, M, /* second byte b0-bf */
	M, M, MB, M, MB, MB, MB, M, EIGHT(PLAIN), /* second byte c0-cf */
	EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), EIGHT(M), /* second byte d0-ff */
};

/* Decoder state for one instruction. */
struct reader {
	const uint8_t *code;
	size_t size, at;
	bool operand_size, wide; /* has prefix 66; has REX.W */
	bool repeats, odd;	 /* has prefix f2 or f3; has prefix 67, which changes the address size */
	uint8_t modrm;
	uint8_t near_offset;
};

static bool take(struct reader *reader, uint8_t *byte)
{
	if (reader->at >= reader->size || reader->at >= MF_INSTRUCTION_MAX)
		return false;
	*byte = reader->code[reader->at++];
	return true;
}

/* Reads the prefixes, including REX. Sets *@opcode to the first byte after them. */
static bool read_prefixes(struct reader *reader, uint8_t *opcode)
{
	for (;;) {
		if (!take(reader, opcode))
			return false;
		switch (*opcode) {
		case 0x66:
			reader->operand_size = true;
			break;
		case 0xf2:
		case 0xf3:
			reader->repeats = true;
			break;
		case 0x67:
			reader->odd = true;
			break;
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0xf0:
			break;
		default:
			if ((*opcode & 0xf0) != 0x40)
				return true;
			reader->wide = *opcode & 8;
			return take(reader, opcode) && (*opcode & 0xf0) != 0x40;
		}
	}
}

/*
 * Returns the form of @opcode (which operand bytes follow it) in opcode map @map, the map that a VEX or EVEX prefix
 * selects.
 */
static uint8_t form_of_vector(uint32_t map, uint8_t opcode)
{
	switch (map) {
	case 1:
		/*
		 * With a VEX or EVEX prefix, an opcode has an immediate if it also has one without the prefix; see
		 * two_bytes[].
		 */
		if (opcode == 0x77)
			return PLAIN;
		return (two_bytes[opcode] & FORM) == IMM8 && opcode != 0xa4 && opcode != 0xac &&
				       opcode != 0xba ?
			       MB :
			       M;
	case 2:
	case 5:
	case 6:
		return M;
	case 3:
		return MB;
	}
	return NONE;
}

/* Reads the remaining bytes of a VEX or EVEX prefix, and the opcode. */
static uint8_t read_vector(struct reader *reader, uint8_t prefix)
{
	uint32_t n = prefix == 0xc5 ? 1 : prefix == 0xc4 ? 2 : 3, map = 1;
	uint8_t byte, opcode;

	for (uint32_t i = 0; i < n; i++) {
		if (!take(reader, &byte))
			return NONE;
		if (i == 0 && prefix != 0xc5)
			map = byte & (prefix == 0xc4 ? 31 : 7);
	}
	if (!take(reader, &opcode) || (prefix == 0xc4 && map > 3))
		return NONE;
	return form_of_vector(map, opcode);
}

/* Reads the rest of an opcode that begins with 0f, and sets *@opcode to its last byte. */
static uint8_t read_escape(struct reader *reader, uint8_t *opcode, uint32_t *map)
{
	*map = 1;
	if (!take(reader, opcode))
		return NONE;
	if (*opcode == 0x38 || *opcode == 0x3a) {
		*map = *opcode == 0x38 ? 2 : 3;
		return take(reader, opcode) ? (*map == 2 ? M : MB) : NONE;
	}
	return two_bytes[*opcode];
}

static bool skip(struct reader *reader, size_t n)
{
	reader->at += n;
	return reader->at <= reader->size && reader->at <= MF_INSTRUCTION_MAX;
}

static bool read_modrm(struct reader *reader)
{
	uint32_t mode, base;
	uint8_t sib;

	if (!take(reader, &reader->modrm))
		return false;
	mode = reader->modrm >> 6;
	base = reader->modrm & 7;
	if (mode == 3)
		return true;
	if (mode == 0 && base == 5) {
		reader->near_offset = (uint8_t)reader->at;
		return !reader->odd && skip(reader, 4);
	}
	if (base == 4) {
		if (!take(reader, &sib))
			return false;
		base = sib & 7;
	}
	if (mode == 0)
		return base != 5 || skip(reader, 4);
	return skip(reader, mode == 1 ? 1 : 4);
}

static size_t immediate_bytes(const struct reader *reader, uint8_t form)
{
	size_t z = reader->operand_size && !reader->wide ? 2 : 4;

	if (form & GROUP3 && reader->modrm >> 3 & 6)
		return 0;
	switch (form & FORM) {
	case IMM8:
	case REL8:
		return 1;
	case IMM16:
		return 2;
	case ENTR:
		return 3;
	case IMMZ:
		return z;
	case IMMV:
		return reader->wide ? 8 : z;
	case OFFS:
		return 8;
	case RELZ:
		return 4;
	}
	return 0;
}

static enum mf_flow flow_of_one(uint8_t opcode, uint8_t modrm)
{
	switch (opcode) {
	case 0xe8:
		return MF_FLOW_CALL;
	case 0xe9:
	case 0xeb:
		return MF_FLOW_JUMP;
	case 0xe0: case 0xe1: case 0xe2: case 0xe3:
		return MF_FLOW_SHORT_BRANCH;
	case 0xc2: case 0xc3: case 0xcc: case 0xf4:
		return MF_FLOW_AWAY;
	case 0xff:
		switch (modrm >> 3 & 7) {
		case 2: case 3:
			return MF_FLOW_INDIRECT_CALL;
		case 4: case 5:
			return MF_FLOW_AWAY;
		}
	}
	return (opcode & 0xf0) == 0x70 ? MF_FLOW_BRANCH : MF_FLOW_ON;
}

static enum mf_flow flow_of_two(uint8_t opcode)
{
	if (opcode == 0x0b) /* the instruction ud2, a trap */
		return MF_FLOW_AWAY;
	return (opcode & 0xf0) == 0x80 ? MF_FLOW_BRANCH : MF_FLOW_ON;
}

static int64_t distance_at(const uint8_t *end, size_t bytes)
{
	int32_t distance;

	if (bytes == 1)
		return (int8_t)end[-1];
	memcpy(&distance, end - sizeof(distance), sizeof(distance));
	return distance;
}

bool mf_instruction_read(const uint8_t *code, size_t size, struct mf_instruction *instruction)
{
	struct reader reader = { .code = code, .size = size };
	uint32_t map = 0;
	uint8_t opcode, form;
	size_t bytes;

	if (!read_prefixes(&reader, &opcode))
		return false;
	if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62) {
		map = 4; /* a vector instruction: only its length matters */
		form = read_vector(&reader, opcode);
	} else if (opcode == 0x0f) {
		form = read_escape(&reader, &opcode, &map);
	} else {
		form = one_byte[opcode];
	}
	*instruction = (struct mf_instruction){ .opcode_offset = (uint8_t)(reader.at - 1) };
	if ((form & FORM) == NONE || ((form & FORM) == OFFS && reader.odd))
		return false;
	if (form & MODRM && !read_modrm(&reader))
		return false;
	/*
	 * Refuse AMD-only encodings (variants of 0f 78, and the XOP prefix 8f), and xbegin (c7 f8), which has a
	 * displacement but is not a branch.
	 */
	if ((map == 1 && opcode == 0x78 && (reader.operand_size || reader.repeats)) ||
	    (!map && opcode == 0x8f && reader.modrm & 0x38) ||
	    (!map && opcode == 0xc7 && reader.modrm == 0xf8))
		return false;
	/* Refuse the prefix 66 on a near jump or call: processors disagree about its meaning. */
	if ((form & FORM) == RELZ && reader.operand_size && !reader.wide)
		return false;
	bytes = immediate_bytes(&reader, form);
	if (!skip(&reader, bytes))
		return false;
	instruction->length = (uint8_t)reader.at;
	instruction->near_offset = reader.near_offset;
	if (map == 0)
		instruction->flow = flow_of_one(opcode, reader.modrm);
	else if (map == 1)
		instruction->flow = flow_of_two(opcode);
	if ((form & FORM) == REL8 || (form & FORM) == RELZ)
		instruction->distance = distance_at(code + reader.at, bytes);
	instruction->is_padding = (map == 0 && (opcode == 0x90 || opcode == 0xcc) && !reader.wide) ||
				  (map == 1 && opcode == 0x1f);
	return true;
}

#else

bool mf_instruction_read(const uint8_t *code, size_t size, struct mf_instruction *instruction)
{
	return false;
}

#endif
