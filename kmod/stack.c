// SPDX-License-Identifier: GPL-2.0
// Attaches a stack to a record: a cached one, or registers and stack bytes copied from user memory.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "access.h"
#include "compat/task.h"
#include "stack_cache.h"
#include "record.h"
#include "session.h"
#include "stack.h"
#include "target.h"
#include "return_work.h"

/**
 * massif_stack_explain() - attach to a record the call stack of current, which caused the record's event.
 * @rec: the record, whose fields capture and flags are set here. capture is the number of a cached stack, or of a STACK
 *	record that is written before the thread returns to user mode.
 * @own: require a STACK record even if the stack is cached.
 * Context: hook, RCU read-side section; neither sleeps nor takes a kernel lock.
 */
void massif_stack_explain(struct massif_record *rec, struct massif_target *target, bool own)
{
	struct massif_session *session = target->session;
	u32 known = 0;

	if (!massif_task_has_user(current))
		rec->flags |= MASSIF_RF_EXTERNAL;
	if (rec->flags & (MASSIF_RF_EXTERNAL | MASSIF_RF_IN_EXEC) || !session->max_stack)
		return;
	/* If the session may not observe current, the record that needs the stack will not be written either. */
	if (massif_access_lost(session, target))
		return;
	/*
	 * If the ring has no room for the record that needs the stack, do not spend the program's time on a stack copy.
	 */
	if (massif_ring_full(&session->ring)) {
		atomic64_inc(&session->captures_limited);
		rec->flags |= MASSIF_RF_NO_CAPTURE;
		return;
	}
	if (!own)
		known = massif_stack_cache_find(target);
	if (known && !session->verify) {
		rec->capture = known;
		rec->flags |= MASSIF_RF_KNOWN;
		return;
	}
	rec->capture = massif_return_work_capture(target, known);
	if (!rec->capture)
		rec->flags |= MASSIF_RF_NO_CAPTURE;
}

static void init(struct massif_rec_stack *rec, size_t size, struct massif_target *target,
		 const struct massif_stack_copy *capture, u32 stack_flags)
{
	massif_record_init(&rec->h, MASSIF_REC_STACK, size, target->session, target);
	rec->h.capture = capture->number;
	rec->arch = massif_task_arch;
	rec->stack_flags = stack_flags;
	rec->code_gen = capture->code_gen;
}

/*
 * Writes a STACK record without registers and bytes. @stack_flags contains the reason. If it is 0, the stack equals the
 * cached stack with number @known.
 */
static void write_empty(struct massif_target *target, const struct massif_stack_copy *capture,
			u32 stack_flags, u32 known)
{
	struct massif_rec_stack rec = { .data_off = sizeof(rec), .known = known };

	init(&rec, sizeof(rec), target, capture, stack_flags);
	massif_record_write(target->session, target, &rec.h, false);
}

/**
 * massif_stack_gone() - write an empty STACK record for a thread that ended before its stack could be copied.
 * Context: task_work; may sleep.
 */
void massif_stack_gone(struct massif_target *target, const struct massif_stack_copy *capture)
{
	write_empty(target, capture, MASSIF_STACK_GONE, 0);
}

/*
 * Returns the number of stack bytes from sp up to the end of the mapping. This also gives the right result for the
 * stacks of threads and coroutines. On the process's initial stack, the arguments and the environment are excluded.
 * Returns 0 if nothing is mapped at sp, or if the thread is killed while waiting for mmap_lock.
 */
static size_t stack_bytes(struct mm_struct *mm, unsigned long sp)
{
	struct vm_area_struct *vma;
	unsigned long end = sp;

	if (mmap_read_lock_killable(mm))
		return 0;
	vma = find_vma(mm, sp);
	if (vma && vma->vm_start <= sp) {
		end = vma->vm_end;
		/* The frame of _start extends at most to argc, the word at mm->start_stack. */
		if (sp <= mm->start_stack && mm->start_stack < end)
			end = min(end, mm->start_stack + sizeof(long));
	}
	mmap_read_unlock(mm);
	return end - sp;
}

