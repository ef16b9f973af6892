/* SPDX-License-Identifier: GPL-2.0 */
/* Hides differences between kernel versions and architectures that concern threads, registers and system calls. */
#ifndef MASSIF_COMPAT_TASK_H
#define MASSIF_COMPAT_TASK_H

#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/types.h>

struct mm_struct;
struct pt_regs;
struct user_namespace;

/* The arguments of an mremap() call. Lengths are in bytes, page-aligned. */
struct massif_mremap {
	unsigned long addr;
	unsigned long old_len;
	unsigned long new_len;
	unsigned long flags;
	unsigned long new_addr;		/* new address; valid only with MREMAP_FIXED */
};

/*
 * During execve() the saved user registers are those of the old program. Nothing keeps @task from changing other bits of
 * the same word meanwhile, such as in_iowait.
 */
static inline bool massif_task_in_exec(struct task_struct *task)
{
	return data_race((bool)task->in_execve);
}

/* Flags of kernel threads, and of kernel workers that are threads of a program: io_uring's, and since 6.4 vhost's. */
#ifdef PF_USER_WORKER
#define MASSIF_PF_WORKER	(PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)
#else
#define MASSIF_PF_WORKER	(PF_KTHREAD | PF_IO_WORKER)
#endif

/* True if the thread will return to user mode, so its saved registers are the user-mode registers. */
static inline bool massif_task_has_user(struct task_struct *task)
{
	return !(task->flags & (MASSIF_PF_WORKER | PF_EXITING));
}

/* The probe function of sched_process_exit, which has one more argument since 6.16. */
#ifdef MASSIF_HAVE_exit_group_dead
#define MASSIF_EXIT_PROBE(name, task)	static void name(void *unused, struct task_struct *task, bool group_dead)
#else
#define MASSIF_EXIT_PROBE(name, task)	static void name(void *unused, struct task_struct *task)
#endif

bool massif_task_dumpable(struct task_struct *task, struct mm_struct *mm);
struct user_namespace *massif_task_image_ns(struct task_struct *task, struct mm_struct *mm);
bool massif_task_calls_mremap(void);
bool massif_task_in_mremap(struct massif_mremap *call);
bool massif_task_in_any_mremap(struct massif_mremap *call);
bool massif_task_in_free_mmap(void);

/* The architecture, the number of its registers, and their values, for STACK records. */
extern const u32 massif_task_arch;
extern const u32 massif_task_nr_regs;
bool massif_task_regs(struct pt_regs *regs, u64 *out);
size_t massif_task_reg_offset(u32 reg);

/* True for a 64-bit thread, whose registers massif_task_regs() can return. */
static inline bool massif_task_native(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return user_64bit_mode(regs);
#else
	return true;
#endif
}

#endif
