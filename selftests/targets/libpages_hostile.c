// SPDX-License-Identifier: GPL-2.0
// A library for pages_confined.c, with unwind rules that would harm an unwinder that did not check them.

#if defined(__x86_64__)

/* Defines a function that calls its argument; @rules are its unwind rules at the call. */
#define FUNCTION(name, rules)				\
	__asm__(".globl " name "\n\t"			\
		".type " name ",@function\n"		\
		name ":\n\t"				\
		".cfi_startproc\n\t"			\
		"sub $8, %rsp\n\t"			\
		".cfi_def_cfa_offset 16\n\t"		\
		rules "\n\t"				\
		"call *%rdi\n\t"			\
		"add $8, %rsp\n\t"			\
		".cfi_def_cfa 7, 8\n\t"			\
		"ret\n\t"				\
		".cfi_endproc\n\t"			\
		".size " name ", . - " name)

FUNCTION("hostile_not", "");

/* The CFA is an expression that jumps back to its own start. */
FUNCTION("hostile_loop", ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff");

/* The CFA is an expression that divides the most negative integer by -1, which makes the processor trap. */
FUNCTION("hostile_division", ".cfi_escape 0x0f, 12, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b");

#endif
