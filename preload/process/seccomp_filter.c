// SPDX-License-Identifier: GPL-2.0
// Evaluates a seccomp filter for a system call, as the kernel would.
//
// Filters consist of the subset of classic BPF instructions that the kernel accepts for seccomp
// (Documentation/networking/filter.rst in the kernel's source). Jumps only go forwards, so evaluation always
// terminates.

#include "seccomp_filter.h"

#include <stdint.h>
#include <string.h>

struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	const struct seccomp_data *call;
};

static bool load(const struct machine *machine, const struct sock_filter *op, uint32_t *value)
{
	switch (BPF_MODE(op->code) | BPF_SIZE(op->code)) {
	case BPF_W | BPF_ABS:
		if (op->k > sizeof(*machine->call) - sizeof(*value) || op->k % sizeof(*value))
			return false;
		memcpy(value, (const char *)machine->call + op->k, sizeof(*value));
		return true;
	case BPF_W | BPF_LEN:
		*value = sizeof(*machine->call);
		return true;
	case BPF_W | BPF_IMM:
		*value = op->k;
		return true;
	case BPF_W | BPF_MEM:
		if (op->k >= BPF_MEMWORDS)
			return false;
		*value = machine->memory[op->k];
		return true;
	default:
		return false;
	}
}

static bool compute(struct machine *machine, const struct sock_filter *op)
{
	uint32_t operand = BPF_SRC(op->code) == BPF_X ? machine->x : op->k;

	switch (BPF_OP(op->code)) {
	case BPF_ADD: machine->a += operand; return true;
	case BPF_SUB: machine->a -= operand; return true;
	case BPF_MUL: machine->a *= operand; return true;
	case BPF_DIV:
		if (!operand)
			return false;
		machine->a /= operand;
		return true;
	case BPF_AND: machine->a &= operand; return true;
	case BPF_OR: machine->a |= operand; return true;
	case BPF_XOR: machine->a ^= operand; return true;
	case BPF_LSH: machine->a <<= operand & 31; return true;
	case BPF_RSH: machine->a >>= operand & 31; return true;
	case BPF_NEG: machine->a = 0 - machine->a; return true;
	default: return false;
	}
}

/* Sets *@distance to the number of instructions to skip. Returns false for an unknown instruction. */
static bool jump(const struct machine *machine, const struct sock_filter *op, uint32_t *distance)
{
	uint32_t operand = BPF_SRC(op->code) == BPF_X ? machine->x : op->k;
	bool holds;

	switch (BPF_OP(op->code)) {
	case BPF_JA: *distance = op->k; return true;
	case BPF_JEQ: holds = machine->a == operand; break;
	case BPF_JGT: holds = machine->a > operand; break;
	case BPF_JGE: holds = machine->a >= operand; break;
	case BPF_JSET: holds = machine->a & operand; break;
	default: return false;
	}
	*distance = holds ? op->jt : op->jf;
	return true;
}

/* Executes any instruction except a return. Returns false if it is invalid. */
static bool step(struct machine *machine, const struct sock_filter *op, uint32_t *distance)
{
	*distance = 0;
	switch (BPF_CLASS(op->code)) {
	case BPF_LD:
		return load(machine, op, &machine->a);
	case BPF_LDX:
		return load(machine, op, &machine->x);
	case BPF_ST:
	case BPF_STX:
		if (op->k >= BPF_MEMWORDS)
			return false;
		machine->memory[op->k] = BPF_CLASS(op->code) == BPF_ST ? machine->a : machine->x;
		return true;
	case BPF_ALU:
		return compute(machine, op);
	case BPF_JMP:
		return jump(machine, op, distance);
	case BPF_MISC:
		if (BPF_MISCOP(op->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return true;
	default:
		return false;
	}
}

bool mf_seccomp_filter_allows(const struct sock_fprog *filter, const struct seccomp_data *call)
{
	struct machine machine = { .call = call };
	uint32_t distance;

	for (uint32_t i = 0; i < filter->len; i += distance + 1) {
		struct sock_filter op = filter->filter[i];

		if (BPF_CLASS(op.code) == BPF_RET) {
			uint32_t action = BPF_RVAL(op.code) == BPF_A ? machine.a : op.k;

			action &= SECCOMP_RET_ACTION_FULL;
			return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
		}
		/* A jump beyond the end of the filter could make the index @i wrap around. */
		if (!step(&machine, &op, &distance) || distance >= filter->len)
			return false;
	}
	return false;
}
