/* SPDX-License-Identifier: GPL-2.0 */
/* The way of a call into a wrapper of ours and out again: what C cannot say. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

#include "entries.h"

/* current, as this kernel has it; NULL->mm is not asked for. */
#ifdef X86_current_task
#define CURRENT	PER_CPU_VAR(pcpu_hot + X86_current_task)
#else
#define CURRENT	PER_CPU_VAR(current_task)
#endif

/* Is it this hook's function? Then its place says whose address space the call is about. */
.macro whose hook, place
	cmpq	%rax, massif_detour_body_\hook(%rip)
	je	.L\place
.endm

/* On, if there is no target of the hash in eax: the second byte of the address space's pointer. */
.macro possible_or_return
	cmpq	$0, massif_target_table(,%rax,8)
	jne	.Lroute
	RET
.endm

/*
 * The first instruction of a hooked function calls this: on the stack is where that function goes
 * on, then the return address of its caller; its arguments are where they were. Returns to where
 * massif_detour_route (which keeps all other registers) says: on, or to a wrapper, for which all is
 * as if the caller had called it.
 *
 * A return and not a jump, because then the place need not be marked for indirect branches. Nor need
 * this one be, for ftrace's call is a direct one.
 *
 * Each mmap and munmap of the system passes here, up to five times. So it is asked here, with rax
 * alone, whether the address space can be a target's: first of the functions that are called most
 * often. What is not hooked on this kernel has a body of 0.
 */
SYM_START(massif_detour_entry, SYM_L_GLOBAL, .balign 16)
#ifdef CONFIG_X86_KERNEL_IBT
	ANNOTATE_NOENDBR
#endif
	movq	(%rsp), %rax
	whose	mmap, current
#if defined(MASSIF_HAVE_vma_iterator) && !defined(MASSIF_HAVE_mas_munmap)
	whose	remove, current
	whose	unmap, unmap
#else
	whose	unmap, unmap
	whose	grow, vma0
#endif
	whose	brk, current
	whose	stack, vma0
	whose	exit, arg0
	whose	special, arg0
	whose	copy, vma0_at
	whose	extend, vma1
	RET
.Lcurrent:
	movq	CURRENT, %rax
	movzbl	massif_detour_task_mm + 1(%rax), %eax
	possible_or_return
.Lunmap:
#ifdef MASSIF_HAVE_vma_iterator
	movzbl	%dh, %eax
	possible_or_return
#endif
.Larg0:
	movl	%edi, %eax
	movzbl	%ah, %eax
	possible_or_return
.Lvma0_at:
	movq	(%rdi), %rax
	movzbl	massif_detour_vma_mm + 1(%rax), %eax
	possible_or_return
.Lvma0:
	movzbl	massif_detour_vma_mm + 1(%rdi), %eax
	possible_or_return
.Lvma1:
	movzbl	massif_detour_vma_mm + 1(%rsi), %eax
	possible_or_return
.Lroute:
	call	massif_detour_route
	movq	%rax, (%rsp)
	RET
SYM_FUNC_END(massif_detour_entry)

#if !defined(MASSIF_HAVE_ftrace_direct_ops) && !defined(MASSIF_HAVE_ftrace_direct_multi)

/* direct.c says why. */
.macro own_entry n
SYM_FUNC_START(massif_detour_entry_\n)
	jmp	massif_detour_entry
SYM_FUNC_END(massif_detour_entry_\n)
.endm
#define OWN_ENTRY(n)	own_entry n;
MASSIF_EACH_ENTRY(OWN_ENTRY)

#endif

/*
 * The same for the function that handles faults, of which there is only one, and whose first argument
 * is a mapping: if its address space can be a target's (massif_resident_unlikely), it goes on in
 * massif_detour_fault. Each fault of the system passes here, so it is no call: the mark for indirect
 * branches is left out, too, and there are four instructions where there would be thirteen.
 */
SYM_START(massif_detour_entry_fault, SYM_L_GLOBAL, .balign 16)
#ifdef CONFIG_X86_KERNEL_IBT
	ANNOTATE_NOENDBR
#endif
	movzbl	massif_detour_vma_mm + 1(%rdi), %eax
	cmpl	$0, massif_resident_crowds(,%rax,4)
	jne	.Lfault
	RET
.Lfault:
	movq	$massif_detour_fault, (%rsp)
	RET
SYM_FUNC_END(massif_detour_entry_fault)

/*
 * massif_detour_call(a0, ..., a6, at): the function that goes on at `at`, with seven arguments. The
 * last of them is on the stack where that function looks for it. Again by a return; the inner call
 * keeps the processor's idea of the return addresses right.
 */
SYM_FUNC_START(massif_detour_call)
	movq	16(%rsp), %rax
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lgo
	int3
.Lgo:
	movq	%rax, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(massif_detour_call)

/* massif_detour_call_fault(a0, ..., a3, at): the same with four. */
SYM_FUNC_START(massif_detour_call_fault)
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lgo_fault
	int3
.Lgo_fault:
	movq	%r8, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(massif_detour_call_fault)
