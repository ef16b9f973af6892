/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks which call frame instructions are safe to pass to libunwind. libunwind was not written for hostile input: an
 * endless loop in an expression makes it hang, it uses unchecked register numbers as array indexes, and it sets no
 * limit on the number of remembered states.
 */
#ifndef MASSIF_CFI_CHECK_H
#define MASSIF_CFI_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

/* maximum size in bytes of one function's instructions; the largest ever seen is 10 KiB */
#define MF_CFI_PROGRAM_MAX 65536u
#define MF_CFI_REMEMBERED_MAX 16u /* maximum number of states remembered at once (DW_CFA_remember_state) */

enum mf_cfi_kind {
	MF_CFI_PLAIN,	/* an instruction that is safe for libunwind and does not change the row's code address */
	MF_CFI_ADVANCE, /* an instruction that adds @operand, in units of the code alignment, to the code address */
	MF_CFI_SET_LOC, /* DW_CFA_set_loc; its operand, an address encoded like those in FDEs, is still to be read */
	MF_CFI_STOP,	/* MF_CFI_STOP_OPCODE, which we put in place of an instruction that is not safe for libunwind */
	MF_CFI_UNSAFE,	/* an instruction that is unknown, truncated, or not safe for libunwind */
};

/* DW_CFA_lo_user, which libunwind rejects. In our format (index.h), it replaces an unsafe instruction. */
#define MF_CFI_STOP_OPCODE 0x1cu

struct mf_cfi_instruction {
	enum mf_cfi_kind kind;
	uint64_t operand;
};

/*
 * Reads the next instruction of @program, which must not be at its end. @remembered is the number of currently
 * remembered states; set it to 0 before the first instruction.
 */
struct mf_cfi_instruction mf_cfi_next(struct mf_dwarf *program, uint32_t *remembered);

/*
 * Returns whether the instructions in @program, which are in the format of index.h, are safe up to their end or up to
 * MF_CFI_STOP_OPCODE.
 */
bool mf_cfi_is_safe(struct mf_dwarf program);

/*
 * Read or skip a LEB128 number. If it has more bytes than 64 bits need, @overrun is set, because libunwind might decode
 * it differently.
 */
uint64_t mf_cfi_uleb(struct mf_dwarf *reader);
void mf_cfi_skip_leb(struct mf_dwarf *reader);

#endif
