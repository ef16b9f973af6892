// SPDX-License-Identifier: GPL-2.0
// The hooks that see an address space change, and the MAP, UNMAP and EXIT records they write.
#include <linux/err.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/ptrace.h>

#include "compat/hookpoint.h"
#include "compat/task.h"
#include "mapping.h"
#include "record.h"
#include "session.h"
#include "target.h"
#include "visit.h"
#include "vma.h"

/*
 * All hooked functions change mappings with mmap_lock held for writing (the munmap core may go down
 * to reading, but not let go, before it returns). So what is read here is at rest, the record of a
 * change is in the ring before the next change of the same address space can begin, and ring order
 * is the order of changes.
 *
 * The handlers run with preemption off. What they find under RCU they use under RCU; between enter
 * and leave only the address space's pointer is kept, because leave never runs if the hooks are
 * disarmed in between.
 */
struct call {
	struct massif_change change;
	u32 target;			/* its number */
	unsigned long total;		/* pages, at enter */
};

const size_t massif_mapping_data_size = sizeof(struct call);

/* total_vm is not what it was after the last record: a change has escaped the hooks. */
static void check_total(struct massif_target *target, unsigned long before)
{
	if (likely(!target->counted || target->last_total == before))
		return;
	target->counted = false;
	massif_target_desync(target);
	atomic64_inc(&target->session->unseen);
	massif_record_lost(target->session, target, MASSIF_LOST_UNSEEN, 1);
}

/* Whose doing is it? Fills capture and flags. */
static void explain(struct massif_record *rec, struct massif_target *target)
{
	if (!massif_task_has_user(current))
		rec->flags |= MASSIF_RF_EXTERNAL;
	if (rec->flags || !target->session->max_stack)
		return;
	rec->capture = massif_visit_capture(target);
	if (!rec->capture)
		rec->flags |= MASSIF_RF_NO_CAPTURE;
}

/*
 * change has happened to target, in the way of kind; the kernel will add uncounted pages to
 * total_vm before it drops mmap_lock.
 */
static void report_map(struct massif_target *target, enum massif_hook hook, u32 kind,
		       const struct massif_change *change, unsigned long uncounted)
{
	unsigned long pages = change->len >> PAGE_SHIFT;
	unsigned long total = change->mm->total_vm + uncounted;
	struct massif_rec_map rec = {
		.addr = change->addr,
		.len = change->len,
		.kind = kind,
		.prot = massif_vma_prot(change->vm_flags, change->file),
	};

	lockdep_assert_held_write(&change->mm->mmap_lock);
	if (target->test) {
		set_bit(hook, &target->seen);
		return;
	}
	check_total(target, total - pages);
	target->last_total = total;

	massif_record_init(&rec.h, MASSIF_REC_MAP, sizeof(rec), target->session, target);
	rec.h.total_vm = total;
	explain(&rec.h, target);
	massif_record_write(target->session, target, &rec.h, false);

	if (!(rec.prot & MASSIF_PROT_FILE))
		return;
	if (rec.h.flags & (MASSIF_RF_EXTERNAL | MASSIF_RF_IN_EXEC))
		massif_target_desync(target);
	else
		massif_visit_name(target, rec.addr, rec.len);
}

static void report_unmap(struct massif_target *target, const struct call *call)
{
	const struct massif_change *change = &call->change;
	struct massif_rec_map rec = { .addr = change->addr, .len = change->len };

	lockdep_assert_held(&change->mm->mmap_lock);
	if (target->test) {
		set_bit(MASSIF_HOOK_UNMAP, &target->seen);
		return;
	}
	check_total(target, call->total);
	target->last_total = change->mm->total_vm;

	massif_record_init(&rec.h, MASSIF_REC_UNMAP, sizeof(rec), target->session, target);
	rec.h.total_vm = target->last_total;
	massif_record_write(target->session, target, &rec.h, false);

	/* No stack is due for this, but somebody must say what was lost. */
	if (unlikely(!massif_target_synced(target)) && !rec.h.flags &&
	    massif_task_has_user(current))
		massif_visit_resync(target, current, MASSIF_RESYNC_LOST);
}

/* Common to all enter handlers: decode, and see whether anybody wants to know. */
static bool wanted(struct kretprobe_instance *ri, struct pt_regs *regs, enum massif_hook hook)
{
	struct call *call = (struct call *)ri->data;
	struct massif_target *target;

	memset(call, 0, sizeof(*call));
	massif_hookpoints[hook].decode(regs, &call->change);
	if (!call->change.mm)
		return false;

	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	if (target) {
		call->target = target->id;
		call->total = call->change.mm->total_vm;
		if (hook == MASSIF_HOOK_UNMAP)
			atomic_inc(&target->unmapping);
	}
	rcu_read_unlock();
	return target;
}

