// SPDX-License-Identifier: GPL-2.0
// Hooks on functions that change an address space. Writes MAP, UNMAP and EXIT records.
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/massif.h>
#include <linux/mm.h>

#include "access.h"
#include "compat/hookpoint.h"
#include "compat/mm.h"
#include "compat/task.h"
#include "hooktest.h"
#include "stack_cache.h"
#include "lifecycle.h"
#include "mapping.h"
#include "record.h"
#include "rss_span.h"
#include "session.h"
#include "stack.h"
#include "target.h"
#include "return_work.h"
#include "vma.h"

/*
 * Maximum number of mappings that are examined before a range is unmapped; a program can have any number of mappings.
 * If the range has more, cached stacks are invalidated as if it contained code. On kernels with MASSIF_HOOK_REMOVE, the
 * UNMAP record then has MASSIF_RF_NO_TOTAL, and a resync follows.
 */
#define REMOVED_MAX	1024

/* Stands for a value of total_vm that is not known. */
#define UNKNOWN		ULONG_MAX

/*
 * All hooked functions change mappings with mmap_lock held for writing, so the values read here are stable. The record
 * of a change is in the ring before the next change to the same address space can begin, so the order of records in the
 * ring is the order of changes. There are two exceptions:
 *
 * First, the kernel's munmap function downgrades the lock to a read lock before it changes total_vm. Some kernels keep
 * the lock until the function returns. Other kernels drop it earlier, and their MAP_FIXED does not use the munmap
 * function. On those kernels, the range is noted on entry to munmap or mmap, and reported by MASSIF_HOOK_REMOVE. That
 * hook is on a function that both munmap and an mmap with MAP_FIXED call while they hold the write lock.
 *
 * Second, on some kernels, stacks grow under the read lock (massif_mm_shared_growth).
 *
 * kretprobe handlers run with preemption disabled. If kretprobes are disarmed while a hooked function runs, its leave
 * handler is never called. Therefore no reference is held between the two handlers: only the pointer to the address
 * space and the target's serial number are kept. Objects found under RCU are used only under RCU.
 */

/*
 * If total_vm has changed since the last record, reports that the hooks have missed a change. before: total_vm before
 * the current change, in pages.
 */
static void check_total(struct massif_target *target, unsigned long before)
{
	if (likely(!target->counted || target->last_total == before))
		return;
	target->counted = false;
	massif_target_desync(target);
	if (massif_access_lost(target->session, target))
		return;
	atomic64_inc(&target->session->unseen);
	massif_record_lost(target->session, target, MASSIF_LOST_UNSEEN, 1);
}

/*
 * Writes a MAP record of the given kind (MASSIF_MAP_*). uncounted is the number of the mapping's pages that the kernel
 * has not yet added to total_vm; it adds them later, before it drops mmap_lock.
 */
static void report_map(struct massif_target *target, enum massif_hook hook, u32 kind,
		       const struct massif_change *change, unsigned long uncounted)
{
	const bool shared = massif_mm_shared_growth && hook == MASSIF_HOOK_STACK;
	unsigned long pages = change->len >> PAGE_SHIFT;
	unsigned long total = change->mm->total_vm + uncounted;
	struct massif_rec_map rec = {
		.addr = change->addr,
		.len = change->len,
		.kind = kind,
		.prot = massif_vma_prot(change->vm_flags, change->file),
	};

	if (shared)
		lockdep_assert_held(&target->grow_lock);
	else
		lockdep_assert_held_write(&change->mm->mmap_lock);
	if (target->test) {
		massif_hooktest_saw(target, hook);
		return;
	}
	/*
	 * If a stack can grow while mmap_lock is held only for reading, total_vm may already include the growth of
	 * another stack, not yet reported. So compute the total for this record, and do not compare it with total_vm.
	 */
	if (shared && target->counted)
		total = target->last_total + pages;
	else
		check_total(target, total - pages);
	target->last_total = total;

	/*
	 * The code that was at these addresses before may have been made non-executable by mprotect before it was
	 * unmapped, which announce() cannot see.
	 */
	if (rec.prot & MASSIF_PROT_EXEC)
		massif_stack_cache_drop(target);
	massif_record_init(&rec.h, MASSIF_REC_MAP, sizeof(rec), target->session, target);
	rec.h.total_vm = total;
	/*
	 * The destination of a move always gets a STACK record, even if the stack is cached. The consumer holds the MAP
	 * back until it reads that STACK record, and by then it has also read the UNMAP of the source.
	 */
	massif_stack_explain(&rec.h, target, hook == MASSIF_HOOK_COPY);
	massif_record_write(target->session, target, &rec.h, false);

	if (!(rec.prot & MASSIF_PROT_FILE))
		return;
	if (rec.h.flags & (MASSIF_RF_EXTERNAL | MASSIF_RF_IN_EXEC))
		massif_target_desync(target);
	else
		massif_return_work_name(target, rec.addr, rec.len);
}

