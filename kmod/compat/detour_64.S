/* SPDX-License-Identifier: GPL-2.0 */
/* Assembly for detours: enters a wrapper from ftrace's call, and calls the hooked function from a wrapper. */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

#include "entries.h"

/* Where this kernel keeps current. */
#ifdef X86_current_task
#define CURRENT	PER_CPU_VAR(pcpu_hot + X86_current_task)
#else
#define CURRENT	PER_CPU_VAR(current_task)
#endif

/* Jumps to .L\hook if rax is the address where the hook's function continues. */
.macro whose hook
	cmpq	%rax, massif_detour_body_\hook(%rip)
	je	.L\hook
.endm

/*
 * Returns to the hooked function if no target has the hash in eax. The hash is the second byte of the pointer
 * to the address space.
 */
.macro on_unless_possible
	cmpq	$0, massif_target_filter(,%rax,8)
	jne	1f
	RET
1:
.endm

/* Continues in the hook's wrapper if a target has the hash in eax. */
.macro wrap_if_possible hook
	on_unless_possible
	movq	$massif_detour_wrap_\hook, (%rsp)
	RET
.endm

/*
 * Loads the hash of the address space into eax: of the current thread, or of the mapping that a register
 * points to.
 */
.macro hash_of_current
	movq	CURRENT, %rax
	movzbl	massif_detour_task_mm + 1(%rax), %eax
.endm
.macro hash_of_vma reg
	movzbl	massif_detour_vma_mm + 1(\reg), %eax
.endm

/*
 * The first instruction of a hooked function calls this. On the stack are the address at which the function
 * continues and the return address of its caller; the arguments are still in their registers. Returns to the
 * function, or to the hook's wrapper, for which everything is as if the caller had called it.
 *
 * It returns instead of jumping, so that the destination need not be marked for indirect branches. This entry
 * needs no mark either, because ftrace's call is a direct one.
 *
 * Every mmap and munmap of the system comes here, up to five times. So the test whether the address space may
 * be a target is made here, using only rax, and first for the functions that are called most often. The body
 * address of a hook that this kernel does not use is 0.
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
/* REMOVE has no wrapper: nothing has to be done when the function returns, and each mmap calls it. */
.LMASSIF_HOOK_REMOVE:
	hash_of_current
	on_unless_possible
	call	massif_detour_remove
	RET
#else
/* GROW is called for each mapping that is merged or split, but matters only inside an mremap. */
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

/* compat/direct.c explains why each site needs its own entry. */
.macro own_entry n
SYM_FUNC_START(massif_detour_entry_\n)
	jmp	massif_detour_entry
SYM_FUNC_END(massif_detour_entry_\n)
.endm
#define OWN_ENTRY(n)	own_entry n;
MASSIF_EACH_ENTRY(OWN_ENTRY)

#endif

/*
 * The entry for the fault handler; its first argument is a mapping. If the mapping's address space may be a
 * target (massif_resident_unlikely), it continues in massif_detour_fault. Every fault of the system comes
 * here, and only one function does, so its address is not compared as above: four instructions instead of
 * thirteen. This entry has no mark for indirect branches either.
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
 * massif_detour_call(a0, ..., a6, at): calls the function that continues at `at`, with seven arguments. The
 * last argument is on the stack where that function looks for it. Uses a return again; the inner call keeps
 * the processor's return stack balanced.
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

/* massif_detour_call_fault(a0, ..., a3, at): the same with four arguments. */
SYM_FUNC_START(massif_detour_call_fault)
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Lgo_fault
	int3
.Lgo_fault:
	movq	%r8, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(massif_detour_call_fault)
