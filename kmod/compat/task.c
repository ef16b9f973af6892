// SPDX-License-Identifier: GPL-2.0
// Threads, their registers and system calls: what differs between kernels and architectures.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#ifdef CONFIG_IA32_EMULATION
#include <asm/unistd_32_ia32.h>
#endif

#include "compat/task.h"

/* In execve the saved user registers are those of the program that is going away. */
bool massif_task_in_exec(struct task_struct *task)
{
	return task->in_execve;
}

/* Will this thread go back to user mode, with registers that say what it did there? */
bool massif_task_has_user(struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING));
}

#ifdef CONFIG_X86_64

const u32 massif_task_arch = MASSIF_ARCH_X86_64;
const u32 massif_task_nr_regs = MASSIF_X86_64_REGS;

/* DWARF's order, from the x86-64 psABI, figure 3.36. False for a 32-bit thread. */
bool massif_task_regs(struct pt_regs *regs, u64 *out)
{
	const u64 all[MASSIF_X86_64_REGS] = {
		regs->ax, regs->dx, regs->cx, regs->bx, regs->si, regs->di, regs->bp, regs->sp,
		regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15, regs->ip,
	};

	memcpy(out, all, sizeof(all));
	return user_64bit_mode(regs);
}

static bool is_mremap(int nr)
{
#ifdef CONFIG_IA32_EMULATION
	if (in_ia32_syscall())
		return nr == __NR_ia32_mremap;
#endif
#ifdef CONFIG_X86_X32_ABI
	nr &= ~__X32_SYSCALL_BIT;
#endif
	return nr == __NR_mremap;
}

#else
#error "massif: no registers for this architecture yet"
#endif

/*
 * Is the current thread in a system call mremap that grows a mapping and leaves it where it is, if
 * it can? The call's own function is no place for a hook: it returns after mmap_lock was dropped.
 */
bool massif_task_in_mremap(struct massif_mremap *call)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long args[6];

	if (!massif_task_has_user(current) || !is_mremap(syscall_get_nr(current, regs)))
		return false;
	syscall_get_arguments(current, regs, args);
	if (args[3] & ~MREMAP_MAYMOVE)
		return false;
	call->addr = args[0];
	call->old_len = PAGE_ALIGN(args[1]);
	call->new_len = PAGE_ALIGN(args[2]);
	return call->new_len > call->old_len;
}
