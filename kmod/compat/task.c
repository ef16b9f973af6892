// SPDX-License-Identifier: GPL-2.0
// Hides differences between kernel versions and architectures that concern threads, registers and system calls.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#ifdef MASSIF_HAVE_exec_state
#include <linux/sched/exec_state.h>
#endif
#include <linux/sched/task_stack.h>
#include <linux/user_namespace.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#ifdef CONFIG_IA32_EMULATION
#include <asm/unistd_32_ia32.h>
#endif

#include "compat/task.h"

/*
 * ptrace checks two properties of the program that task executes in mm: whether it is dumpable, and its user namespace
 * (returned with a reference). Kernels up to 7.1 store them with the address space; since 7.2 they are stored in the
 * thread's exec_state.
 */
#ifdef MASSIF_HAVE_exec_state

bool massif_task_dumpable(struct task_struct *task, struct mm_struct *mm)
{
	bool ok;

	rcu_read_lock();
	ok = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return ok;
}

struct user_namespace *massif_task_image_ns(struct task_struct *task, struct mm_struct *mm)
{
	struct user_namespace *ns;

	rcu_read_lock();
	ns = get_user_ns(rcu_dereference(task->exec_state)->user_ns);
	rcu_read_unlock();
	return ns;
}

#else

bool massif_task_dumpable(struct task_struct *task, struct mm_struct *mm)
{
	return get_dumpable(mm) == SUID_DUMP_USER;
}

struct user_namespace *massif_task_image_ns(struct task_struct *task, struct mm_struct *mm)
{
	return get_user_ns(mm->user_ns);
}

#endif

#ifdef CONFIG_X86_64

const u32 massif_task_arch = MASSIF_ARCH_X86_64;
const u32 massif_task_nr_regs = MASSIF_X86_64_REGS;

/**
 * massif_task_regs() - copy user registers in DWARF order (x86-64 psABI, figure 3.36).
 * @out: room for massif_task_nr_regs values.
 * Return: false for a 32-bit thread.
 */
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

/**
 * massif_task_reg_offset() - get the byte offset in pt_regs of the register with DWARF number @reg.
 */
size_t massif_task_reg_offset(u32 reg)
{
	static const size_t offsets[MASSIF_X86_64_REGS] = {
		offsetof(struct pt_regs, ax), offsetof(struct pt_regs, dx),
		offsetof(struct pt_regs, cx), offsetof(struct pt_regs, bx),
		offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
		offsetof(struct pt_regs, bp), offsetof(struct pt_regs, sp),
		offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
		offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
		offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
		offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
		offsetof(struct pt_regs, ip),
	};

	return offsets[reg];
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

/**
 * massif_task_in_free_mmap() - check whether current is in an mmap() that cannot replace existing mappings.
 *
 * Always returns false for 32-bit threads, which have more than one mmap system call.
 */
bool massif_task_in_free_mmap(void)
{
	const struct pt_regs *regs = task_pt_regs(current);

#ifdef CONFIG_IA32_EMULATION
	if (in_ia32_syscall())
		return false;
#endif
	return massif_task_has_user(current) && regs->orig_ax == __NR_mmap &&
	       !(regs->r10 & MAP_FIXED);
}

#else
#error "massif: no registers for this architecture yet"
#endif

/**
 * massif_task_calls_mremap() - check whether current is in an mremap() system call.
 */
bool massif_task_calls_mremap(void)
{
	return massif_task_has_user(current) && is_mremap(syscall_get_nr(current, task_pt_regs(current)));
}

/**
 * massif_task_in_any_mremap() - get the arguments of current's mremap() system call.
 * Return: false if current is not in mremap().
 */
bool massif_task_in_any_mremap(struct massif_mremap *call)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long args[6];

	if (!massif_task_calls_mremap())
		return false;
	syscall_get_arguments(current, regs, args);
	call->addr = args[0];
	call->old_len = PAGE_ALIGN(args[1]);
	call->new_len = PAGE_ALIGN(args[2]);
	call->flags = args[3];
	call->new_addr = args[4];
	return true;
}

/**
 * massif_task_in_mremap() - like massif_task_in_any_mremap(), but only for a call that grows a mapping, in place if
 * possible.
 *
 * MASSIF_HOOK_GROW uses this to recognise that it was called from mremap(). A hook on the kernel's function for the
 * whole system call would be too late: that function drops mmap_lock before it returns, but the record of a mapping
 * must be written while mmap_lock is held.
 *
 * Return: false if current is not in such a call.
 */
bool massif_task_in_mremap(struct massif_mremap *call)
{
	return massif_task_in_any_mremap(call) && !(call->flags & ~MREMAP_MAYMOVE) &&
	       call->new_len > call->old_len;
}
