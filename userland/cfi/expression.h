/* SPDX-License-Identifier: GPL-2.0 */
/* DWARF's expressions, as unwind rules have them. */
#ifndef MASSIF_UNWIND_EXPRESSION_H
#define MASSIF_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

#define MF_EXPRESSION_STACK_MAX 64u   /* values on an expression's stack */
#define MF_EXPRESSION_STEPS_MAX 1000u /* operations: there may be loops */

/* Registers by DWARF's numbers: 0 to 15, and the return address. */
#define MF_EXPRESSION_REGISTERS 17u

struct mf_expression_registers {
	uint64_t value[MF_EXPRESSION_REGISTERS];
	uint32_t known; /* a bit each */
};

/* Reads the word at @address. False: it cannot be read. */
typedef bool mf_expression_read(uint64_t address, uint64_t *word, void *data);

/*
 * What @expression gives. @first: the value that its stack begins with; NULL: none. False if it makes no sense, is too
 * long, or needs a register that is not known or memory that cannot be read.
 */
bool mf_expression_evaluate(struct mf_dwarf expression, const uint64_t *first,
			    const struct mf_expression_registers *registers, mf_expression_read *read, void *data,
			    uint64_t *value);

#endif
