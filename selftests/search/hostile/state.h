/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The checks that a hostile program makes: each call to an allocation function must preserve the callee-saved
 * registers, the floating-point modes and flags, and errno. The results of all checks are added up in a checksum.
 *
 * All of selftests/search/hostile compiles as C and as C++.
 */
#ifndef MASSIF_SELFTESTS_STATE_H
#define MASSIF_SELFTESTS_STATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNUSED	 __attribute__((unused))
#define NOINLINE __attribute__((noinline))

/* Number of bytes by which the stack is misaligned in calls to the allocator; set by the generator (make.c). */
#ifndef HOSTILE_MISALIGN
#define HOSTILE_MISALIGN 0
#endif

/* The descriptor that say() writes to. (stdio would allocate.) piece_close_all() may change it. */
static int output = 1;

UNUSED static void say(const char *format, ...)
{
	char line[256];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (write(output, line, (size_t)length) != length)
		_exit(99);
}

UNUSED static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum ^= value + 0x9e3779b97f4a7c15ull + (sum << 6) + (sum >> 2);
	return sum * 0xff51afd7ed558ccdull;
}

UNUSED static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

struct fp_state {
	uint32_t mxcsr;
	uint16_t control, status;
};

UNUSED static struct fp_state fp_state(void)
{
	struct fp_state state;

	__asm__ volatile("stmxcsr %0" : "=m"(state.mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(state.control));
	__asm__ volatile("fnstsw %0" : "=m"(state.status));
	return state;
}

/* A call: the function, its arguments, the misalignment of the stack in bytes (off), and registers before and after. */
struct call {
	void *function;
	uint64_t arguments[3];
	uint64_t off;
	uint64_t before[6], after[6];
	uint64_t result, flags;
};

/* Calls call->function with the callee-saved registers set to call->before. */
#ifdef __cplusplus
extern "C"
#endif
void hostile_call(struct call *call);

__asm__(".pushsection .text\n"
	".globl hostile_call\n.hidden hostile_call\n.type hostile_call, @function\n"
	"hostile_call:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
	"	mov %rsp, %rbp\n.cfi_def_cfa_register rbp\n"
	"	push %rbx\n.cfi_offset rbx, -24\n"
	"	push %r12\n.cfi_offset r12, -32\n"
	"	push %r13\n.cfi_offset r13, -40\n"
	"	push %r14\n.cfi_offset r14, -48\n"
	"	push %r15\n.cfi_offset r15, -56\n"
	"	push %rdi\n"
	/* rbp stays the frame pointer, because unwinding needs it. Check the five other callee-saved registers. */
	"	sub 32(%rdi), %rsp\n"
	"	mov 0(%rdi), %rax\n"
	"	mov 40(%rdi), %rbx\n	mov 48(%rdi), %r12\n	mov 56(%rdi), %r13\n"
	"	mov 64(%rdi), %r14\n	mov 72(%rdi), %r15\n"
	"	mov 16(%rdi), %rsi\n	mov 24(%rdi), %rdx\n	mov 8(%rdi), %rdi\n"
	"	call *%rax\n"
	"	mov -48(%rbp), %rdi\n"
	"	mov %rbx, 88(%rdi)\n	mov %r12, 96(%rdi)\n	mov %r13, 104(%rdi)\n"
	"	mov %r14, 112(%rdi)\n	mov %r15, 120(%rdi)\n"
	"	mov %rax, 136(%rdi)\n"
	"	pushfq\n	pop %rax\n	mov %rax, 144(%rdi)\n"
	"	lea -40(%rbp), %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	".cfi_def_cfa rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size hostile_call, . - hostile_call\n"
	".popsection\n");

UNUSED static void complain(const char *what, uint64_t before, uint64_t after)
{
	say("changed: %s %llx %llx\n", what, (unsigned long long)before, (unsigned long long)after);
}

/* Calls @function and reports any state that it should have preserved but changed. */
UNUSED static void *checked(void *function, uint64_t a, uint64_t b, uint64_t c)
{
	struct call call;
	struct fp_state before, after;
	int error = 12345;

	memset(&call, 0, sizeof(call));
	call.function = function;
	call.arguments[0] = a;
	call.arguments[1] = b;
	call.arguments[2] = c;
	/* If HOSTILE_MISALIGN is 0, the stack is aligned to 16 bytes when hostile_call() calls the function. */
	call.off = HOSTILE_MISALIGN;
	for (unsigned int i = 0; i < 5; i++)
		call.before[i] = 0x1111111111111111ull * (i + 1) ^ a;
	before = fp_state();
	errno = error;
	hostile_call(&call);
	error = errno;
	after = fp_state();
	if (memcmp(call.before, call.after, 5 * sizeof(call.before[0])))
		complain("registers", call.before[0], call.after[0]);
	if (call.flags & 0x400)
		complain("direction", 0, call.flags);
	if (before.mxcsr != after.mxcsr)
		complain("mxcsr", before.mxcsr, after.mxcsr);
	if (before.control != after.control)
		complain("x87 control", before.control, after.control);
	if (before.status != after.status)
		complain("x87 status", before.status, after.status);
	if (error != 12345 && error != ENOMEM && error != EINVAL)
		complain("errno", 12345, (uint64_t)error);
	return (void *)call.result;
}

#define CHECKED(function, a, b, c) checked((void *)(function), (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))

/* Fills a block with contents that are checked when the block is freed. */
UNUSED static void fill(void *block, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)block)[i] = (unsigned char)(seed + i * 7);
}

UNUSED static uint64_t sum_of(const void *block, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + ((const unsigned char *)block)[i];
	return sum;
}

/* Allocates and frees @count times, in an order determined by @seed. Returns a checksum of the blocks' contents. */
UNUSED NOINLINE static uint64_t churn(unsigned int seed, unsigned int count)
{
	uint32_t state = seed * 2654435761u + 1;
	void *slots[32] = { NULL };
	size_t sizes[32] = { 0 };
	uint64_t sum = 0;

	for (unsigned int n = 0; n < count; n++) {
		unsigned int i = next_random(&state) % 32, what = next_random(&state) % 8;
		size_t size = next_random(&state) % (what == 7 ? 300000 : 700);

		if (slots[i] && what == 6) {
			void *block = CHECKED(realloc, slots[i], size + 1, 0);

			if (!block)
				continue;
			sum = mix(sum, sum_of(block, size + 1 < sizes[i] ? size + 1 : sizes[i]));
			slots[i] = block;
			sizes[i] = size + 1;
			fill(block, size + 1, n);
			continue;
		}
		if (slots[i]) {
			sum = mix(sum, sum_of(slots[i], sizes[i]));
			CHECKED(free, slots[i], 0, 0);
		}
		if (what == 4)
			slots[i] = CHECKED(calloc, 1, size, 0);
		else if (what == 5)
			slots[i] = CHECKED(memalign, 64, size, 0);
		else
			slots[i] = CHECKED(malloc, size, 0, 0);
		sizes[i] = slots[i] ? size : 0;
		if (what == 4 && slots[i])
			sum = mix(sum, sum_of(slots[i], size));
		if (what == 5 && slots[i])
			sum = mix(sum, (uint64_t)slots[i] % 64);
		if (slots[i])
			fill(slots[i], size, n);
	}
	for (unsigned int i = 0; i < 32; i++)
		CHECKED(free, slots[i], 0, 0);
	return sum;
}

#endif
