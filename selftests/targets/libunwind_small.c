// SPDX-License-Identifier: GPL-2.0
// A plugin whose function has a small frame; libunwind_large.c has the same code with a large frame.

int call_back(int (*function)(void));

__asm__(".text\n"
	".globl call_back\n"
	".type call_back, @function\n"
	"call_back:\n"
	"	.cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call *%rdi\n"
	"	inc %eax\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_back, . - call_back\n");
