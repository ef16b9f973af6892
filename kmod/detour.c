// SPDX-License-Identifier: GPL-2.0
// Detours: calls of hooked functions go through wrappers of ours, if they concern a target.
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "compat/direct.h"
#include "compat/symbol.h"
#include "compat/hookpoint.h"
#include "compat/task.h"
#include "fault_slots.h"
#include "detour.h"
#include "fault.h"
#include "mapping.h"
#include "resident.h"
#include "rss_span.h"
#include "target.h"

/*
 * The first instruction of each hooked function is a place where ftrace can put a call. It gets a
 * call of massif_detour_entry (compat/detour_64.S), which asks whether the address space that this call
 * is about could be a target. If not, the function just goes on: that is all there is to pay for the
 * rest of the system, some ten instructions. Else the call goes to a wrapper instead, which calls enter,
 * the rest of the function, and leave.
 *
 * A wrapper is left when its function returns, and that may sleep, even after the hooks were
 * disarmed. So each wrapper holds the module while it is in it: rmmod is refused until the last
 * one has been left. It takes hold when it begins, and before that disarming waits for it.
 *
 * Nothing here is entered twice: a wrapper calls what comes after that first instruction.
 */
#ifdef MASSIF_HAVE_DIRECT

asmlinkage void massif_detour_entry(void);
asmlinkage void massif_detour_entry_fault(void);
asmlinkage unsigned long massif_detour_call_fault(unsigned long vma, unsigned long addr,
						  unsigned long flags, unsigned long regs,
						  unsigned long at);
asmlinkage unsigned long massif_detour_fault(unsigned long vma, unsigned long addr,
					     unsigned long flags, unsigned long regs);
asmlinkage void massif_detour_remove(void);
asmlinkage bool massif_detour_wants_grow(void);
asmlinkage unsigned long massif_detour_call(unsigned long a0, unsigned long a1, unsigned long a2,
					    unsigned long a3, unsigned long a4, unsigned long a5,
					    unsigned long a6, unsigned long at);

/* Every function is taken for one of seven words, more than any has, that returns a word. */
#define WORDS	unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3, \
		unsigned long a4, unsigned long a5, unsigned long a6

/* Where each hooked function goes on after the call: 0, not hooked. Constant while armed, never emptied. */
static unsigned long body[MASSIF_HOOK_COUNT];
static unsigned long sites[MASSIF_HOOK_COUNT];
static unsigned int nr_sites;
static struct massif_direct direct;

/* The same for the function that handles faults, which is hooked by itself. */
static unsigned long fault_body;
static unsigned long fault_site;
static struct massif_direct fault_direct;

static bool wanted = true;
module_param_named(detours, wanted, bool, 0444);
MODULE_PARM_DESC(detours, "hook functions by direct calls if possible, not by kretprobes");

static bool used;

static __always_inline unsigned long wrap(enum massif_hook hook, WORDS)
{
	struct massif_call call = { .arg = { a0, a1, a2, a3, a4, a5 } };
	unsigned long result;
	bool leave;

	__module_get(THIS_MODULE);
	leave = massif_mapping_enter(hook, &call);
	result = massif_detour_call(a0, a1, a2, a3, a4, a5, a6, body[hook]);
	if (leave)
		massif_mapping_leave(hook, &call, result);
	/* massif_detour_exit() waits for the few instructions that are left. */
	module_put(THIS_MODULE);
	return result;
}

#define WRAPPER(HOOK)						\
asmlinkage unsigned long massif_detour_wrap_##HOOK(WORDS);	\
asmlinkage unsigned long massif_detour_wrap_##HOOK(WORDS)	\
{								\
	return wrap(HOOK, a0, a1, a2, a3, a4, a5, a6);		\
}
MASSIF_EACH_HOOK(WRAPPER)

/* Of a function that leaves all registers as they are. */
#define KEEPS	__attribute__((no_caller_saved_registers)) notrace noinline

/* MASSIF_HOOK_REMOVE, of what may be a target. Runs in any context that the hooked functions have. */
KEEPS void massif_detour_remove(void)
{
	struct massif_call call = {};

	massif_mapping_enter(MASSIF_HOOK_REMOVE, &call);
}

/* MASSIF_HOOK_GROW, of what may be a target: is it worth a wrapper? */
KEEPS bool massif_detour_wants_grow(void)
{
	return massif_task_calls_mremap();
}

/*
 * handle_mm_fault(vma, addr, flags, regs), of an address space that can be a target's. vma is not to
 * be used after it. regs is NULL where the kernel brings in pages that nobody has touched: those are
 * found by what they change, or by on_populate().
 */