/*
 * Writes an UNMAP record for [addr, addr + len). before and after: total_vm before and after the removal, in pages.
 * after can be UNKNOWN; a resync then follows, from which changes are compared with total_vm again.
 */
static void report_unmap(struct massif_target *target, enum massif_hook hook, unsigned long addr,
			 unsigned long len, unsigned long before, unsigned long after)
{
	struct massif_rec_map rec = { .addr = addr, .len = len };

	lockdep_assert_held(&target->mm->mmap_lock);
	if (target->test) {
		massif_hooktest_saw(target, hook);
		return;
	}
	target->grown = NULL;
	check_total(target, before);
	target->last_total = after;

	massif_record_init(&rec.h, MASSIF_REC_UNMAP, sizeof(rec), target->session, target);
	/*
	 * MASSIF_HOOK_REMOVE runs before the pages are removed, MASSIF_HOOK_UNMAP afterwards. If the target has an MMU
	 * notifier when MASSIF_HOOK_UNMAP runs, the notifier was registered before the removal began, because
	 * registering it takes mmap_lock. So the notifier has been called for all the pages removed.
	 */
	if (hook == MASSIF_HOOK_UNMAP && READ_ONCE(target->resident.rss_notifier))
		rec.h.flags |= MASSIF_RF_GONE;
	rec.h.total_vm = after;
	if (after == UNKNOWN) {
		rec.h.total_vm = 0;
		rec.h.flags |= MASSIF_RF_NO_TOTAL;
		target->counted = false;
		massif_target_unnamed(target);
	}
	massif_record_write(target->session, target, &rec.h, false);

	/*
	 * If the target is out of sync, the queued work that copies the stack for a record also resyncs the target. An
	 * UNMAP record has no stack, so queue a resync explicitly.
	 */
	if (unlikely(!massif_target_synced(target)) &&
	    !(rec.h.flags & (MASSIF_RF_EXTERNAL | MASSIF_RF_IN_EXEC)) &&
	    massif_task_has_user(current))
		massif_return_work_resync(target, current, MASSIF_RESYNC_LOST);
}

/* Writes a MAP record for a call of a hooked function that has created a mapping; used by most leave handlers. */
static void mapped(const struct massif_call *call, enum massif_hook hook, u32 kind, bool uncounted)
{
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	if (target)
		report_map(target, hook, kind, &call->change,
			   uncounted ? call->change.len >> PAGE_SHIFT : 0);
	rcu_read_unlock();
}

/* What a range that is about to be removed contains. */
struct survey {
	unsigned long pages;	/* number of mapped pages */
	bool code;		/* executable code is, or may be, mapped in the range */
	bool complete;		/* false if the range has more than REMOVED_MAX mappings: pages is then too small */
};

/*
 * Examines the range that the hooked call is about to remove. This function must not sleep, and other threads wait for
 * mmap_lock meanwhile, so it gives up after REMOVED_MAX mappings.
 */
static struct survey survey(const struct massif_change *change)
{
	unsigned long start = change->addr, end = start + change->len;
	struct vm_area_struct *vma = change->vma ?: find_vma(change->mm, start);
	struct survey found = { .complete = true };
	unsigned int count = 0;

