// SPDX-License-Identifier: GPL-2.0
// Detours: calls to hooked functions that may concern a target go through wrappers in this module.
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
 * ftrace can replace the first instruction of each hooked function with a call. We have it call massif_detour_entry
 * (compat/detour_64.S), which tests whether the address space concerned may be a target. If it cannot be one, the
 * function continues at once, so the cost to the rest of the system is only about ten instructions per call. Otherwise
 * control passes to a wrapper, which calls the enter handler, the rest of the function and the leave handler.
 *
 * A wrapper does not return before its function does. The function may sleep for so long that the hooks are disarmed in
 * the meantime. So each wrapper holds a reference to the module, and rmmod is refused until the last wrapper is
 * about to return. A wrapper takes the reference as its first action; until there is no thread that has not yet taken it,
 * disarming holds a reference (compat/direct.c).
 *
 * A call enters its detour only once: the wrapper calls the address after the first instruction of the function.
 */
#ifdef MASSIF_HAVE_DIRECT

/* Attributes of a function that preserves all registers. clang wants them at the declaration, too. */
#define KEEPS	__attribute__((no_caller_saved_registers)) notrace noinline

asmlinkage void massif_detour_entry(void);
asmlinkage void massif_detour_entry_fault(void);
asmlinkage unsigned long massif_detour_call_fault(unsigned long vma, unsigned long addr,
						  unsigned long flags, unsigned long regs,
						  unsigned long at);
asmlinkage unsigned long massif_detour_fault(unsigned long vma, unsigned long addr,
					     unsigned long flags, unsigned long regs);
asmlinkage KEEPS void massif_detour_remove(void);
asmlinkage KEEPS bool massif_detour_wants_grow(void);
asmlinkage unsigned long massif_detour_call(unsigned long a0, unsigned long a1, unsigned long a2,
					    unsigned long a3, unsigned long a4, unsigned long a5,
					    unsigned long a6, unsigned long at);

/*
 * Every hooked function is called as if it took seven word-sized arguments (more than any of them takes) and returned a
 * word.
 */
#define WORDS	unsigned long a0, unsigned long a1, unsigned long a2, unsigned long a3, \
		unsigned long a4, unsigned long a5, unsigned long a6

/*
 * Address at which each hooked function continues after its first instruction, or 0 if it is not hooked. Constant while
 * the detours are armed, and not reset when they are disarmed.
 */
static unsigned long body[MASSIF_HOOK_COUNT];
static unsigned long sites[MASSIF_HOOK_COUNT];
static unsigned int nr_sites;
static MASSIF_DIRECT(direct, NULL);

/*
 * The page fault handler is hooked separately. fault_site is the address at which ftrace patches the handler.
 * fault_direct describes the ftrace direct call registered there. fault_body is the address at which the handler
 * continues after its first instruction.
 */
static unsigned long fault_body;
static unsigned long fault_site;
static MASSIF_DIRECT(fault_direct, massif_fault_slot_adopt);

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
	result = massif_detour_call(a0, a1, a2, a3, a4, a5, a6, READ_ONCE(body[hook]));
	if (leave)
		massif_mapping_leave(hook, &call, result);
	/*
	 * After module_put() the module may be unloaded, but massif_detour_exit() waits until this thread has left the
	 * function.
	 */
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

/*
 * The detour for MASSIF_HOOK_REMOVE, whose function the kernel calls when a removal of mappings can no longer fail. The
 * detour runs only if the address space may be a target. It can run in any context in which the hooked function can be
 * called.
 */
KEEPS void massif_detour_remove(void)
{
	struct massif_call call = {};

	massif_mapping_enter(MASSIF_HOOK_REMOVE, &call);
}

/*
 * Part of the detour for MASSIF_HOOK_GROW, called when the bounds of a mapping change in an address space that may be a
 * target. Returns true if current is in an mremap() call; the detour then calls the hooked function through a wrapper,
 * which runs handlers before and after it. Otherwise the hooked function runs as if it were not hooked.
 */
KEEPS bool massif_detour_wants_grow(void)
{
	return massif_task_calls_mremap();
}

/*
 * Called instead of handle_mm_fault(vma, addr, flags, regs) if the address space may be a target; calls the original
 * function, which may free vma. If regs is NULL, the kernel is populating pages rather than handling an access by a
 * thread; such pages are reported by on_populate(), or when the counters change. There is one exception: on kernels
 * where threads collect their changes to the counters, a kernel worker's change is always reported by the span of the
 * fault, even if regs is NULL (see changed_alone() in rss_span.c).
 */
