/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels in the counters of resident pages. */
#ifndef MASSIF_COMPAT_RSS_H
#define MASSIF_COMPAT_RSS_H

#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/thread_info.h>
#ifndef MASSIF_HAVE_mm_rss_atomic
#include <linux/percpu.h>
#include <linux/percpu_counter.h>
#include <linux/smp.h>
#endif

#include "mm.h"

/*
 * The kernel counts an address space's resident pages at two levels: in counters shared by the whole address space, and
 * in collected changes that have not yet been added to the shared counters. Before 6.2, each thread collects up to 64
 * pages, and more if a fault also maps the neighbouring pages of a file. Since 6.2, each processor collects up to 32
 * pages, or up to two pages per processor in the system if that is more. The resident set is the sum of both levels.
 * Before 6.2, the rss_stat tracepoint reports only changes to the shared counters; since 6.2, it reports all changes.
 *
 * The base (struct massif_rss_base) holds the counter values that were read most recently. To note a change, a
 * counter's current value is stored in the base. The difference from the value stored before is the change made by
 * current, or by one processor. A base must be all zero before massif_rss_base_alloc().
 */

/* A counter that has changed since it was last noted in a base. Both values are in pages. */
struct massif_rss_unnoted {
	int member;
	int cpu;			/* the processor whose collected count it is; -1: the shared counter */
	s64 now;			/* the counter's value */
	s64 noted;			/* the value in the base */
};

static inline bool massif_rss_differs(struct massif_rss_unnoted *unnoted, int member, int cpu, s64 now, s64 noted)
{
	*unnoted = (struct massif_rss_unnoted){ .member = member, .cpu = cpu, .now = now, .noted = noted };
	return now != noted;
}

#ifdef MASSIF_HAVE_mm_rss_atomic

/* True if the kernel collects changes to the counters of resident pages per processor, false if per thread. */
#define MASSIF_RSS_BY_CPU	false

struct massif_rss_base {
	long shared[NR_MM_COUNTERS];
};

static inline bool massif_rss_base_alloc(struct massif_rss_base *base)
{
	return true;
}

static inline void massif_rss_base_free(struct massif_rss_base *base)
{
}

/* Reads the shared counters of @mm's resident pages, and stores their values, in pages, both in @base and in rss[]. */
static inline void massif_rss_base_set(struct massif_rss_base *base, struct mm_struct *mm, long *rss)
{
	int member;

	for (member = 0; member < NR_MM_COUNTERS; member++)
		rss[member] = base->shared[member] = atomic_long_read(&mm->rss_stat.count[member]);
}

/* The current value of a shared counter of resident pages, in pages. */
static inline long massif_rss_shared(struct mm_struct *mm, int member)
{
	return atomic_long_read(&mm->rss_stat.count[member]);
}

/*
 * Called by the probe on the rss_stat tracepoint. If no lock is needed, notes in @base the change that current has made
 * to the counter, stores the change in *@change (in pages) and returns true. Otherwise returns false; the caller must
 * then take the lock and call massif_rss_note().
 */
static inline bool massif_rss_note_quickly(struct massif_rss_base *base, struct mm_struct *mm, int member,
					   long *change)
{
	*change = 0;
	return false;
}

/*
 * Stores a counter's current value in @base. Returns the change since the previously stored value, in pages. Called
 * with preemption off; the caller serialises calls for the same base.
 */
static inline long massif_rss_note(struct massif_rss_base *base, struct mm_struct *mm, int member)
{
	long now = atomic_long_read(&mm->rss_stat.count[member]);
	long change = now - base->shared[member];

	base->shared[member] = now;
	return change;
}

/*
 * Returns true, with the first counter in *@unnoted, if the rss_stat tracepoint has yet to report a change to a shared
 * counter. Serialised with massif_rss_note().
 */
static inline bool massif_rss_find_unnoted(const struct massif_rss_base *base, struct mm_struct *mm,
					   struct massif_rss_unnoted *unnoted)
{
	int member;

	for (member = 0; member < NR_MM_COUNTERS; member++)
		if (massif_rss_differs(unnoted, member, -1, atomic_long_read(&mm->rss_stat.count[member]),
				       base->shared[member]))
			return true;
	return false;
}

