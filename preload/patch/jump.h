/* SPDX-License-Identifier: GPL-2.0 */
/* Encodes the processor's jump instructions. */
#ifndef MASSIF_PRELOAD_JUMP_H
#define MASSIF_PRELOAD_JUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * A near jump takes MF_JUMP_BYTES and reaches MF_JUMP_REACH bytes in both directions. A far jump takes
 * MF_JUMP_FAR_BYTES and reaches any address. Neither changes a register or flag that a function's caller could rely
 * on. MF_JUMP_BYTES is 0 on processors for which there is no encoder.
 */
#if defined(__x86_64__)

#define MF_JUMP_BYTES	  5u
#define MF_JUMP_REACH	  0x7fff0000ull
#define MF_JUMP_FAR_BYTES 14u

/* jmp @to */
static inline void mf_jump_encode(uint8_t *bytes, uint64_t at, uint64_t to)
{
	uint32_t distance = (uint32_t)(to - (at + MF_JUMP_BYTES));

	bytes[0] = 0xe9;
	memcpy(bytes + 1, &distance, sizeof(distance));
}

/* jmp *0(%rip), followed by the address */
static inline void mf_jump_encode_far(uint8_t *bytes, uint64_t to)
{
	static const uint8_t code[] = { 0xff, 0x25, 0, 0, 0, 0 };

	memcpy(bytes, code, sizeof(code));
	memcpy(bytes + sizeof(code), &to, sizeof(to));
}

#else

#define MF_JUMP_BYTES	  0u
#define MF_JUMP_REACH	  0ull
#define MF_JUMP_FAR_BYTES 0u

static inline void mf_jump_encode(uint8_t *bytes, uint64_t at, uint64_t to)
{
}

static inline void mf_jump_encode_far(uint8_t *bytes, uint64_t to)
{
}

#endif

static inline bool mf_jump_reaches(uint64_t at, uint64_t to)
{
	return (to > at ? to - at : at - to) <= MF_JUMP_REACH;
}

#endif