	while (vma && vma->vm_start < end) {
		if (++count > REMOVED_MAX)
			return (struct survey){ .code = true };
		found.pages += (min(vma->vm_end, end) - max(vma->vm_start, start)) >> PAGE_SHIFT;
		found.code |= !!(vma->vm_flags & VM_EXEC);
		/*
		 * Do not look up a mapping beyond the range: find_vma() takes more time than all the rest of this
		 * function.
		 */
		vma = vma->vm_end < end ? find_vma(change->mm, vma->vm_end) : NULL;
	}
	return found;
}

/*
 * Prepares for the removal of the range of a call, which can still fail. Invalidates the cached stacks if the range
 * contains code, because other code may be mapped there next. Stores the range in target->removing, from which
 * enter_remove() reports it.
 */
static void announce(struct massif_target *target, const struct massif_call *call)
{
	const struct massif_change *change = &call->change;
	struct survey found;

	lockdep_assert_held_write(&change->mm->mmap_lock);
	found = survey(change);
	if (found.code)
		massif_stack_cache_drop(target);
	if (!massif_hookpoints[MASSIF_HOOK_REMOVE].symbol || (found.complete && !found.pages))
		return;
	target->removing.addr = change->addr;
	target->removing.len = change->len;
	target->removing.pages = found.complete ? found.pages : 0;
	WRITE_ONCE(target->removing.by, current);
}

/*
 * Called after the range was removed or the call failed. Clears the range in target->removing, but only if current
 * announced it: mmap_lock may have been dropped in between, so the range stored there may by now be another thread's.
 */
static void unannounce(struct massif_target *target)
{
	if (READ_ONCE(target->removing.by) == current)
		WRITE_ONCE(target->removing.by, NULL);
}

/*
 * Returns the target that was found when the hooked function was entered, or NULL if that target is gone. Also returns
 * NULL if the address space now has a different target: a session has then begun to follow it during the call, and the
 * first resync of the new target has yet to be written.
 */
static struct massif_target *still(const struct massif_call *call)
{
	struct massif_target *target = massif_target_find(call->change.mm);

	return target && target->serial == call->target ? target : NULL;
}

/*
 * A driver may insert pages into a mapping of its file while the file is being mapped; io_uring and packet sockets do.
 * Begins a span (an interval in which current may change the resident set), so that such pages are reported with the
 * mapping's address range and current's stack. The pages of a regular file become resident only by faults.
 */
static void expect_pages(struct massif_target *target, const struct massif_change *change)
{
	const struct massif_place place = {
		.addr = change->addr,
		.len = change->len,
		.cause = MASSIF_RESIDENT_POPULATE,
	};

	if (change->file && !S_ISREG(file_inode(change->file)->i_mode) && smp_load_acquire(&target->resident.attached))
		massif_rss_span_touch(target, &place);
}

static bool enter_mmap(struct massif_target *target, struct massif_call *call)
{
	expect_pages(target, &call->change);
	/*
	 * An mmap without MAP_FIXED replaces no mapping, so skip the search for mapped pages in its range: the search
	 * costs more than everything else here.
	 */
	if (!massif_hookpoints[MASSIF_HOOK_REMOVE].symbol || massif_task_in_free_mmap())
		return true;
	announce(target, call);
	return true;
}

static void leave_mmap(struct massif_call *call, unsigned long result)
{
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	if (target && target->serial == call->target)
		unannounce(target);
	if (target && !IS_ERR_VALUE(result)) {
		call->change.addr = result;
		report_map(target, MASSIF_HOOK_MMAP, MASSIF_MAP_MMAP, &call->change, 0);
	}
	rcu_read_unlock();
}

static bool enter_unmap(struct massif_target *target, struct massif_call *call)
{
	atomic_inc(&target->unmapping);
	announce(target, call);
	return true;
}

