// SPDX-License-Identifier: GPL-2.0
// Saves the processor's extended state around a call.

#include "xstate.h"

#include "session.h"

#if defined(__x86_64__)

#include <cpuid.h>

/*
 * The registers that compiled code may use besides the general-purpose ones: SSE, AVX, AVX-512, APX. The x87 stack,
 * MMX, tiles and protection keys are used neither by the shim nor by the functions that it calls.
 */
#define STATE_MASK   0x800e6u
#define STATE_LEGACY 512u
#define STATE_HEADER 64u
#define CPUID_XSAVE  (1u << 27) /* CPUID leaf 1, ecx (OSXSAVE): the kernel has enabled XSAVE */
#define CPUID_XSAVEC (1u << 1)	/* CPUID leaf 13, subleaf 1, eax: the processor has the instruction XSAVEC */

enum instructions { WITH_FXSAVE, WITH_XSAVE, WITH_XSAVEC };

uint64_t mf_xstate_bytes MF_HIDDEN = STATE_LEGACY;
uint32_t mf_xstate_mask MF_HIDDEN;
uint32_t mf_xstate_instructions MF_HIDDEN;

__asm__(
"	.pushsection .text\n"
"	.p2align 4\n"
"	.globl	mf_xstate_call\n"
"	.hidden	mf_xstate_call\n"
"	.type	mf_xstate_call, @function\n"
"mf_xstate_call:\n"
"	.cfi_startproc\n"
"	pushq	%rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset rbp, -16\n"
"	movq	%rsp, %rbp\n"
"	.cfi_def_cfa_register rbp\n"
"	pushfq\n"
"	cld\n"
"	movq	%rdi, %r11\n"
"	movq	%rsi, %rdi\n"
"	movq	%rdx, %rsi\n"
"	subq	mf_xstate_bytes(%rip), %rsp\n"
"	andq	$-64, %rsp\n"
"	cmpl	$1, mf_xstate_instructions(%rip)\n"
"	jb	2f\n"
	/*
	 * Bytes of the header that XSAVE does not write must be zero. Use mov, because it preserves the flags, which
	 * are tested below.
	 */
"	movl	$0, %edx\n"
"	movq	%rdx, 512(%rsp)\n"
"	movq	%rdx, 520(%rsp)\n"
"	movq	%rdx, 528(%rsp)\n"
"	movq	%rdx, 536(%rsp)\n"
"	movq	%rdx, 544(%rsp)\n"
"	movq	%rdx, 552(%rsp)\n"
"	movq	%rdx, 560(%rsp)\n"
"	movq	%rdx, 568(%rsp)\n"
"	movl	mf_xstate_mask(%rip), %eax\n"
"	ja	3f\n"
"	xsave64	(%rsp)\n"
"	jmp	4f\n"
"2:	fxsave64 (%rsp)\n"
"	jmp	4f\n"
"3:	xsavec64 (%rsp)\n"
"4:	call	*%r11\n"
"	movq	%rax, %rcx\n"
"	cmpl	$1, mf_xstate_instructions(%rip)\n"
"	jb	5f\n"
"	xorl	%edx, %edx\n"
"	movl	mf_xstate_mask(%rip), %eax\n"
"	xrstor64 (%rsp)\n"
"	jmp	6f\n"
"5:	fxrstor64 (%rsp)\n"
"6:	movq	%rcx, %rax\n"
"	pushq	-8(%rbp)\n"
"	popfq\n"
"	leave\n"
"	.cfi_def_cfa rsp, 8\n"
"	.cfi_same_value rbp\n"
"	ret\n"
"	.cfi_endproc\n"
"	.size	mf_xstate_call, . - mf_xstate_call\n"
"	.popsection\n");

/* Returns the size of the state up to and including component @i; @bytes is the size of the components before it. */
static uint64_t add_component(uint64_t bytes, unsigned int i, bool compact)
{
	unsigned int size, offset, flags, unused;

	__cpuid_count(13, i, size, offset, flags, unused);
	if (compact)
		return (flags & 2 ? (bytes + 63) & ~63ull : bytes) + size;
	return offset + size > bytes ? offset + size : bytes;
}

void mf_xstate_start(void)
{
	unsigned int a, b, c, d;
	uint64_t bytes = STATE_LEGACY + STATE_HEADER;

	__cpuid(1, a, b, c, d);
	if (!(c & CPUID_XSAVE))
		return;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	mf_xstate_mask = a & STATE_MASK;
	__cpuid_count(13, 1, a, b, c, d);
	mf_xstate_instructions = a & CPUID_XSAVEC ? WITH_XSAVEC : WITH_XSAVE;
	for (unsigned int i = 2; i < 32; i++)
		if (mf_xstate_mask >> i & 1)
			bytes = add_component(bytes, i, mf_xstate_instructions == WITH_XSAVEC);
	mf_xstate_bytes = bytes;
}

#else

uint64_t mf_xstate_call(mf_xstate_function *function, const void *data, uint64_t more)
{
	return function(data, more);
}

void mf_xstate_start(void)
{
}

#endif
