/* SPDX-License-Identifier: GPL-2.0 */
/* Decodes a machine instruction: its length, and which parts depend on its address. */
#ifndef MASSIF_PRELOAD_INSTRUCTION_H
#define MASSIF_PRELOAD_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_INSTRUCTION_MAX 15u /* length in bytes of the longest instruction */

enum mf_flow {
	MF_FLOW_ON,	       /* execution continues with the next instruction */
	MF_FLOW_BRANCH,	       /* conditional jump to a relative address */
	MF_FLOW_SHORT_BRANCH,  /* conditional jump that can only be encoded with an 8-bit displacement */
	MF_FLOW_JUMP,	       /* jump to a relative address */
	MF_FLOW_CALL,	       /* call to a relative address */
	MF_FLOW_INDIRECT_CALL, /* call to an address in a register or memory */
	MF_FLOW_AWAY,	       /* execution does not continue: return, indirect jump or trap */
};

struct mf_instruction {
	enum mf_flow flow;
	uint8_t length;
	uint8_t near_offset;  /* offset of the 4-byte RIP-relative displacement; 0 if there is none */
	uint8_t opcode_offset; /* offset of the opcode's last byte; operands follow it */
	bool is_padding;      /* a no-op, or an instruction that compilers emit only as padding */
	int64_t distance;     /* distance from the instruction's end to the target of a relative jump or call */
};

/*
 * Decodes the instruction at @code; @size bytes may be read. Returns false if the instruction is invalid or one that
 * compilers do not generate in functions, or if there is no decoder for this processor.
 */
bool mf_instruction_read(const uint8_t *code, size_t size, struct mf_instruction *instruction);

#endif
