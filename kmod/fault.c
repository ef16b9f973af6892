// SPDX-License-Identifier: GPL-2.0
// The hooks that see pages become resident: armed while a session wants to know.
#include <linux/kprobes.h>
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#include "compat/hookpoint.h"
#include "compat/rss.h"
#include "detour.h"
#include "fault.h"
#include "hookset.h"
#include "probe.h"
#include "resident.h"
#include "span.h"
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

/* While the hooks are tried: by whom, and which have been seen. */
struct task_struct *massif_fault_tester;
static unsigned long seen;

enum event { EVENT_USER, EVENT_KERNEL, EVENT_CHANGE, EVENT_COUNT };

static void note(enum event event)
{
	if (unlikely(READ_ONCE(massif_fault_tester) == current))
		set_bit(event, &seen);
}

/* current's own fault at addr is about to be handled, and has no span of massif_span_enter()'s. */
void massif_fault_touch(unsigned long addr)
{
	const struct massif_place place = {
		.addr = addr & PAGE_MASK,
		.len = PAGE_SIZE,
		.cause = MASSIF_RESIDENT_FAULT,
	};
	struct massif_target *target;

	rcu_read_lock();
	target = massif_resident_find(current->mm);
	if (target)
		massif_span_touch(target, &place);
	rcu_read_unlock();
}

/* handle_mm_fault is called by the one who tries the hooks. */
void massif_fault_seen(void)
{
	set_bit(EVENT_KERNEL, &seen);
}

static void fault(unsigned long addr, enum event event)
{
	/*
	 * A fault that the kernel has forbidden itself brings nothing in, and can come in any
	 * context.
	 */
	if (addr >= TASK_SIZE_MAX || pagefault_disabled() || !in_task())
		return;
	note(event);
	if (current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_EXITING))
		return;
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
	note(EVENT_CHANGE);
	massif_span_changed(mm, member);
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

static struct kprobe populates[MASSIF_POPULATE_COUNT];

/* Not on any hot path: what mlock, MAP_POPULATE and the like bring in at once. */
static int on_populate(struct kprobe *probe, struct pt_regs *regs)
{
	struct massif_change change = {};
	struct massif_target *target;
	struct massif_place place;
	unsigned long arg[6];

	massif_probe_arguments(regs, arg);
	massif_populatepoints[probe - populates].decode(arg, &change);
	place = (struct massif_place){
		.addr = change.addr & PAGE_MASK,
		.len = PAGE_ALIGN(change.len),
		.cause = MASSIF_RESIDENT_POPULATE,
	};
	rcu_read_lock();
	target = massif_resident_find(change.mm);
	if (target)
		massif_span_touch(target, &place);
	rcu_read_unlock();
	return 0;
}

static void disarm_populates(int count)
{
	while (count--) {
		if (populates[count].addr)
			unregister_kprobe(&populates[count]);
	}
}

static int arm_populates(const char **dead)
{
	int i, err;

	for (i = 0; i < MASSIF_POPULATE_COUNT; i++) {
		populates[i] = (struct kprobe){
			.symbol_name = massif_populatepoints[i].symbol,
			.pre_handler = on_populate,
		};
		err = register_kprobe(&populates[i]);
		if (err)
			populates[i].addr = NULL;
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

/* Brings a page in, and takes it away. */
static int try(const char **dead)
{
	unsigned long at;
	int err;

	massif_resident_crowd(current->mm, 1);
	seen = 0;
	WRITE_ONCE(massif_fault_tester, current);
	at = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	err = IS_ERR_VALUE(at) ? (int)at : 0;
	if (!err) {
		err = put_user(0, (char __user *)at);
		vm_munmap(at, PAGE_SIZE);
	}
	WRITE_ONCE(massif_fault_tester, NULL);
	massif_resident_crowd(current->mm, -1);
	if (err)
		return err;
	if (!(seen & BIT(EVENT_KERNEL)))
		*dead = detoured ? MASSIF_FAULT_SYMBOL : events[EVENT_KERNEL].name;
	else if (!(seen & BIT(EVENT_CHANGE)))
		*dead = events[EVENT_CHANGE].name;
	return *dead ? -ENODEV : 0;
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
	if (!err)
		err = try(dead);
	if (err)
		disarm_to(i);
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
