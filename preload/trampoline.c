// SPDX-License-Identifier: GPL-2.0
// Where a client request of the program leads to.
//
// valgrind.h tells the compiler that a request changes its result (rdx), the flags and memory, and
// nothing else: no other register, vectors included, may differ afterwards, and the 128 bytes below
// the stack pointer are the program's. Whoever unwinds the stack from the function that answers finds
// the site as the frame that was interrupted.

#include "trampoline.h"

#include <string.h>

#include "jump.h"
#include "session.h"

#if defined(__x86_64__)

#include <cpuid.h>

/*
 * What the processor has beside the general registers, and compiled code may use: SSE, AVX, AVX-512,
 * APX. The x87 stack, MMX, tiles and protection keys we leave alone.
 */
#define STATE_MASK   0x800e6u
#define STATE_LEGACY 512u
#define STATE_HEADER 64u
#define CPUID_XSAVE  (1u << 27) /* leaf 1, ecx: the system has enabled it */
#define CPUID_XSAVEC (1u << 1)	/* leaf 13, 1, eax */

enum state_way { STATE_FXSAVE, STATE_XSAVE, STATE_XSAVEC };

uint64_t mf_trampoline_state_bytes MF_HIDDEN = STATE_LEGACY;
uint32_t mf_trampoline_state_mask MF_HIDDEN;
uint32_t mf_trampoline_state_way MF_HIDDEN;
mf_trampoline_answer *mf_trampoline_answers MF_HIDDEN;

void mf_trampoline_entry(void);

/*
 * The entry of all trampolines. The trampoline has moved the stack pointer below the program's 128
 * bytes and called it: rax and rdx are the request's and everything else is the program's. CFA is
 * the program's stack pointer.
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
	/* Most programs have other requests, for other tools: nothing happens. */
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
	/* struct mf_trampoline_frame, from its end. */
"	pushq	%rax\n"
"	pushq	(%rbp)\n"
"	leaq	144(%rbp), %rcx\n"
"	pushq	%rcx\n"
"	movq	8(%rbp), %rcx\n"   /* within the trampoline: where it was called */
"	pushq	21(%rcx)\n"	   /* its back */
"	.cfi_offset rip, -232\n"
"	movq	%rsp, %rdi\n"
"	movq	%rdx, %rsi\n"
"	subq	mf_trampoline_state_bytes(%rip), %rsp\n"
"	andq	$-64, %rsp\n"
"	cmpl	$1, mf_trampoline_state_way(%rip)\n"
"	jb	2f\n"
	/* The header must be zero where the instruction does not write. The flags are wanted still. */
"	movl	$0, %edx\n"
"	movq	%rdx, 512(%rsp)\n"
"	movq	%rdx, 520(%rsp)\n"
"	movq	%rdx, 528(%rsp)\n"
"	movq	%rdx, 536(%rsp)\n"
"	movq	%rdx, 544(%rsp)\n"
"	movq	%rdx, 552(%rsp)\n"
"	movq	%rdx, 560(%rsp)\n"
"	movq	%rdx, 568(%rsp)\n"
"	movl	mf_trampoline_state_mask(%rip), %eax\n"
"	ja	3f\n"
"	xsave64	(%rsp)\n"
"	jmp	4f\n"
"2:	fxsave64 (%rsp)\n"
"	jmp	4f\n"
"3:	xsavec64 (%rsp)\n"
"4:	call	*mf_trampoline_answers(%rip)\n"
"	movq	%rax, %rcx\n"
"	cmpl	$1, mf_trampoline_state_way(%rip)\n"
"	jb	5f\n"
"	xorl	%edx, %edx\n"
"	movl	mf_trampoline_state_mask(%rip), %eax\n"
"	xrstor64 (%rsp)\n"
"	jmp	6f\n"
"5:	fxrstor64 (%rsp)\n"
"6:	movq	%rcx, %rdx\n"
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

/* The end of what component @i of the state takes behind @bytes. */
static uint64_t add_component(uint64_t bytes, unsigned int i, bool compact)
{
	unsigned int size, offset, flags, unused;

	__cpuid_count(13, i, size, offset, flags, unused);
	if (compact)
		return (flags & 2 ? (bytes + 63) & ~63ull : bytes) + size;
	return offset + size > bytes ? offset + size : bytes;
}

/* Which instructions save the state, and how much that is. */
static void measure_state(void)
{
	unsigned int a, b, c, d;
	uint64_t bytes = STATE_LEGACY + STATE_HEADER;

	__cpuid(1, a, b, c, d);
	if (!(c & CPUID_XSAVE))
		return;
	__asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	mf_trampoline_state_mask = a & STATE_MASK;
	__cpuid_count(13, 1, a, b, c, d);
	mf_trampoline_state_way = a & CPUID_XSAVEC ? STATE_XSAVEC : STATE_XSAVE;
	for (unsigned int i = 2; i < 32; i++)
		if (mf_trampoline_state_mask >> i & 1)
			bytes = add_component(bytes, i,
					      mf_trampoline_state_way == STATE_XSAVEC);
	mf_trampoline_state_bytes = bytes;
}

void mf_trampoline_start(mf_trampoline_answer *answer)
{
	mf_trampoline_answers = answer;
	measure_state();
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
