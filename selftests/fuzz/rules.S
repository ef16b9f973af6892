/* SPDX-License-Identifier: GPL-2.0 */
/* Functions whose unwind rules have each form that the assembler can write: the first inputs of rules.c. */

	.text
	.globl	forms
	.type	forms, @function
forms:
	.cfi_startproc
	nop
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	nop
	.cfi_def_cfa_register %rbp
	nop
	.cfi_restore_state
	.cfi_restore %rbp
	.cfi_rel_offset %rbx, 8
	.cfi_register %r12, %r13
	.cfi_same_value %r14
	.cfi_undefined %r15
	nop
	.cfi_adjust_cfa_offset 300
	.cfi_escape 0x10, 6, 2, 0x76, 0		/* rbp is stored at rbp */
	nop
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06	/* the CFA is stored at rbp - 8 */
	nop
	.cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 8
	.cfi_escape 0x16, 3, 2, 0x77, 8		/* rbx is rsp + 8 */
	nop
	.cfi_escape 0x2e, 16			/* bytes of arguments */
	.fill	300, 1, 0x90
	nop
	.cfi_endproc

	.type	interrupted, @function
interrupted:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	nop
	.cfi_endproc

	.type	outermost, @function
outermost:
	.cfi_startproc
	.cfi_undefined %rip
	nop
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