static void leave_unmap(struct massif_call *call, unsigned long result)
{
	struct massif_target *target;

	rcu_read_lock();
	target = still(call);
	if (target) {
		if (massif_hookpoints[MASSIF_HOOK_REMOVE].symbol) {
			unannounce(target);
			if (target->test)
				massif_hooktest_saw(target, MASSIF_HOOK_UNMAP);
		} else if ((int)result >= 0) {
			/*
			 * The kernel's munmap function returns 0 if it has succeeded, or 1 if it has also downgraded
			 * mmap_lock to a read lock.
			 */
			report_unmap(target, MASSIF_HOOK_UNMAP, call->change.addr,
				     call->change.len, call->total, call->change.mm->total_vm);
		}
		atomic_dec(&target->unmapping);
	}
	rcu_read_unlock();
}

/* Reports the removal of the range that current announced in target->removing: the removal can no longer fail. */
static bool enter_remove(struct massif_target *target, struct massif_call *call)
{
	if (READ_ONCE(target->removing.by) == current) {
		WRITE_ONCE(target->removing.by, NULL);
		report_unmap(target, MASSIF_HOOK_REMOVE, target->removing.addr,
			     target->removing.len, call->total,
			     target->removing.pages ? call->total - target->removing.pages : UNKNOWN);
	}
	return false;
}

static void leave_brk(struct massif_call *call, unsigned long result)
{
	if (!(int)result)
		mapped(call, MASSIF_HOOK_BRK, MASSIF_MAP_BRK, false);
}

/*
 * Reports that a stack has grown since the enter handler ran; now is the stack's new start address. If several threads
 * have grown it at the same time, each of them calls this function, and the first one reports the whole growth.
 */
static void grown_together(struct massif_call *call, unsigned long now)
{
	struct massif_change *change = &call->change;
	struct massif_target *target;
	unsigned long irq;

	rcu_read_lock();
	target = still(call);
	if (!target)
		goto out;
	raw_spin_lock_irqsave(&target->grow_lock, irq);
	if (target->grown == change->vma && target->grown_to < change->addr)
		change->addr = max(target->grown_to, now);
	if (now < change->addr) {
		target->grown = change->vma;
		target->grown_to = now;
		change->len = change->addr - now;
		change->addr = now;
		report_map(target, MASSIF_HOOK_STACK, MASSIF_MAP_STACK, change, 0);
	}
	raw_spin_unlock_irqrestore(&target->grow_lock, irq);
out:
	rcu_read_unlock();
}

static void leave_stack(struct massif_call *call, unsigned long result)
{
	struct massif_change *change = &call->change;
	unsigned long now = change->vma->vm_start;

	if ((int)result || now >= change->addr)
		return;
	if (massif_mm_shared_growth) {
		grown_together(call, now);
		return;
	}
	change->len = change->addr - now;
	change->addr = now;
	mapped(call, MASSIF_HOOK_STACK, MASSIF_MAP_STACK, false);
}

/* True if any page of [addr, addr + len) is mapped. */
static bool overlaps(struct mm_struct *mm, unsigned long addr, unsigned long len)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start < addr + len;
}

/*
 * mremap grows a mapping into the range just after it. If that range is free now and mapped when the function returns,
 * the mapping has grown in place. The splits and merges of a move never touch that range: the kernel moves a mapping
 * only if that range is not free.
 */
static bool enter_grow(struct massif_target *target, struct massif_call *call)
{
	struct massif_change *change = &call->change;
	struct massif_mremap mremap;

	if (change->mm != current->mm || !massif_task_in_mremap(&mremap))
		return false;
	change->addr = mremap.addr + mremap.old_len;
	change->len = mremap.new_len - mremap.old_len;
	return !overlaps(change->mm, change->addr, change->len);
}

static void leave_grow(struct massif_call *call, unsigned long result)
{
	if (!(int)result && overlaps(call->change.mm, call->change.addr, call->change.len))
		mapped(call, MASSIF_HOOK_GROW, MASSIF_MAP_MREMAP_GROW, true);
}

static void leave_extend(struct massif_call *call, unsigned long result)
{
	if (result)
		mapped(call, MASSIF_HOOK_EXTEND, MASSIF_MAP_MREMAP_GROW, true);
}