asmlinkage unsigned long massif_detour_fault(unsigned long vma, unsigned long addr,
					     unsigned long flags, unsigned long regs)
{
	struct mm_struct *mm = ((struct vm_area_struct *)vma)->vm_mm;
	struct massif_rss_span span MASSIF_RAW;
	unsigned long result;

	if (massif_fault_own(mm) && regs) {
		if (massif_rss_span_enter(&span, mm, addr & PAGE_MASK)) {
			result = massif_detour_call_fault(vma, addr, flags, regs, fault_body);
			if (unlikely(massif_rss_span_leave(&span)))
				module_put(THIS_MODULE);
			return result;
		}
		massif_fault_touch(addr);
	}
	__module_get(THIS_MODULE);
	result = massif_detour_call_fault(vma, addr, flags, regs, fault_body);
	module_put(THIS_MODULE);
	return result;
}

/* A name for the assembler. */
#define TELL(name, value)	\
	asm volatile(".globl massif_detour_" name "\n\t.set massif_detour_" name ", %c0" : : "i" (value))

#define TELL_BODY(HOOK)	TELL("body_" #HOOK, &body[HOOK]);

/*
 * What compat/detour_64.S has to know: massif_detour_entry asks whether massif_target_chain() is empty,
 * and massif_detour_entry_fault massif_resident_unlikely().
 */
static void __used tell_assembler(void)
{
	BUILD_BUG_ON(MASSIF_TARGET_SHIFT != 8 || MASSIF_TARGET_BITS != 8);
	BUILD_BUG_ON(MASSIF_CROWD_SHIFT != 8 || MASSIF_CROWD_BITS != 8);
	MASSIF_EACH_HOOK(TELL_BODY)
	TELL("task_mm", offsetof(struct task_struct, mm));
	TELL("vma_mm", offsetof(struct vm_area_struct, vm_mm));
}

/* Where a kprobe on the function would go, if ftrace owns that place. */
static int find_site(const char *symbol, unsigned long *site)
{
	bool owned;
	int err = massif_symbol_find(symbol, site, &owned);

	return err || owned ? err : -EOPNOTSUPP;
}

static int find_sites(void)
{
	unsigned int hook;
	int err;

	nr_sites = 0;
	for (hook = 0; hook < MASSIF_HOOK_COUNT; hook++) {
		if (!massif_hookpoints[hook].symbol)
			continue;
		err = find_site(massif_hookpoints[hook].symbol, &sites[nr_sites]);
		if (err)
			return err;
		WRITE_ONCE(body[hook], sites[nr_sites++] + MCOUNT_INSN_SIZE);
	}
	return 0;
}

/* All hooks or none. An error means that they must be had in another way. May sleep. */
int massif_detour_arm(void)
{
	int err = wanted ? find_sites() : -EOPNOTSUPP;

	if (err)
		return err;
	used = true;
	return massif_direct_arm(&direct, sites, nr_sites, (unsigned long)massif_detour_entry);
}

/*
 * When it returns, no wrapper is begun any more, and who is in one holds the module. May sleep.
 */
void massif_detour_disarm(void)
{
	massif_direct_disarm(&direct, sites, nr_sites, (unsigned long)massif_detour_entry);
}

/* The same for faults. An error means that they must be seen in another way. */
int massif_detour_arm_fault(void)
{
	int err = wanted ? find_site(MASSIF_FAULT_SYMBOL, &fault_site) : -EOPNOTSUPP;

	if (err)
		return err;
	used = true;
	WRITE_ONCE(fault_body, fault_site + MCOUNT_INSN_SIZE);
	return massif_direct_arm(&fault_direct, &fault_site, 1,
				 (unsigned long)massif_detour_entry_fault);
}

void massif_detour_disarm_fault(void)
{
	massif_direct_disarm(&fault_direct, &fault_site, 1,
			     (unsigned long)massif_detour_entry_fault);
	massif_fault_slot_adopt();
}

/* Nobody holds the module for a wrapper; but a thread may still be about to return from one. */
void massif_detour_exit(void)
{
	if (used)
		synchronize_rcu_tasks();
}

#else

int massif_detour_arm(void)
{
	return -EOPNOTSUPP;
}

void massif_detour_disarm(void)
{
}

int massif_detour_arm_fault(void)
{
	return -EOPNOTSUPP;
}

void massif_detour_disarm_fault(void)
{
}

void massif_detour_exit(void)
{
}

#endif
