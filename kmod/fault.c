// SPDX-License-Identifier: GPL-2.0
// The hooks on page faults and on the kernel's counters of resident pages, armed while a session tracks such pages.
#include <linux/kprobes.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/kmem.h>

#include "compat/fault_events.h"
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
 * These hooks run on every page fault in the system, but return after the first test if the address space is not a
 * target.
 *
 * The function that handles faults is hooked by a detour, so the change made by a fault is reported when that function
 * returns. Where detours are not available, a tracepoint signals the start of a fault, and the change is reported when
 * the thread returns to user mode. A kretprobe on the function would cost ten times as much.
 */

/* True if the fault handler is hooked by a detour. The tracepoints on page faults are then not used. */
static bool detoured;

enum event { EVENT_USER, EVENT_KERNEL, EVENT_CHANGE, EVENT_COUNT };

/*
 * Number of hook tests that are running (hooktest.c), and the events seen in any test since the hooks were
 * armed.
 */
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

/**
 * massif_fault_test() - begin a hook test in an address space if @by is 1, or end it if @by is -1.
 * Context: process context.
 */
void massif_fault_test(struct mm_struct *mm, int by)
{
	massif_mm_filter(mm, by);
	atomic_add(by, &massif_fault_tests);
}

/**
 * massif_fault_touch() - begin a span for a page fault by current, unless massif_rss_span_enter() has already begun
 * one.
 * @addr: the faulting address.
 *
 * A span is an interval in which one task changes resident pages (rss_span.h). The span begun here ends no later than
 * when current returns to user mode. A kernel worker never returns to user mode, so it gets no span: its changes are
 * reported one by one.
 *
 * Context: fault hook; may take resident.lock.
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

/**
 * massif_fault_seen() - note a fault on a page of @mm while hook tests are running.
 * Context: fault hook.
 */
void massif_fault_seen(struct mm_struct *mm)
{
	note_test(EVENT_KERNEL, mm);
}

static void fault(unsigned long addr, enum event event)
{
	/* Ignore faults while page faults are disabled: such faults do not map a page, and can occur in any context. */
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

/* Compiles only if each probe function has exactly the parameters with which the kernel calls it; see lifecycle.c. */
static void __maybe_unused check_types(void)
{
	check_trace_callback_type_page_fault_user(on_user_fault);
	check_trace_callback_type_page_fault_kernel(on_kernel_fault);
	check_trace_callback_type_rss_stat(on_change);
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

/*
 * The kprobes on functions that populate a range with pages. Allocated one by one, because massif_kprobe_free() may
 * have to leak one of them. NULL if not armed.
 */
static struct populate {
	struct kprobe probe;
	const struct massif_hookpoint *point;
} *populates[MASSIF_POPULATE_COUNT];

/*
 * Hook on the functions that populate a whole range with pages, for example for mlock or MAP_POPULATE. Not called
 * often.
 */
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
		/*
		 * Only the first function in massif_populatepoints[] exists in all kernels. The others may have
		 * different names or not exist.
		 */
		if (err && (!i || err != -ENOENT)) {
			*dead = massif_populatepoints[i].symbol;
			disarm_populates(i);
			return err;
		}
	}
	return 0;
}

/*
 * Returns the index in events[] of the first tracepoint to arm. If the page fault handler is hooked by a detour, the
 * tracepoints on page faults, which come first in events[], are not armed.
 */
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

/* Disarms all hooks of this file. Of the tracepoints in events[], only those with an index below @count are armed. */
static void disarm_to(int count)
{
	while (count-- > first_event())
		tracepoint_probe_unregister(events[count].tp, events[count].probe, NULL);
	tracepoint_synchronize_unregister();
	/* The kprobes first: once the detour is being disarmed, ftrace may be locked for any length of time. */
	disarm_populates(MASSIF_POPULATE_COUNT);
	if (detoured)
		massif_detour_disarm_fault();
}

/**
 * massif_fault_missing() - check that each hook in this file has fired in a hook test since it was armed.
 * @dead: set to the name of the first hook that has not.
 * Context: any.
 * Return: 0 or -ENODEV.
 */
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
	/* The detour first: it waits until none is being disarmed, and the wait can be interrupted by a fatal signal. */
	int i, err = massif_detour_arm_fault();

	/* A handler that could not be disarmed may still be detoured, so tracepoints would report each fault twice. */
	if (err == -EIO)
		*dead = MASSIF_FAULT_SYMBOL;
	if (err == -EIO || err == -EINTR)
		return err;
	detoured = !err;
	WRITE_ONCE(massif_rss_faults_have_spans, detoured);
	err = arm_populates(dead);
	if (err) {
		if (detoured)
			massif_detour_disarm_fault();
		return err;
	}
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

/**
 * massif_fault_get() - arm the hooks for one more session; see massif_hookset_get().
 */
int massif_fault_get(char *dead, size_t size)
{
	return massif_hookset_get(&all, dead, size);
}

/**
 * massif_fault_put() - disarm the hooks if no other session uses them.
 *
 * When it has returned after being called for the last session, no handler finds a target any more. If the detour cannot
 * be disarmed soon, that is done later.
 *
 * Context: process context; sleeps.
 */
void massif_fault_put(void)
{
	massif_hookset_put(&all);
}