static void leave_copy(struct massif_call *call, unsigned long result)
{
	struct massif_target *target;

	if (!result)
		return;
	mapped(call, MASSIF_HOOK_COPY, MASSIF_MAP_MREMAP_COPY, true);
	rcu_read_lock();
	target = massif_target_find(call->change.mm);
	if (target && !target->test)
		massif_resident_move(target, call->change.addr, call->change.len);
	rcu_read_unlock();
}

static void leave_special(struct massif_call *call, unsigned long result)
{
	if (!IS_ERR_VALUE(result))
		mapped(call, MASSIF_HOOK_SPECIAL, MASSIF_MAP_SPECIAL, false);
}

/* The address space is about to be torn down: write the target's last records and remove it. */
static bool enter_exit(struct massif_target *target, struct massif_call *call)
{
	struct mm_struct *mm = call->change.mm;

	if (target->test) {
		massif_hooktest_saw(target, MASSIF_HOOK_EXIT);
		massif_target_remove(target);
	} else if (massif_access_lost(target->session, target)) {
		massif_lifecycle_hide(target);
	} else {
		struct massif_session *session = target->session;
		struct massif_rec_exit rec = { .tgid = target->tgid };

		check_total(target, mm->total_vm);
		if (target->resident.attached)
			massif_resident_base(target, mm);
		massif_record_init(&rec.h, MASSIF_REC_EXIT, sizeof(rec), session, target);
		rec.h.total_vm = mm->total_vm;
		/*
		 * An EXIT record never has MASSIF_RF_EXTERNAL set, even if another process drops the last reference to
		 * the address space.
		 */
		rec.h.flags = 0;
		massif_record_write_exit(target, &rec, false);
		massif_target_remove(target);
		massif_session_wake(session);
	}
	return false;
}

static const struct {
	/*
	 * Handler for the entry of a hooked function, called under RCU. Returns true if the leave handler must be
	 * called when the function returns. If a hook has no enter handler, its leave handler is always called.
	 */
	bool (*enter)(struct massif_target *target, struct massif_call *call);
	void (*leave)(struct massif_call *call, unsigned long result);
} hooks[MASSIF_HOOK_COUNT] = {
	[MASSIF_HOOK_MMAP]	= { enter_mmap, leave_mmap },
	[MASSIF_HOOK_UNMAP]	= { enter_unmap, leave_unmap },
	[MASSIF_HOOK_REMOVE]	= { enter_remove, NULL },
	[MASSIF_HOOK_GROW]	= { enter_grow, leave_grow },
	[MASSIF_HOOK_EXTEND]	= { NULL, leave_extend },
	[MASSIF_HOOK_BRK]	= { NULL, leave_brk },
	[MASSIF_HOOK_STACK]	= { NULL, leave_stack },
	[MASSIF_HOOK_COPY]	= { NULL, leave_copy },
	[MASSIF_HOOK_SPECIAL]	= { NULL, leave_special },
	[MASSIF_HOOK_EXIT]	= { enter_exit, NULL },
};

/**
 * massif_mapping_enter() - handle the entry of a hooked function.
 * @call: arg has the function's arguments; all other fields are zero.
 * Context: hook, in any context in which the hooked function is called; does not sleep.
 * Return: true if massif_mapping_leave() must be called when the function returns.
 */
bool massif_mapping_enter(enum massif_hook hook, struct massif_call *call)
{
	struct massif_target *target;
	struct mm_struct *mm;
	bool leave = false;

	massif_hookpoints[hook].decode(call->arg, &call->change);
	mm = call->change.mm;
	if (!mm)
		return false;
	rcu_read_lock();
	target = massif_target_find(mm);
	if (target) {
		call->target = target->serial;
		call->total = mm->total_vm;
		leave = !hooks[hook].enter || hooks[hook].enter(target, call);
	}
	rcu_read_unlock();
	return leave;
}

/**
 * massif_mapping_leave() - handle the return of a hooked function.
 * @call: as left by massif_mapping_enter().
 * @result: the function's return value.
 * Context: as for massif_mapping_enter().
 */
void massif_mapping_leave(enum massif_hook hook, struct massif_call *call, unsigned long result)
{
	hooks[hook].leave(call, result);
}