asmlinkage unsigned long massif_detour_fault(unsigned long vma, unsigned long addr,
					     unsigned long flags, unsigned long regs)
{
	struct mm_struct *mm = ((struct vm_area_struct *)vma)->vm_mm;
	struct massif_rss_span span MASSIF_RAW;
	unsigned long result;

	if (massif_fault_own(mm) && (regs || (MASSIF_RSS_BY_THREAD && current->flags & MASSIF_PF_WORKER))) {
		if (massif_rss_span_enter(&span, mm, addr & PAGE_MASK)) {
			result = massif_detour_call_fault(vma, addr, flags, regs, READ_ONCE(fault_body));
			if (unlikely(massif_rss_span_leave(&span)))
				module_put(THIS_MODULE);
			return result;
		}
		massif_fault_touch(addr);
	}
	__module_get(THIS_MODULE);
	result = massif_detour_call_fault(vma, addr, flags, regs, READ_ONCE(fault_body));
	module_put(THIS_MODULE);
	return result;
}

/* Defines a symbol for the assembler. */
#define TELL(name, value)	\
	asm volatile(".globl massif_detour_" name "\n\t.set massif_detour_" name ", %c0" : : "i" (value))

#define TELL_BODY(HOOK)	TELL("body_" #HOOK, &body[HOOK]);

/*
 * Emits constants for compat/detour_64.S. In that file, massif_detour_entry tests whether massif_target_filter_of() is 0,
 * and massif_detour_entry_fault performs the same test as massif_resident_unlikely().
 */
static void __used tell_assembler(void)
{
	BUILD_BUG_ON(MASSIF_TARGET_SHIFT != 8 || MASSIF_TARGET_BITS != 8);
	BUILD_BUG_ON(MASSIF_CROWD_SHIFT != 8 || MASSIF_CROWD_BITS != 8);
	MASSIF_EACH_HOOK(TELL_BODY)
	TELL("task_mm", offsetof(struct task_struct, mm));
	TELL("vma_mm", offsetof(struct vm_area_struct, vm_mm));
}

/* Finds the address of the function's first instruction. Fails if ftrace cannot replace that instruction. */
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

/**
 * massif_detour_arm() - arm the detours of all hooks on mappings, or none of them.
 * Context: process context; sleeps.
 * Return: 0; -EINTR after a fatal signal; -EIO if the functions may still be detoured; or another error: the caller then
 *	uses kretprobes.
 */
int massif_detour_arm(void)
{
	int err = wanted ? massif_direct_resume(&direct) : -EOPNOTSUPP;

	if (err)
		return min(err, 0);
	err = find_sites();
	if (err)
		return err;
	used = true;
	return massif_direct_arm(&direct, sites, nr_sites, (unsigned long)massif_detour_entry);
}

/**
 * massif_detour_disarm() - disarm the detours of the hooks on mappings, now or later (massif_direct_disarm()).
 *
 * Once they are disarmed, no thread can enter a wrapper, and each thread still inside one holds a reference to the
 * module. Until then, no address space is a target, for which a wrapper is entered.
 *
 * Context: process context; sleeps.
 */
void massif_detour_disarm(void)
{
	massif_direct_disarm(&direct);
}

/**
 * massif_detour_arm_fault() - arm the detour of the page fault handler.
 * Context: process context; may sleep.
 * Return: as massif_detour_arm(); after another error, the caller uses tracepoints instead.
 */
int massif_detour_arm_fault(void)
{
	int err = wanted ? massif_direct_resume(&fault_direct) : -EOPNOTSUPP;

	if (err)
		return min(err, 0);
	err = find_site(MASSIF_FAULT_SYMBOL, &fault_site);
	if (err)
		return err;
	used = true;
	WRITE_ONCE(fault_body, fault_site + MCOUNT_INSN_SIZE);
	return massif_direct_arm(&fault_direct, &fault_site, 1,
				 (unsigned long)massif_detour_entry_fault);
}

/**
 * massif_detour_disarm_fault() - disarm the detour of the fault handler; see massif_detour_disarm().
 */
void massif_detour_disarm_fault(void)
{
	massif_direct_disarm(&fault_direct);
}

/**
 * massif_detour_exit() - wait until no thread is in a wrapper any more. Called when the module is unloaded.
 *
 * No wrapper holds a reference to the module any more, but a thread may still be about to return from one.
 *
 * Context: process context; sleeps.
 */
void massif_detour_exit(void)
{
	if (!used)
		return;
	massif_direct_exit(&direct);
	massif_direct_exit(&fault_direct);
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
