// SPDX-License-Identifier: GPL-2.0
// Writes an ARGS record: the arguments of the program that the current process has just executed.
#include <linux/kernel.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "args.h"
#include "record.h"
#include "session.h"
#include "target.h"

/**
 * massif_args_write() - write an ARGS record for current's new program.
 * @target: the target of current's address space.
 *
 * If the arguments cannot be read, or there is no memory, no record is written; nothing depends on the record.
 *
 * Context: task_work of current, before the first instruction of its program; may sleep.
 */
void massif_args_write(struct massif_target *target)
{
	struct massif_session *session = target->session;
	unsigned long start = READ_ONCE(current->mm->arg_start);
	unsigned long end = READ_ONCE(current->mm->arg_end);
	struct massif_rec_args *rec;
	size_t bytes, size;

	if (end <= start)
		return;
	bytes = min_t(unsigned long, end - start, MASSIF_ARGS_MAX);
	size = ALIGN(sizeof(*rec) + bytes, 8);
	rec = kzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!rec)
		return;
	if (!copy_from_user(rec->args, (void __user *)start, bytes)) {
		massif_record_init(&rec->h, MASSIF_REC_ARGS, size, session, target);
		rec->tgid = task_tgid_nr_ns(current, session->pid_ns);
		rec->bytes = bytes;
		massif_record_write(session, target, &rec->h, false);
	}
	kfree(rec);
}
