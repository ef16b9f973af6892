// SPDX-License-Identifier: GPL-2.0
// Saves the processor's extended state around a call.
//
// In a program with split stacks (gcc -fsplit-stack), a stack segment may have less than a kilobyte left, while the
// state alone can need three. The memory below the segment belongs to something else. So in such a program, the calls
// are made on the shim's own stacks, one per thread.

#include "xstate.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"
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
#define CPUID_XSAVEC (1u << 1)	/* CPUID leaf 13, subleaf 1, eax: the processor supports the XSAVEC instruction */

#define OWN_STACK_BYTES (128u << 10)
/*
 * the thread has no stack allocated by the shim, or that stack is in use; the assembly below contains the same number
 */
#define OWN_STACK_NONE	1u

/*
 * Top of the stack that the shim has allocated for this thread; OWN_STACK_NONE; or 0 before the thread's first hook
 * call in a program with split stacks. A signal handler may change this variable, but restores it before it returns.
 */
__thread uint64_t mf_xstate_own_stack MF_HIDDEN __attribute__((tls_model("initial-exec")));

uint64_t mf_xstate_make_stack(void) MF_HIDDEN;

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
"	pushq	$0\n" /* top of the shim's stack for this thread; 0 if not used */
"	cld\n"
"	movq	%rdi, %r11\n"
"	movq	%rsi, %rdi\n"
"	movq	%rdx, %rsi\n"
	/*
	 * In a program with split stacks, gcc's code keeps the limit of the current stack segment in this word of the
	 * thread control block, which the C library reserves for it. Without split stacks, the word is 0.
	 */
"	cmpq	$0, %fs:0x70\n"
"	jne	7f\n"
"1:	subq	mf_xstate_bytes(%rip), %rsp\n"
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
"6:	movq	-16(%rbp), %rdx\n"
"	testq	%rdx, %rdx\n"
"	je	8f\n"
"	movq	mf_xstate_own_stack@gottpoff(%rip), %rax\n"
"	movq	%rdx, %fs:(%rax)\n"
"8:	movq	%rcx, %rax\n"
"	pushq	-8(%rbp)\n"
"	popfq\n"
"	leave\n"
"	.cfi_def_cfa rsp, 8\n"
"	.cfi_same_value rbp\n"
"	ret\n"
	/*
	 * Switch to the shim's stack for this thread. The frame stays on the old stack, so that the stack can be walked
	 * via rbp.
	 */
"7:	.cfi_def_cfa rbp, 16\n"
"	.cfi_offset rbp, -16\n"
"	movq	mf_xstate_own_stack@gottpoff(%rip), %rdx\n"
"	movq	%fs:(%rdx), %rax\n"
"	testq	%rax, %rax\n"
"	jne	9f\n"
"	pushq	%rdi\n"
"	pushq	%rsi\n"
"	pushq	%r11\n"
"	movq	%rsp, %rax\n"
"	andq	$-16, %rsp\n"
"	pushq	%rax\n"
"	pushq	%rdx\n"
"	call	mf_xstate_make_stack\n"
"	popq	%rdx\n"
"	popq	%rsp\n"
"	popq	%r11\n"
"	popq	%rsi\n"
"	popq	%rdi\n"
"9:	cmpq	$1, %rax\n"
"	je	1b\n"
"	movq	%rax, -16(%rbp)\n"
"	movq	$1, %fs:(%rdx)\n"
"	movq	%rax, %rsp\n"
"	jmp	1b\n"
"	.cfi_endproc\n"
"	.size	mf_xstate_call, . - mf_xstate_call\n"
"	.popsection\n");

/*
 * Allocates a stack for this thread's hooks. Returns its top, or OWN_STACK_NONE. Context: the current stack may have
 * little space left.
 */
uint64_t mf_xstate_make_stack(void)
{
	register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	register long fd __asm__("r8") = -1;
	register long offset __asm__("r9") = 0;
	long base = SYS_mmap;

	mf_xstate_own_stack = OWN_STACK_NONE;
	if (mf_seccomp_is_on())
		return OWN_STACK_NONE;
	__asm__ volatile("syscall"
			 : "+a"(base)
			 : "D"(0l), "S"((long)OWN_STACK_BYTES), "d"((long)(PROT_READ | PROT_WRITE)), "r"(flags),
			   "r"(fd), "r"(offset)
			 : "rcx", "r11", "memory");
	if (base < 0 && base > -4096)
		return OWN_STACK_NONE;
	return (uint64_t)base + OWN_STACK_BYTES;
}

void mf_xstate_thread_ended(void)
{
	uint64_t top = mf_xstate_own_stack;

	if (!top || top == OWN_STACK_NONE || mf_seccomp_is_on())
		return;
	mf_xstate_own_stack = OWN_STACK_NONE;
	syscall(SYS_munmap, top - OWN_STACK_BYTES, (size_t)OWN_STACK_BYTES);
}

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

void mf_xstate_thread_ended(void)
{
}

#endif
