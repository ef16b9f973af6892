/* SPDX-License-Identifier: GPL-2.0 */
/* A machine instruction: how long it is, and what in it depends on where it is. */
#ifndef MASSIF_PRELOAD_INSTRUCTION_H
#define MASSIF_PRELOAD_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_INSTRUCTION_MAX 15u /* bytes */

enum mf_flow {
	MF_FLOW_ON,	       /* to the next instruction, as far as it shows */
	MF_FLOW_BRANCH,	       /* to a place beside it, or on */
	MF_FLOW_SHORT_BRANCH,  /* the same, where there is no form that reaches further */
	MF_FLOW_JUMP,	       /* to a place beside it */
	MF_FLOW_CALL,	       /* the same, and back */
	MF_FLOW_INDIRECT_CALL, /* to where a word says, and back */
	MF_FLOW_AWAY,	       /* does not go on: returns, jumps to where a word says, traps */
};

struct mf_instruction {
	enum mf_flow flow;
	uint8_t length;
	uint8_t near_offset;  /* of 4 bytes: a distance from the instruction's end to data; 0: none */
	uint8_t opcode_offset; /* of the last byte of the opcode; the operands' first follows */
	bool is_padding;      /* does nothing, or is none that a compiler lets run */
	int64_t distance;     /* to the place beside it, from the instruction's end */
};

/*
 * Reads the instruction at @code, of which @size bytes may be read. False: it is none, or one that a
 * compiler does not make of a function, or there is no decoder for this machine.
 */
bool mf_instruction_read(const uint8_t *code, size_t size, struct mf_instruction *instruction);

#endif
