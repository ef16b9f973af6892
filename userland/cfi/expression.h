/* SPDX-License-Identifier: GPL-2.0 */
/* Evaluates the DWARF expressions that occur in unwind rules. */
#ifndef MASSIF_CFI_EXPRESSION_H
#define MASSIF_CFI_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf.h"

#define MF_EXPRESSION_STACK_MAX 64u   /* maximum depth of the expression's stack */
#define MF_EXPRESSION_STEPS_MAX 1000u /* maximum number of operations executed, since expressions may loop */

/* Registers indexed by DWARF number: 0 to 15, and the return address. */
#define MF_EXPRESSION_REGISTERS 17u

struct mf_expression_registers {
	uint64_t value[MF_EXPRESSION_REGISTERS];
	uint32_t known; /* one bit per register, set if its value is known */
};

/* Reads the word at @address. Returns false if it is not readable. */
typedef bool mf_expression_read(uint64_t address, uint64_t *word, void *data);

/*
 * Evaluates @expression. If @first is not NULL, *@first is pushed before the evaluation starts. Returns false if the
 * expression is invalid or too long, or needs an unknown register or unreadable memory.
 */
bool mf_expression_evaluate(struct mf_dwarf expression, const uint64_t *first,
			    const struct mf_expression_registers *registers, mf_expression_read *read, void *data,
			    uint64_t *value);

#endif