static inline void massif_rss_base_fold(struct massif_rss_base *base, int cpu)
{
}

#else

#define MASSIF_RSS_BY_CPU	true

struct massif_rss_seen {
	s32 collected[NR_MM_COUNTERS];
};

struct massif_rss_base {
	s64 shared[NR_MM_COUNTERS];
	struct massif_rss_seen __percpu *seen;
};

/* The changes to a counter of resident pages that a processor has collected but not yet added to the shared counter. */
static inline s32 *massif_rss_of_cpu(struct mm_struct *mm, int member, int cpu)
{
#ifdef CONFIG_SMP
	return per_cpu_ptr(mm->rss_stat[member].counters, cpu);
#else
	static s32 none;

	return &none;
#endif
}

/*
 * Between these two, the kernel does not add processors' collected changes to the shared counter. A kernel for a single
 * processor has neither such changes nor a lock.
 */
static inline unsigned long massif_rss_hold(struct percpu_counter *counter)
{
	unsigned long irq;

#ifdef CONFIG_SMP
	raw_spin_lock_irqsave(&counter->lock, irq);
#else
	local_irq_save(irq);
#endif
	return irq;
}

static inline void massif_rss_release(struct percpu_counter *counter, unsigned long irq)
{
#ifdef CONFIG_SMP
	raw_spin_unlock_irqrestore(&counter->lock, irq);
#else
	local_irq_restore(irq);
#endif
}

/*
 * Allocates the per-processor data of @base: the counts that were most recently read. Returns false if out of memory.
 * May sleep.
 */
static inline bool massif_rss_base_alloc(struct massif_rss_base *base)
{
	base->seen = alloc_percpu_gfp(struct massif_rss_seen, GFP_KERNEL_ACCOUNT);
	return base->seen;
}

static inline void massif_rss_base_free(struct massif_rss_base *base)
{
	free_percpu(base->seen);
	base->seen = NULL;
}

static inline void massif_rss_base_set(struct massif_rss_base *base, struct mm_struct *mm, long *rss)
{
	int member, cpu;

	for (member = 0; member < NR_MM_COUNTERS; member++) {
		struct percpu_counter *counter = &mm->rss_stat[member];
		unsigned long irq = massif_rss_hold(counter);

		rss[member] = base->shared[member] = counter->count;
		for_each_possible_cpu(cpu) {
			s32 collected = READ_ONCE(*massif_rss_of_cpu(mm, member, cpu));

			per_cpu_ptr(base->seen, cpu)->collected[member] = collected;
			rss[member] += collected;
		}
		massif_rss_release(counter, irq);
	}
}

static inline long massif_rss_shared(struct mm_struct *mm, int member)
{
	return percpu_counter_sum(&mm->rss_stat[member]);
}

/*
 * A processor's collected count contains the changes of a counter that the processor has not yet added to the shared
 * counter. Returns by how many pages this count differs from the value stored in @base, and stores the new value there.
 * If several threads call this at once, only one of them gets each change.
 */
static inline long massif_rss_note_cpu(struct massif_rss_base *base, struct mm_struct *mm, int member,
				       int cpu)
{
	s32 now = READ_ONCE(*massif_rss_of_cpu(mm, member, cpu));

	return (long)now - xchg(&per_cpu_ptr(base->seen, cpu)->collected[member], now);
}

/*
 * Without taking a lock, notes the change that current has made on this processor. Returns false in two cases: the
 * processor's count became so large that the kernel moved it to the shared counter and left 0, or the task migrated
 * between its change and the tracepoint, so the current processor's count has not changed. Called with preemption off.
 */
static inline bool massif_rss_note_quickly(struct massif_rss_base *base, struct mm_struct *mm, int member,
					   long *change)
{
	s32 now = READ_ONCE(*massif_rss_of_cpu(mm, member, smp_processor_id()));

	*change = 0;
	if (!now)
		return false;
	*change = (long)now - xchg(&this_cpu_ptr(base->seen)->collected[member], now);
	return *change;
}

