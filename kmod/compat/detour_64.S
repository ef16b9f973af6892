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

/* Is it this hook's function? */
.macro whose hook
	cmpq	%rax, massif_detour_body_\hook(%rip)
	je	.L\hook
.endm

/* On, if there is no target of the hash in eax: the second byte of the address space's pointer. */
.macro on_unless_possible
	cmpq	$0, massif_target_table(,%rax,8)
	jne	1f
	RET
1:
.endm

/* Into the hook's wrapper, if there is a target of the hash in eax. */
.macro wrap_if_possible hook
	on_unless_possible
	movq	$massif_detour_wrap_\hook, (%rsp)
	RET
.endm

/* The hash of the address space: of the thread, or of the mapping that a register points to. */
.macro hash_of_current
	movq	CURRENT, %rax
	movzbl	massif_detour_task_mm + 1(%rax), %eax
.endm
.macro hash_of_vma reg
	movzbl	massif_detour_vma_mm + 1(\reg), %eax
.endm

/*
 * The first instruction of a hooked function calls this: on the stack is where that function goes
 * on, then the return address of its caller; its arguments are where they were. Returns there, or to
 * the hook's wrapper, for which all is as if the caller had called it.
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
	whose	MASSIF_HOOK_MMAP
#if defined(MASSIF_HAVE_vma_iterator) && !defined(MASSIF_HAVE_mas_munmap)
	whose	MASSIF_HOOK_REMOVE
	whose	MASSIF_HOOK_UNMAP
#else
	whose	MASSIF_HOOK_UNMAP
	whose	MASSIF_HOOK_GROW
#endif
	whose	MASSIF_HOOK_BRK
	whose	MASSIF_HOOK_STACK
	whose	MASSIF_HOOK_EXIT
	whose	MASSIF_HOOK_SPECIAL
	whose	MASSIF_HOOK_COPY
	whose	MASSIF_HOOK_EXTEND
	RET
.LMASSIF_HOOK_MMAP:
	hash_of_current
	wrap_if_possible MASSIF_HOOK_MMAP
.LMASSIF_HOOK_UNMAP:
#ifdef MASSIF_HAVE_vma_iterator
	movzbl	%dh, %eax
#else
	movl	%edi, %eax
	movzbl	%ah, %eax
#endif
	wrap_if_possible MASSIF_HOOK_UNMAP
.LMASSIF_HOOK_BRK:
	hash_of_current
	wrap_if_possible MASSIF_HOOK_BRK
.LMASSIF_HOOK_STACK:
	hash_of_vma %rdi
	wrap_if_possible MASSIF_HOOK_STACK
.LMASSIF_HOOK_EXIT:
	movl	%edi, %eax
	movzbl	%ah, %eax
	wrap_if_possible MASSIF_HOOK_EXIT
.LMASSIF_HOOK_SPECIAL:
	movl	%edi, %eax
	movzbl	%ah, %eax
	wrap_if_possible MASSIF_HOOK_SPECIAL
.LMASSIF_HOOK_COPY:
	movq	(%rdi), %rax
	hash_of_vma %rax
	wrap_if_possible MASSIF_HOOK_COPY
.LMASSIF_HOOK_EXTEND:
	hash_of_vma %rsi
	wrap_if_possible MASSIF_HOOK_EXTEND

#if defined(MASSIF_HAVE_vma_iterator) && !defined(MASSIF_HAVE_mas_munmap)
/* Nothing has to be done when it returns, and it is called for each mmap: it has no wrapper. */
.LMASSIF_HOOK_REMOVE:
	hash_of_current
	on_unless_possible
	call	massif_detour_remove
	RET
#else
/* It is called for each mapping that is merged or split, and only looked at within an mremap. */
.LMASSIF_HOOK_GROW:
	hash_of_vma %rdi
	on_unless_possible
	call	massif_detour_wants_grow
	testb	%al, %al
	jne	1f
	RET
1:	movq	$massif_detour_wrap_MASSIF_HOOK_GROW, (%rsp)
	RET
#endif
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
	cmpl	$0, massif_mm_filters(,%rax,4)
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
