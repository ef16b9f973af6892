/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of resident pages: what differs between kernels. */
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

/*
 * Two levels. What is shared; and what has been collected and not yet added to it: before 6.2 by each
 * thread, up to 64 pages, more with a file's pages around a fault; since then by each processor, up to
 * 32 pages or two for each processor. The resident set is the sum of both. Before 6.2 the tracepoint
 * rss_stat sees each change of what is shared, since then each change.
 *
 * A base is what of mm's counters has been noted, so that the next look at them tells who has changed
 * what. All zero before massif_rss_base_alloc().
 */
#ifdef MASSIF_HAVE_mm_rss_atomic

/* Do processors collect? */
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

/* All that is shared now is noted: rss[]. */
static inline void massif_rss_base_set(struct massif_rss_base *base, struct mm_struct *mm, long *rss)
{
	int member;

	for (member = 0; member < NR_MM_COUNTERS; member++)
		rss[member] = base->shared[member] = atomic_long_read(&mm->rss_stat.count[member]);
}

/* What is shared now, noted or not. */
static inline long massif_rss_shared(struct mm_struct *mm, int member)
{
	return atomic_long_read(&mm->rss_stat.count[member]);
}

/* After rss_stat. Notes what current has changed, if that takes no lock. */
static inline bool massif_rss_note_quickly(struct massif_rss_base *base, struct mm_struct *mm, int member,
					   long *change)
{
	*change = 0;
	return false;
}

/* The same, always. Preemption is off, and calls for one base are serialised. */
static inline long massif_rss_note(struct massif_rss_base *base, struct mm_struct *mm, int member)
{
	long now = atomic_long_read(&mm->rss_stat.count[member]);
	long change = now - base->shared[member];

	base->shared[member] = now;
	return change;
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

/* What processor cpu has collected. */
static inline s32 *massif_rss_of_cpu(struct mm_struct *mm, int member, int cpu)
{
#ifdef CONFIG_SMP
	return per_cpu_ptr(mm->rss_stat[member].counters, cpu);
#else
	static s32 none;

	return &none;
#endif
}

/* False: no memory. May sleep. */
static inline bool massif_rss_base_alloc(struct massif_rss_base *base)
{
	base->seen = alloc_percpu(struct massif_rss_seen);
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
		unsigned long irq;

		/* Nothing is moved from one level to the other meanwhile. */
		raw_spin_lock_irqsave(&counter->lock, irq);
		rss[member] = base->shared[member] = counter->count;
		for_each_possible_cpu(cpu) {
			s32 collected = READ_ONCE(*massif_rss_of_cpu(mm, member, cpu));

			per_cpu_ptr(base->seen, cpu)->collected[member] = collected;
			rss[member] += collected;
		}
		raw_spin_unlock_irqrestore(&counter->lock, irq);
	}
}

static inline long massif_rss_shared(struct mm_struct *mm, int member)
{
	return percpu_counter_sum(&mm->rss_stat[member]);
}

/* What processor cpu has collected since it was last noted. Each change is returned once. */
static inline long massif_rss_note_cpu(struct massif_rss_base *base, struct mm_struct *mm, int member,
				       int cpu)
{
	s32 now = READ_ONCE(*massif_rss_of_cpu(mm, member, cpu));

	return (long)now - xchg(&per_cpu_ptr(base->seen, cpu)->collected[member], now);
}

/*
 * What was collected and became too much has gone to the shared counter: then nothing is left of it.
 * And a task that lost its processor between its change and the tracepoint finds nothing to note on the
 * one that it has now. Preemption is off.
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

/*
 * Processor cpu is off line: what it had collected has been added to what is shared, and it has nothing any more.
 * Calls for one base, and massif_rss_note(), are serialised.
 */
static inline void massif_rss_base_fold(struct massif_rss_base *base, int cpu)
{
	int member;

	for (member = 0; member < NR_MM_COUNTERS; member++)
		base->shared[member] += xchg(&per_cpu_ptr(base->seen, cpu)->collected[member], 0);
}

#endif

/* Do threads collect? And what current has collected; it is of current->mm. */
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
/* Some thread of mm's process, or NULL. Under RCU. */
static inline struct task_struct *massif_rss_thread(struct mm_struct *mm)
{
	struct task_struct *task = current;

#ifdef CONFIG_MEMCG
	if (task->mm != mm)
		task = rcu_dereference(mm->owner);
#endif
	return task && READ_ONCE(task->mm) == mm ? task : NULL;
}
#endif

/*
 * Adds what all threads have collected to rss[]. A process that shares the address space and is not
 * a thread (vfork, CLONE_VM) is not looked at. Under RCU. Returns the number of threads.
 */
static inline int massif_rss_add_collected(struct mm_struct *mm, long *rss)
{
#ifdef MASSIF_HAVE_task_rss_stat
	struct task_struct *leader = massif_rss_thread(mm), *task;
	int member, threads = 0;

	if (!leader)
		return 0;
	for_each_thread(leader, task) {
		for (member = 0; member < NR_MM_COUNTERS; member++)
			rss[member] += READ_ONCE(task->rss_stat.count[member]);
		threads++;
	}
	return threads;
#else
	return 0;
#endif
}

/*
 * The listener to rss_stat, whose arguments differ, too. Nobody is to trace it: that would be one
 * instruction more in every fault.
 */
#ifdef MASSIF_HAVE_mm_rss_atomic
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static notrace void name(void *unused, struct mm_struct *mm, int member, long count)
#else
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static notrace void name(void *unused, struct mm_struct *mm, int member)
#endif

#endif