static inline long massif_rss_note(struct massif_rss_base *base, struct mm_struct *mm, int member)
{
	s64 shared = READ_ONCE(mm->rss_stat[member].count);
	long change = shared - base->shared[member];
	int cpu;

	base->shared[member] = shared;
	for_each_possible_cpu(cpu)
		change += massif_rss_note_cpu(base, mm, member, cpu);
	return change;
}

static inline bool massif_rss_find_unnoted(const struct massif_rss_base *base, struct mm_struct *mm,
					   struct massif_rss_unnoted *unnoted)
{
	int member, cpu;

	for (member = 0; member < NR_MM_COUNTERS; member++) {
		if (massif_rss_differs(unnoted, member, -1, READ_ONCE(mm->rss_stat[member].count),
				       base->shared[member]))
			return true;
		/* A processor may note its own changes meanwhile, without resident.lock. */
		for_each_possible_cpu(cpu)
			if (massif_rss_differs(unnoted, member, cpu,
					       READ_ONCE(*massif_rss_of_cpu(mm, member, cpu)),
					       READ_ONCE(per_cpu_ptr(base->seen, cpu)->collected[member])))
				return true;
	}
	return false;
}

/*
 * Updates @base after processor @cpu has gone offline. The kernel has added that processor's pending changes to the
 * shared counters and reset its own counts to 0; this function makes the corresponding changes in @base. Calls to this
 * function and to massif_rss_note() for the same base are serialised.
 */
static inline void massif_rss_base_fold(struct massif_rss_base *base, int cpu)
{
	int member;

	for (member = 0; member < NR_MM_COUNTERS; member++)
		base->shared[member] += xchg(&per_cpu_ptr(base->seen, cpu)->collected[member], 0);
}

#endif

/*
 * MASSIF_RSS_BY_THREAD is true if each thread collects its changes to the counters of resident pages before it adds
 * them to the shared counters. massif_rss_collected() returns the changes to current->mm's counters that current has
 * collected.
 */
#ifdef MASSIF_HAVE_task_rss_stat
#define MASSIF_RSS_BY_THREAD	true

static inline long massif_rss_collected(int member)
{
	return READ_ONCE(current->rss_stat.count[member]);
}
#else
#define MASSIF_RSS_BY_THREAD	false

static inline long massif_rss_collected(int member)
{
	return 0;
}
#endif

#ifdef MASSIF_HAVE_task_rss_stat
/* Returns a thread of mm's process, or NULL. Called under RCU. */
static inline struct task_struct *massif_rss_thread(struct mm_struct *mm)
{
	return current->mm == mm ? current : massif_mm_owner(mm);
}
#endif

/*
 * The number of threads whose collected changes massif_rss_add_collected() would read. 0 if threads collect no changes.
 * Called under RCU.
 */
static inline int massif_rss_threads(struct mm_struct *mm)
{
#ifdef MASSIF_HAVE_task_rss_stat
	struct task_struct *task = massif_rss_thread(mm);

	return task ? get_nr_threads(task) : 0;
#else
	return 0;
#endif
}

/*
 * Adds to rss[] the changes that all threads of the process have collected but not yet added to the shared counters.
 * Other processes that share the address space (vfork, CLONE_VM) are not included. Called under RCU. Takes time for each
 * thread.
 */
static inline void massif_rss_add_collected(struct mm_struct *mm, long *rss)
{
#ifdef MASSIF_HAVE_task_rss_stat
	struct task_struct *leader = massif_rss_thread(mm), *task;
	int member;

	if (!leader)
		return;
	for_each_thread(leader, task)
		for (member = 0; member < NR_MM_COUNTERS; member++)
			rss[member] += READ_ONCE(task->rss_stat.count[member]);
#endif
}

/*
 * The probe function of rss_stat, whose arguments differ between kernels. notrace saves one instruction in
 * every fault.
 */
#ifdef MASSIF_HAVE_mm_rss_atomic
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static notrace void name(void *unused, struct mm_struct *mm, int member, long count)
#else
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static notrace void name(void *unused, struct mm_struct *mm, int member)
#endif

#endif
