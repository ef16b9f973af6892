// SPDX-License-Identifier: GPL-2.0
// A STACK record of the current thread: user registers, and the stack's bytes, copied with faults.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat/mm.h"
#include "compat/task.h"
#include "record.h"
#include "session.h"
#include "stack.h"
#include "target.h"

/* A record without registers and bytes: why there are none is in stack_flags. */
static void write_empty(struct massif_target *target, u32 capture, u32 stack_flags)
{
	struct massif_rec_stack rec = {
		.arch = massif_task_arch,
		.stack_flags = stack_flags,
		.data_off = sizeof(rec),
	};

	massif_record_init(&rec.h, MASSIF_REC_STACK, sizeof(rec), target->session, target);
	rec.h.capture = capture;
	massif_record_write(target->session, target, &rec.h, false);
}

/* The thread went away before its stack could be copied. */
void massif_stack_gone(struct massif_target *target, u32 capture)
{
	write_empty(target, capture, MASSIF_STACK_GONE);
}

/*
 * How many bytes from sp up are stack: to the end of its mapping, which is right for threads and
 * coroutines as well, but on the first stack not into arguments and environment. 0 if sp points
 * nowhere.
 */
static size_t stack_bytes(struct mm_struct *mm, unsigned long sp)
{
	struct vm_area_struct *vma;
	unsigned long end = sp;

	mmap_read_lock(mm);
	vma = find_vma(mm, sp);
	if (vma && vma->vm_start <= sp) {
		end = vma->vm_end;
		/* At start_stack is argc, the last that _start's frame can reach. */
		if (sp <= mm->start_stack && mm->start_stack < end)
			end = min(end, mm->start_stack + sizeof(long));
	}
	mmap_read_unlock(mm);
	return end - sp;
}

/* In current, on its way to user mode, whose address space is the target's. May sleep. */
void massif_stack_capture(struct massif_target *target, u32 capture)
{
	struct massif_session *session = target->session;
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long sp = user_stack_pointer(regs);
	const size_t fixed = sizeof(struct massif_rec_stack) + massif_task_nr_regs * sizeof(u64);
	struct massif_rec_stack *rec;
	size_t want, got = 0, size;
	u32 flags = 0;

	if (!session->privileged && !massif_mm_dumpable(current->mm)) {
		write_empty(target, capture, MASSIF_STACK_DENIED);
		return;
	}

	want = stack_bytes(current->mm, sp);
	if (want > session->max_stack) {
		want = session->max_stack;
		flags |= MASSIF_STACK_TRUNCATED;
	}
	size = fixed + ALIGN(want, 8);
	rec = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	if (!rec) {
		flags = MASSIF_STACK_NO_MEMORY;
		want = 0;
		size = fixed;
		rec = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	}
	if (!rec) {
		write_empty(target, capture, MASSIF_STACK_NO_MEMORY);
		return;
	}

	memset(rec, 0, fixed);
	if (!massif_task_regs(regs, rec->regs)) {
		flags |= MASSIF_STACK_COMPAT;
		want = 0;
	}
	if (want) {
		void *bytes = (void *)rec + fixed;

		got = want - copy_from_user(bytes, (void __user *)sp, want);
		if (got < want)
			flags |= MASSIF_STACK_FAULTED;
		memset(bytes + got, 0, ALIGN(got, 8) - got);
	} else if (!(flags & (MASSIF_STACK_NO_MEMORY | MASSIF_STACK_COMPAT))) {
		flags |= MASSIF_STACK_FAULTED;
	}

	massif_record_init(&rec->h, MASSIF_REC_STACK, fixed + ALIGN(got, 8), session, target);
	rec->h.capture = capture;
	rec->arch = massif_task_arch;
	rec->nr_regs = massif_task_nr_regs;
	rec->stack_flags = flags;
	rec->data_off = fixed;
	rec->sp = sp;
	rec->bytes = got;
	massif_record_write(session, target, &rec->h, false);
	kvfree(rec);
}
