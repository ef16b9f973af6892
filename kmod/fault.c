// SPDX-License-Identifier: GPL-2.0
// The hooks that see pages become resident: armed while a session wants to know.
#include <linux/kprobes.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat/hookpoint.h"
#include "compat/rss.h"
#include "compat/task.h"
#include "detour.h"
#include "fault.h"
#include "hookset.h"
#include "kprobe.h"
#include "probe.h"
#include "resident.h"
#include "rss_span.h"
#include "target.h"

/*
 * Every fault of the system passes here: whoever is no target leaves by the first line.
 *
 * The function that handles faults is called by a detour, so that what a fault has brought is told
 * when that function returns. Where there are no detours, tracepoints say that a fault begins, and what
 * it has brought is told when the thread returns to user mode: a probe on the function would cost ten
 * times as much.
 */

/* The function is called by a detour; no tracepoints for faults then. */
static bool detoured;

enum event { EVENT_USER, EVENT_KERNEL, EVENT_CHANGE, EVENT_COUNT };

/* How many tests of the hooks are under way (hooktest.c), and what was seen in one since they were armed. */
atomic_t massif_fault_tests = ATOMIC_INIT(0);
static unsigned long seen;

static noinline void note_test(enum event event, struct mm_struct *mm)
{
	struct massif_target *target;

	rcu_read_lock();
	target = massif_target_find(mm);
	if (target && target->test)
		set_bit(event, &seen);
	rcu_read_unlock();
}

static void note(enum event event, struct mm_struct *mm)
{
	if (unlikely(atomic_read(&massif_fault_tests)))
		note_test(event, mm);
}

/* The address space mm is that of a test (1), which is over (-1). */
void massif_fault_test(struct mm_struct *mm, int by)
{
	massif_mm_filter(mm, by);
	atomic_add(by, &massif_fault_tests);
}

/*
 * current's own fault at addr is about to be handled, and has no span of massif_rss_span_enter()'s. A worker,
 * which does not return to user mode, has none: what it changes is told as it changes.
 */
void massif_fault_touch(unsigned long addr)
{
	const struct massif_place place = {
		.addr = addr & PAGE_MASK,
		.len = PAGE_SIZE,
		.cause = MASSIF_RESIDENT_FAULT,
	};
	struct massif_target *target;

	if (!massif_task_has_user(current))
		return;
	rcu_read_lock();
	target = massif_resident_find(current->mm);
	if (target)
		massif_rss_span_touch(target, &place);
	rcu_read_unlock();
}

/* handle_mm_fault is called for a page of mm, while there are tests. */
void massif_fault_seen(struct mm_struct *mm)
{
	note_test(EVENT_KERNEL, mm);
}

static void fault(unsigned long addr, enum event event)
{
	/*
	 * A fault that the kernel has forbidden itself brings nothing in, and can come in any
	 * context.
	 */
	if (addr >= TASK_SIZE_MAX || pagefault_disabled() || !in_task())
		return;
	note(event, current->mm);
	massif_fault_touch(addr);
}

static void on_user_fault(void *unused, unsigned long addr, struct pt_regs *regs,
			  unsigned long error)
{
	if (!massif_resident_unlikely(current->mm))
		fault(addr, EVENT_USER);
}

static void on_kernel_fault(void *unused, unsigned long addr, struct pt_regs *regs,
			    unsigned long error)
{
	if (!massif_resident_unlikely(current->mm))
		fault(addr, EVENT_KERNEL);
}

MASSIF_RSS_STAT_PROBE(on_change, mm, member)
{
	if (massif_resident_unlikely(mm))
		return;
	note(EVENT_CHANGE, mm);
	massif_rss_span_changed(mm, member);
}

static struct {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} events[EVENT_COUNT] = {
	[EVENT_USER]	= { "page_fault_user", on_user_fault },
	[EVENT_KERNEL]	= { "page_fault_kernel", on_kernel_fault },
	[EVENT_CHANGE]	= { "rss_stat", on_change },
};

/* Each has memory of its own, see massif_kprobe_free(); NULL: not armed. */
static struct populate {
	struct kprobe probe;
	const struct massif_hookpoint *point;
} *populates[MASSIF_POPULATE_COUNT];