/* Common to all leave handlers that report a MAP. */
static void mapped(const struct call *call, enum massif_hook hook, u32 kind, bool uncounted)
{
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	if (target)
		report_map(target, hook, kind, &call->change,
			   uncounted ? call->change.len >> PAGE_SHIFT : 0);
	rcu_read_unlock();
}

static int enter_mmap(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_MMAP);
}

static int leave_mmap(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	if (IS_ERR_VALUE(regs_return_value(regs)))
		return 0;
	call->change.addr = regs_return_value(regs);
	mapped(call, MASSIF_HOOK_MMAP, MASSIF_MAP_MMAP, false);
	return 0;
}

static int enter_unmap(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_UNMAP);
}

static int leave_unmap(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	/*
	 * Another target than at enter: its session began in between, its first resync is yet to
	 * come.
	 */
	if (target && target->id == call->target) {
		/* 1: done, and the lock is held for reading now. */
		if ((int)regs_return_value(regs) >= 0)
			report_unmap(target, call);
		atomic_dec(&target->unmapping);
	}
	rcu_read_unlock();
	return 0;
}

static int enter_brk(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_BRK);
}

static int leave_brk(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!(int)regs_return_value(regs))
		mapped((struct call *)ri->data, MASSIF_HOOK_BRK, MASSIF_MAP_BRK, false);
	return 0;
}

static int enter_stack(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_STACK);
}

static int leave_stack(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	struct massif_change *change = &call->change;
	unsigned long now = change->vma->vm_start;

	if ((int)regs_return_value(regs) || now >= change->addr)
		return 0;
	change->len = change->addr - now;
	change->addr = now;
	mapped(call, MASSIF_HOOK_STACK, MASSIF_MAP_STACK, false);
	return 0;
}

/* Is any of [addr, addr + len) mapped? */
static bool overlaps(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start < addr + len;
}

/*
 * The extension that mremap asks for is free now: if it is mapped when the function returns, then
 * this was the growth in place. (Splits and merges for a move never touch that range: a move is
 * only tried where the extension is not free.)
 */
static int enter_grow(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct massif_change *change = &((struct call *)ri->data)->change;
	struct massif_mremap mremap;

	if (!wanted(ri, regs, MASSIF_HOOK_GROW) || change->mm != current->mm ||
	    !massif_task_in_mremap(&mremap))
		return 1;
	change->addr = mremap.addr + mremap.old_len;
	change->len = mremap.new_len - mremap.old_len;
	return overlaps(change->mm, change->addr, change->len);
}

static int leave_grow(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	if (!(int)regs_return_value(regs) &&
	    overlaps(call->change.mm, call->change.addr, call->change.len))
		mapped(call, MASSIF_HOOK_GROW, MASSIF_MAP_MREMAP_GROW, true);
	return 0;
}

static int enter_copy(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_COPY);
}

static int leave_copy(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (regs_return_value(regs))
		mapped((struct call *)ri->data, MASSIF_HOOK_COPY, MASSIF_MAP_MREMAP_COPY, true);
	return 0;
}

static int enter_special(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return !wanted(ri, regs, MASSIF_HOOK_SPECIAL);
}

static int leave_special(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (!IS_ERR_VALUE(regs_return_value(regs)))
		mapped((struct call *)ri->data, MASSIF_HOOK_SPECIAL, MASSIF_MAP_SPECIAL, false);
	return 0;
}

const struct massif_mapping_hook massif_mapping_hooks[MASSIF_HOOK_COUNT] = {
	[MASSIF_HOOK_MMAP]	= { enter_mmap, leave_mmap },
	[MASSIF_HOOK_UNMAP]	= { enter_unmap, leave_unmap },
	[MASSIF_HOOK_BRK]	= { enter_brk, leave_brk },
	[MASSIF_HOOK_STACK]	= { enter_stack, leave_stack },
	[MASSIF_HOOK_GROW]	= { enter_grow, leave_grow },
	[MASSIF_HOOK_COPY]	= { enter_copy, leave_copy },
	[MASSIF_HOOK_SPECIAL]	= { enter_special, leave_special },
};

/* The last user has gone, and nothing is torn down yet: the target's last moment. */
int massif_mapping_exit(struct kprobe *probe, struct pt_regs *regs)
{
	struct mm_struct *mm = (struct mm_struct *)regs_get_kernel_argument(regs, 0);
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(mm);
	if (target && !target->test) {
		struct massif_session *session = target->session;
		struct massif_rec_exit rec = { .tgid = target->tgid };

		check_total(target, mm->total_vm);
		massif_record_init(&rec.h, MASSIF_REC_EXIT, sizeof(rec), session, target);
		rec.h.total_vm = mm->total_vm;
		/* Its own end is nobody else's doing, whoever dropped the last reference. */
		rec.h.flags = 0;
		massif_record_write(session, target, &rec.h, true);
		massif_target_remove(target);
		massif_session_wake(session);
	}
	rcu_read_unlock();
	return 0;
}