/* Copies up to want bytes of the stack to the space after rec's registers. Returns the number of bytes copied. */
static size_t copy_bytes(struct massif_rec_stack *rec, size_t fixed, unsigned long sp, size_t want)
{
	void *bytes = (void *)rec + fixed;
	size_t got = want - copy_from_user(bytes, (void __user *)sp, want);

	/* Do not pass uninitialised kernel memory to the consumer. */
	memset(bytes + got, 0, ALIGN(got, 8) - got);
	return got;
}

/* Writes the STACK record. Includes the stack bytes only if the ring has room for them. */
static void write_stack(struct massif_target *target, struct massif_rec_stack *rec, size_t fixed)
{
	struct massif_session *session = target->session;

	if (rec->bytes && massif_record_try_stack(session, target, rec))
		return;
	if (rec->bytes) {
		rec->bytes = 0;
		rec->h.size = fixed;
		rec->stack_flags = MASSIF_STACK_LIMITED;
	}
	if (rec->stack_flags & MASSIF_STACK_LIMITED)
		atomic64_inc(&session->captures_limited);
	massif_record_write(session, target, &rec->h, false);
}

/**
 * massif_stack_capture() - write the STACK record of current, whose address space is the target's.
 * Context: task_work of current; may sleep.
 */
void massif_stack_capture(struct massif_target *target, const struct massif_stack_copy *capture)
{
	struct massif_session *session = target->session;
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long sp = user_stack_pointer(regs);
	const size_t fixed = sizeof(struct massif_rec_stack) + massif_task_nr_regs * sizeof(u64);
	struct massif_rec_stack *rec;
	size_t want, got = 0, size;
	u32 flags = 0, known;

	if (massif_access_lost(session, target))
		return;
	rcu_read_lock();
	known = capture->known;
	/* The stack cache is freed when the session is closed, so use it only while the target is alive. */
	if (!known && READ_ONCE(target->alive))
		known = massif_stack_cache_find(target);
	rcu_read_unlock();
	if (known && !session->verify) {
		write_empty(target, capture, 0, known);
		return;
	}
	/* Copying the stack of a killed thread would only delay its end. */
	if (fatal_signal_pending(current)) {
		massif_stack_gone(target, capture);
		return;
	}

	want = stack_bytes(current->mm, sp);
	if (want > session->max_stack) {
		want = session->max_stack;
		flags |= MASSIF_STACK_TRUNCATED;
		atomic64_inc(&session->captures_truncated);
	}
	size = fixed + ALIGN(want, 8);
	/* There is no room in the ring, so do not slow the program down by copying the stack. */
	if (want && massif_ring_room(&session->ring, MASSIF_RING_STACK) < size) {
		flags = MASSIF_STACK_LIMITED;
		want = 0;
		size = fixed;
	}
	/*
	 * The memory for the STACK record is charged to the memory cgroup, because the program can make the copy below
	 * sleep indefinitely, and the memory stays in use all that time.
	 */
	rec = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!rec) {
		flags = MASSIF_STACK_NO_MEMORY;
		want = 0;
		size = fixed;
		rec = kmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	}
	if (!rec) {
		write_empty(target, capture, MASSIF_STACK_NO_MEMORY, known);
		return;
	}

	memset(rec, 0, fixed);
	if (!massif_task_regs(regs, rec->regs)) {
		flags |= MASSIF_STACK_COMPAT;
		want = 0;
	}
	if (want)
		got = copy_bytes(rec, fixed, sp, want);
	if (got < want || !(want || flags))
		flags |= MASSIF_STACK_FAULTED;

	init(rec, fixed + ALIGN(got, 8), target, capture, flags);
	rec->nr_regs = massif_task_nr_regs;
	rec->data_off = fixed;
	rec->known = known;
	rec->sp = sp;
	rec->bytes = got;
	write_stack(target, rec, fixed);
	kvfree(rec);
}
