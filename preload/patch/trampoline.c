// SPDX-License-Identifier: GPL-2.0
// Trampolines for client requests.
//
// valgrind.h tells the compiler that a request changes only its result (rdx), the flags and memory. So a trampoline
// must preserve all other registers, vector registers included, and the 128 bytes below the stack pointer (the red
// zone). When the stack is walked from the request handler, the site of the request appears as an interrupted frame.

#include "trampoline.h"

#include <string.h>

#include "jump.h"
#include "core/session.h"
#include "core/xstate.h"

#if defined(__x86_64__)

mf_trampoline_answer *mf_trampoline_answers MF_HIDDEN;

void mf_trampoline_entry(void);

/*
 * The code shared by all trampolines. The trampoline has moved the stack pointer below the program's red zone and
 * called this code. For the client request, the program has set rax to the address of the request's number and
 * arguments, and rdx to the default result. All other registers must be preserved. The CFA is the program's stack
 * pointer.
 */
__asm__(
"	.pushsection .text\n"
"	.p2align 4\n"
"	.globl	mf_trampoline_entry\n"
"	.hidden	mf_trampoline_entry\n"
"	.type	mf_trampoline_entry, @function\n"
"mf_trampoline_entry:\n"
"	.cfi_startproc\n"
"	.cfi_signal_frame\n"
"	.cfi_def_cfa rsp, 136\n"
"	.cfi_undefined rip\n"
	/*
	 * Return immediately for requests that are not handled here, such as those for Memcheck, because they are the
	 * most frequent.
	 */
"	cmpq	$0x1301, (%rax)\n"
"	je	1f\n"
"	cmpq	$0x1302, (%rax)\n"
"	je	1f\n"
"	cmpq	$0x130b, (%rax)\n"
"	je	1f\n"
"	cmpq	$0x1202, (%rax)\n"
"	je	1f\n"
"	ret\n"
"1:	pushq	%rbp\n"
"	.cfi_def_cfa rsp, 144\n"
"	.cfi_offset rbp, -144\n"
"	movq	%rsp, %rbp\n"
"	.cfi_def_cfa rbp, 144\n"
"	pushq	%rcx\n"
"	pushq	%rsi\n"
"	pushq	%rdi\n"
"	pushq	%r8\n"
"	pushq	%r9\n"
"	pushq	%r10\n"
"	pushq	%r11\n"
	/* Push a struct mf_trampoline_frame, last member first. */
"	pushq	%rax\n"
"	pushq	(%rbp)\n"
"	leaq	144(%rbp), %rcx\n"
"	pushq	%rcx\n"
"	movq	8(%rbp), %rcx\n"   /* the address in the trampoline to which this shared code returns */
"	pushq	21(%rcx)\n"	   /* member @back of the trampoline: the address of the program's next instruction */
"	.cfi_offset rip, -232\n"
"	movq	mf_trampoline_answers(%rip), %rdi\n"
/*
 * Arguments for the function that handles the request: the struct mf_trampoline_frame and, in rdx, the result that it
 * is to return if it does not handle the request.
 */
"	movq	%rsp, %rsi\n"
"	call	mf_xstate_call\n"
"	movq	%rax, %rdx\n"
"	leaq	-64(%rbp), %rsp\n"
"	popq	%rax\n"
"	popq	%r11\n"
"	popq	%r10\n"
"	popq	%r9\n"
"	popq	%r8\n"
"	popq	%rdi\n"
"	popq	%rsi\n"
"	popq	%rcx\n"
"	popq	%rbp\n"
"	.cfi_def_cfa rsp, 136\n"
"	.cfi_same_value rbp\n"
"	.cfi_undefined rip\n"
"	ret\n"
"	.cfi_endproc\n"
"	.size	mf_trampoline_entry, . - mf_trampoline_entry\n"
"	.popsection\n");

void mf_trampoline_start(mf_trampoline_answer *answer)
{
	mf_trampoline_answers = answer;
}

void mf_trampoline_make(struct mf_trampoline *trampoline, const uint8_t *site)
{
	/* lea -128(%rsp), %rsp; call *entry(%rip); lea 128(%rsp), %rsp; jmp back */
	static const uint8_t code[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xff, 0x15, 13, 0, 0, 0,
					0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };

	_Static_assert(sizeof(code) + MF_JUMP_BYTES == sizeof(trampoline->code), "the code's size");
	_Static_assert(offsetof(struct mf_trampoline, entry) == 11 + 13 &&
			       offsetof(struct mf_trampoline, back) == 11 + 21,
		       "where the code finds them");
	memcpy(trampoline->code, code, sizeof(code));
	trampoline->entry = (uintptr_t)mf_trampoline_entry;
	trampoline->back = (uintptr_t)site + MF_REQUEST_SITE_BYTES;
	mf_jump_encode(trampoline->code + sizeof(code), (uintptr_t)trampoline->code + sizeof(code),
		       trampoline->back);
}

#else

void mf_trampoline_start(mf_trampoline_answer *answer)
{
}

void mf_trampoline_make(struct mf_trampoline *trampoline, const uint8_t *site)
{
}

#endif
