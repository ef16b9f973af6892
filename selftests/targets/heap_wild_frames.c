// SPDX-License-Identifier: GPL-2.0
// heap_wild_frames [CASE]: allocates in assembly code with wrong unwind information. An unwinder that trusts it would
// read unmapped memory.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TIMES 100

/*
 * Each function calls @function with the argument @size while rbp and rbx contain @fp. According to the unwind rules in
 * @rules, the caller is found through the value @fp. In fact, the return address and the caller's rbp are in the usual
 * places.
 */
typedef void *wild(uint64_t fp, size_t size, void *(*function)(size_t));

#define WILD(name, rules)                                \
	wild name;                                       \
	__asm__(".text\n"                                \
		".type " #name ", @function\n"           \
		#name ":\n"                              \
		"	.cfi_startproc\n"                \
		"	push %rbp\n"                     \
		"	push %rbx\n"                     \
		"	mov %rdi, %rbp\n"                \
		"	mov %rdi, %rbx\n"                \
		"	mov %rsi, %rdi\n"                \
		rules                                    \
		"	call *%rdx\n"                    \
		"	pop %rbx\n"                      \
		"	pop %rbp\n"                      \
		"	ret\n"                           \
		"	.cfi_endproc\n"                  \
		".size " #name ", . - " #name "\n")

WILD(by_fp, "	.cfi_def_cfa rbp, 16\n	.cfi_offset rbp, -16\n");
WILD(by_sp, "	.cfi_def_cfa rsp, 0x10000000\n	.cfi_offset rbp, -16\n");
/* The CFA is the word at rbp - 8 (by_stored), or the sum of 16 and the word at rbp (by_link). */
WILD(by_stored, "	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n");
WILD(by_link, "	.cfi_escape 0x0f, 5, 0x76, 0x00, 0x06, 0x23, 0x10\n");
/* The CFA is right, but the rules say that rbp is saved at the address in rbp itself. */
WILD(by_saved, "	.cfi_def_cfa_offset 24\n	.cfi_escape 0x10, 6, 2, 0x76, 0x00\n");

/*
 * Rare but valid unwind rules: the CFA is computed from a register other than rbp, the return address is saved at an
 * unusual location, the CFA is the value of an expression, or a register is given by a val_expression.
 */
WILD(by_register, "	.cfi_def_cfa rbx, 16\n");
WILD(by_moved, "	.cfi_def_cfa rbp, 16\n	.cfi_offset 16, -24\n");
WILD(by_value, "	.cfi_escape 0x0f, 4, 0x76, 0x00, 0x06, 0x96\n");
WILD(by_other, "	.cfi_def_cfa_offset 24\n	.cfi_escape 0x16, 6, 2, 0x73, 0x00\n");
/* DWARF expressions that do not terminate, that would raise a processor exception, or that are invalid. */
WILD(by_loop, "	.cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n");
WILD(by_growth, "	.cfi_escape 0x0f, 4, 0x76, 0x2f, 0xfc, 0xff\n");
WILD(by_quotient, "	.cfi_escape 0x0f, 3, 0x31, 0x30, 0x1b\n");
WILD(by_nothing, "	.cfi_escape 0x0f, 1, 0x22\n");
WILD(by_unknown, "	.cfi_escape 0x0f, 1, 0xff\n");

static void *volatile kept;

static __attribute__((noinline)) void allocate(wild *function, uint64_t fp, size_t size)
{
	for (int i = 0; i < TIMES; i++) {
		kept = function(fp, size, malloc);
		memset(kept, 1, size);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		wild *function;
	} cases[] = {
		{ "fp", by_fp },     { "sp", by_sp },	    { "stored", by_stored },
		{ "link", by_link }, { "saved", by_saved }, { "register", by_register },
		{ "moved", by_moved }, { "value", by_value }, { "other", by_other },
		{ "loop", by_loop }, { "growth", by_growth }, { "quotient", by_quotient },
		{ "nothing", by_nothing }, { "unknown", by_unknown },
	};
	/* This memory is unmapped after the first round of allocations. */
	char *gone = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t here = (uint64_t)gone;
	uint64_t values[] = {
		0, 0x1234, 0x1238, here, here + 64, here + 65, (uint64_t)&here + (64 << 20), (uint64_t)&here - 4096,
		0x8000000000000000, 0xfffffffffffffff8, 0x0000800000000000, (uint64_t)&here, (uint64_t)&kept,
	};
	uint64_t lure[16];

	/* Words that look like saved frame pointers, both on the stack and in memory that is unmapped later. */
	for (int i = 0; i < 16; i++)
		lure[i] = 0xdead0000 + (uint64_t)i * 8;
	values[11] = (uint64_t)(lure + 4);
	memcpy(gone, lure, sizeof(lure));
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			if (argc < 2 || !strcmp(argv[1], cases[i].name))
				for (size_t j = 0; j < sizeof(values) / sizeof(*values); j++)
					allocate(cases[i].function, values[j], 1000);
		/* In the second round, memory that was read in the first round is unmapped. */
		munmap(gone, 1 << 16);
	}
	puts("fine");
	return 3;
}