/* Not on any hot path: what mlock, MAP_POPULATE and the like bring in at once. */
static int on_populate(struct kprobe *probe, struct pt_regs *regs)
{
	struct massif_change change = {};
	struct massif_target *target;
	struct massif_place place;
	unsigned long arg[6];

	massif_probe_arguments(regs, arg);
	container_of(probe, struct populate, probe)->point->decode(arg, &change);
	place = (struct massif_place){
		.addr = change.addr & PAGE_MASK,
		.len = PAGE_ALIGN(change.len),
		.cause = MASSIF_RESIDENT_POPULATE,
	};
	rcu_read_lock();
	target = massif_resident_find(change.mm);
	if (target)
		massif_rss_span_touch(target, &place);
	rcu_read_unlock();
	return 0;
}

static void disarm_populates(int count)
{
	while (count--) {
		struct populate *populate = populates[count];

		if (!populate)
			continue;
		unregister_kprobe(&populate->probe);
		massif_kprobe_free(&populate->probe, populate);
		populates[count] = NULL;
	}
}

static int arm_populate(int i)
{
	struct populate *populate = kzalloc(sizeof(*populate), GFP_KERNEL);
	int err;

	if (!populate)
		return -ENOMEM;
	populate->point = &massif_populatepoints[i];
	populate->probe.symbol_name = massif_populatepoints[i].symbol;
	populate->probe.pre_handler = on_populate;
	err = register_kprobe(&populate->probe);
	if (err)
		kfree(populate);
	else
		populates[i] = populate;
	return err;
}

static int arm_populates(const char **dead)
{
	int i, err;

	for (i = 0; i < MASSIF_POPULATE_COUNT; i++) {
		err = arm_populate(i);
		/* What has another name here, or is not there. */
		if (err && (!i || err != -ENOENT)) {
			*dead = massif_populatepoints[i].symbol;
			disarm_populates(i);
			return err;
		}
	}
	return 0;
}

/* Those before it are not needed. */
static int first_event(void)
{
	return detoured ? EVENT_CHANGE : 0;
}

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < EVENT_COUNT; i++)
		if (!strcmp(tp->name, events[i].name))
			events[i].tp = tp;
}

/* Of the events, those below count are armed. */
static void disarm_to(int count)
{
	while (count-- > first_event())
		tracepoint_probe_unregister(events[count].tp, events[count].probe, NULL);
	tracepoint_synchronize_unregister();
	if (detoured)
		massif_detour_disarm_fault();
	disarm_populates(MASSIF_POPULATE_COUNT);
}

/* -ENODEV and the name of the first that no test has fired since they were armed. */
int massif_fault_missing(const char **dead)
{
	enum event event;

	for (event = detoured ? EVENT_KERNEL : EVENT_USER; event < EVENT_COUNT; event++) {
		if (READ_ONCE(seen) & BIT(event))
			continue;
		*dead = detoured && event == EVENT_KERNEL ? MASSIF_FAULT_SYMBOL : events[event].name;
		return -ENODEV;
	}
	return 0;
}

static int arm(const char **dead)
{
	int i, err;

	err = arm_populates(dead);
	if (err)
		return err;
	detoured = !massif_detour_arm_fault();
	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = first_event(); i < EVENT_COUNT; i++) {
		err = events[i].tp ? tracepoint_probe_register(events[i].tp, events[i].probe,
							       NULL) : -ENOENT;
		if (err) {
			*dead = events[i].name;
			break;
		}
	}
	if (err)
		disarm_to(i);
	else
		WRITE_ONCE(seen, 0);
	return err;
}

static void disarm(void)
{
	disarm_to(EVENT_COUNT);
}

MASSIF_HOOKSET(all, arm, disarm);

/* As massif_hookset_get(). */
int massif_fault_get(char *dead, size_t size)
{
	return massif_hookset_get(&all, dead, size);
}

/* When it returns for the last user, no handler is running or will. May sleep. */
void massif_fault_put(void)
{
	massif_hookset_put(&all);
}
