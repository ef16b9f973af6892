// SPDX-License-Identifier: GPL-2.0
// DWARF's expressions (DWARF 5, section 2.5), as far as unwind rules may have them.

#include "expression.h"

enum {
	OP_ADDR = 0x03, OP_DEREF = 0x06,
	OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U, OP_CONST4S, OP_CONST8U, OP_CONST8S,
	OP_CONSTU, OP_CONSTS,
	OP_DUP = 0x12, OP_DROP, OP_OVER, OP_PICK, OP_SWAP, OP_ROT,
	OP_ABS = 0x19, OP_AND, OP_DIV, OP_MINUS, OP_MOD, OP_MUL, OP_NEG, OP_NOT, OP_OR, OP_PLUS, OP_PLUS_UCONST,
	OP_SHL, OP_SHR, OP_SHRA, OP_XOR, OP_BRA,
	OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_SKIP,
	OP_LIT0 = 0x30, OP_LIT31 = 0x4f,
	OP_REG0 = 0x50, OP_REG31 = 0x6f,
	OP_BREG0 = 0x70, OP_BREG31 = 0x8f,
	OP_REGX = 0x90, OP_BREGX = 0x92, OP_DEREF_SIZE = 0x94, OP_NOP = 0x96,
};

struct machine {
	struct mf_dwarf code;
	const uint8_t *start; /* of all of it */
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

/* Pushes again what is @depth values below the top. */
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

/* Those with two operands. Signed ones divide and compare as such; what the processor would trap for fails. */
static bool combine(uint8_t op, uint64_t a, uint64_t b, uint64_t *result)
{
	int64_t left = (int64_t)a, right = (int64_t)b;

	switch (op) {
	case OP_AND: *result = a & b; return true;
	case OP_OR: *result = a | b; return true;
	case OP_XOR: *result = a ^ b; return true;
	case OP_PLUS: *result = a + b; return true;
	case OP_MINUS: *result = a - b; return true;
	case OP_MUL: *result = a * b; return true;
	case OP_DIV:
		if (!right)
			return false;
		*result = right == -1 ? 0 - a : (uint64_t)(left / right);
		return true;
	case OP_MOD:
		if (!b)
			return false;
		*result = a % b;
		return true;
	case OP_SHL: *result = b < 64 ? a << b : 0; return true;
	case OP_SHR: *result = b < 64 ? a >> b : 0; return true;
	case OP_SHRA: *result = (uint64_t)(left >> (b < 63 ? b : 63)); return true;
	case OP_EQ: *result = left == right; return true;
	case OP_GE: *result = left >= right; return true;
	case OP_GT: *result = left > right; return true;
	case OP_LE: *result = left <= right; return true;
	case OP_LT: *result = left < right; return true;
	case OP_NE: *result = left != right; return true;
	default: return false;
	}
}

static bool change_top(struct machine *machine, uint8_t op)
{
	uint64_t value;

	if (!pop(machine, &value))
		return false;
	switch (op) {
	case OP_ABS: return push(machine, value >> 63 ? 0 - value : value);
	case OP_NEG: return push(machine, 0 - value);
	case OP_NOT: return push(machine, ~value);
	default: return push(machine, value + mf_dwarf_uleb(&machine->code)); /* OP_PLUS_UCONST */
	}
}

static bool step(struct machine *machine)
{
	struct mf_dwarf *code = &machine->code;
	uint8_t op = (uint8_t)mf_dwarf_fixed(code, 1);
	uint64_t a, b, number;

	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push(machine, op - OP_LIT0);
	if (op >= OP_REG0 && op <= OP_REG31)
		return push_register(machine, op - OP_REG0, 0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_register(machine, op - OP_BREG0, mf_dwarf_sleb(code));
	switch (op) {
	case OP_NOP:
		return true;
	case OP_REGX:
		return push_register(machine, mf_dwarf_uleb(code), 0);
	case OP_BREGX:
		number = mf_dwarf_uleb(code);
		return push_register(machine, number, mf_dwarf_sleb(code));
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		return push(machine, mf_dwarf_fixed(code, 8));
	case OP_CONST1U:
		return push(machine, mf_dwarf_fixed(code, 1));
	case OP_CONST1S:
		return push(machine, (uint64_t)(int8_t)mf_dwarf_fixed(code, 1));
	case OP_CONST2U:
		return push(machine, mf_dwarf_fixed(code, 2));
	case OP_CONST2S:
		return push(machine, (uint64_t)(int16_t)mf_dwarf_fixed(code, 2));
	case OP_CONST4U:
		return push(machine, mf_dwarf_fixed(code, 4));
	case OP_CONST4S:
		return push(machine, (uint64_t)(int32_t)mf_dwarf_fixed(code, 4));
	case OP_CONSTU:
		return push(machine, mf_dwarf_uleb(code));
	case OP_CONSTS:
		return push(machine, (uint64_t)mf_dwarf_sleb(code));
	case OP_DEREF:
		return dereference(machine, 8);
	case OP_DEREF_SIZE:
		return dereference(machine, mf_dwarf_fixed(code, 1));
	case OP_DUP:
		return pick(machine, 0);
	case OP_OVER:
		return pick(machine, 1);
	case OP_PICK:
		return pick(machine, mf_dwarf_fixed(code, 1));
	case OP_DROP:
		return pop(machine, &a);
	case OP_SWAP:
		return pop(machine, &a) && pop(machine, &b) && push(machine, a) && push(machine, b);
	case OP_ROT:
		return rotate(machine);
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
		return change_top(machine, op);
	case OP_SKIP:
		return jump(machine, (int16_t)mf_dwarf_fixed(code, 2));
	case OP_BRA:
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
