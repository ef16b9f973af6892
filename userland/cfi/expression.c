// SPDX-License-Identifier: GPL-2.0
// Evaluates DWARF expressions (DWARF 5, section 2.5). Supports only the operations that may occur in unwind rules.

#include "expression.h"

#include <dwarf.h>

struct machine {
	struct mf_dwarf code;
	const uint8_t *start; /* first byte of the expression */
	const struct mf_expression_registers *registers;
	mf_expression_read *read;
	void *data;
	unsigned int n;
	uint64_t stack[MF_EXPRESSION_STACK_MAX];
};

static bool push(struct machine *machine, uint64_t value)
{
	if (machine->n == MF_EXPRESSION_STACK_MAX)
		return false;
	machine->stack[machine->n++] = value;
	return true;
}

static bool pop(struct machine *machine, uint64_t *value)
{
	if (!machine->n)
		return false;
	*value = machine->stack[--machine->n];
	return true;
}

static bool push_register(struct machine *machine, uint64_t number, int64_t offset)
{
	if (number >= MF_EXPRESSION_REGISTERS || !(machine->registers->known >> number & 1))
		return false;
	return push(machine, machine->registers->value[number] + (uint64_t)offset);
}

/* Pushes a copy of the value @depth entries below the top. */
static bool pick(struct machine *machine, uint64_t depth)
{
	return depth < machine->n && push(machine, machine->stack[machine->n - 1 - depth]);
}

static bool dereference(struct machine *machine, uint64_t size)
{
	uint64_t address, word;

	if (!size || size > 8 || !pop(machine, &address) || !machine->read(address, &word, machine->data))
		return false;
	return push(machine, size == 8 ? word : word & ((1ull << 8 * size) - 1));
}

static bool jump(struct machine *machine, int16_t distance)
{
	if (distance < machine->start - machine->code.at || distance > machine->code.end - machine->code.at)
		return false;
	machine->code.at += distance;
	return true;
}

static bool rotate(struct machine *machine)
{
	uint64_t *top = machine->stack + machine->n, first;

	if (machine->n < 3)
		return false;
	first = top[-1];
	top[-1] = top[-2];
	top[-2] = top[-3];
	top[-3] = first;
	return true;
}

/* Performs an operation on two operands. Division and comparisons are signed. Fails where the processor would trap. */
static bool combine(uint8_t op, uint64_t a, uint64_t b, uint64_t *result)
{
	int64_t left = (int64_t)a, right = (int64_t)b;

	switch (op) {
	case DW_OP_and: *result = a & b; return true;
	case DW_OP_or: *result = a | b; return true;
	case DW_OP_xor: *result = a ^ b; return true;
	case DW_OP_plus: *result = a + b; return true;
	case DW_OP_minus: *result = a - b; return true;
	case DW_OP_mul: *result = a * b; return true;
	case DW_OP_div:
		if (!right)
			return false;
		*result = right == -1 ? 0 - a : (uint64_t)(left / right);
		return true;
	case DW_OP_mod:
		if (!b)
			return false;
		*result = a % b;
		return true;
	case DW_OP_shl: *result = b < 64 ? a << b : 0; return true;
	case DW_OP_shr: *result = b < 64 ? a >> b : 0; return true;
	case DW_OP_shra: *result = (uint64_t)(left >> (b < 63 ? b : 63)); return true;
	case DW_OP_eq: *result = left == right; return true;
	case DW_OP_ge: *result = left >= right; return true;
	case DW_OP_gt: *result = left > right; return true;
	case DW_OP_le: *result = left <= right; return true;
	case DW_OP_lt: *result = left < right; return true;
	case DW_OP_ne: *result = left != right; return true;
	default: return false;
	}
}

static bool change_top(struct machine *machine, uint8_t op)
{
	uint64_t value;

	if (!pop(machine, &value))
		return false;
	switch (op) {
	case DW_OP_abs: return push(machine, value >> 63 ? 0 - value : value);
	case DW_OP_neg: return push(machine, 0 - value);
	case DW_OP_not: return push(machine, ~value);
	default: return push(machine, value + mf_dwarf_uleb(&machine->code)); /* DW_OP_plus_uconst */
	}
}

static bool step(struct machine *machine)
{
	struct mf_dwarf *code = &machine->code;
	uint8_t op = (uint8_t)mf_dwarf_fixed(code, 1);
	uint64_t a, b, number;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(machine, op - DW_OP_lit0);
	if (op >= DW_OP_reg0 && op <= DW_OP_reg31)
		return push_register(machine, op - DW_OP_reg0, 0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_register(machine, op - DW_OP_breg0, mf_dwarf_sleb(code));
	switch (op) {
	case DW_OP_nop:
		return true;
	case DW_OP_regx:
		return push_register(machine, mf_dwarf_uleb(code), 0);
	case DW_OP_bregx:
		number = mf_dwarf_uleb(code);
		return push_register(machine, number, mf_dwarf_sleb(code));
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		return push(machine, mf_dwarf_fixed(code, 8));
	case DW_OP_const1u:
		return push(machine, mf_dwarf_fixed(code, 1));
	case DW_OP_const1s:
		return push(machine, (uint64_t)(int8_t)mf_dwarf_fixed(code, 1));
	case DW_OP_const2u:
		return push(machine, mf_dwarf_fixed(code, 2));
	case DW_OP_const2s:
		return push(machine, (uint64_t)(int16_t)mf_dwarf_fixed(code, 2));
	case DW_OP_const4u:
		return push(machine, mf_dwarf_fixed(code, 4));
	case DW_OP_const4s:
		return push(machine, (uint64_t)(int32_t)mf_dwarf_fixed(code, 4));
	case DW_OP_constu:
		return push(machine, mf_dwarf_uleb(code));
	case DW_OP_consts:
		return push(machine, (uint64_t)mf_dwarf_sleb(code));
	case DW_OP_deref:
		return dereference(machine, 8);
	case DW_OP_deref_size:
		return dereference(machine, mf_dwarf_fixed(code, 1));
	case DW_OP_dup:
		return pick(machine, 0);
	case DW_OP_over:
		return pick(machine, 1);
	case DW_OP_pick:
		return pick(machine, mf_dwarf_fixed(code, 1));
	case DW_OP_drop:
		return pop(machine, &a);
	case DW_OP_swap:
		return pop(machine, &a) && pop(machine, &b) && push(machine, a) && push(machine, b);
	case DW_OP_rot:
		return rotate(machine);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return change_top(machine, op);
	case DW_OP_skip:
		return jump(machine, (int16_t)mf_dwarf_fixed(code, 2));
	case DW_OP_bra:
		number = mf_dwarf_fixed(code, 2);
		return pop(machine, &a) && (!a || jump(machine, (int16_t)number));
	default:
		return pop(machine, &b) && pop(machine, &a) && combine(op, a, b, &a) && push(machine, a);
	}
}

bool mf_expression_evaluate(struct mf_dwarf expression, const uint64_t *first,
			    const struct mf_expression_registers *registers, mf_expression_read *read, void *data,
			    uint64_t *value)
{
	struct machine machine;
	unsigned int steps = 0;

	machine.code = expression;
	machine.start = expression.at;
	machine.registers = registers;
	machine.read = read;
	machine.data = data;
	machine.n = 0;
	if (first)
		push(&machine, *first);
	while (machine.code.at < machine.code.end)
		if (steps++ == MF_EXPRESSION_STEPS_MAX || !step(&machine))
			return false;
	return pop(&machine, value);
}
