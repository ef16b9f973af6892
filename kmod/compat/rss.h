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
#include <linux/percpu_counter.h>
#endif

/*
 * Two levels. What is shared by all threads, whose every change passes the tracepoint rss_stat; and,
 * before 6.2, what each thread has collected and not yet added to it: up to 64 pages, more with a
 * file's pages around a fault. The resident set is the sum of both.
 */
static inline long massif_rss_shared(struct mm_struct *mm, int member)
{
#ifdef MASSIF_HAVE_mm_rss_atomic
	return atomic_long_read(&mm->rss_stat.count[member]);
#else
	return percpu_counter_sum(&mm->rss_stat[member]);
#endif
}

/* What current has collected; it is of current->mm. */
static inline long massif_rss_collected(int member)
{
#ifdef MASSIF_HAVE_task_rss_stat
	return READ_ONCE(current->rss_stat.count[member]);
#else
	return 0;
#endif
}

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

/* The listener to rss_stat, whose arguments differ, too. */
#ifdef MASSIF_HAVE_mm_rss_atomic
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static void name(void *unused, struct mm_struct *mm, int member, long count)
#else
#define MASSIF_RSS_STAT_PROBE(name, mm, member) \
	static void name(void *unused, struct mm_struct *mm, int member)
#endif

#endif
