// SPDX-License-Identifier: GPL-2.0
// Hooks implemented with kretprobes, for kernels on which detours are not available.
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include "compat/hookpoint.h"
#include "kprobe.h"
#include "mapping.h"
#include "probe.h"

/*
 * Maximum number of calls to one hooked function that can be in progress at once in the whole system, including
 * sleeping ones. Further calls are counted as missed and reported by a LOST record.
 */
#define CALLS	256

/* The armed kretprobes. Allocated individually, because massif_kprobe_free() may have to leak one of them. */
static struct kretprobe *probes[MASSIF_HOOK_COUNT];
static int armed;
/* Number of calls missed by kretprobes that were armed for earlier sessions and have since been disarmed. */
static u64 missed_before;

/**
 * massif_probe_arguments() - read the first six arguments of a function at its entry.
 * @regs: registers at the entry.
 * @arg: set to the arguments, each as a word.
 */
void massif_probe_arguments(struct pt_regs *regs, unsigned long arg[6])
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		arg[i] = regs_get_kernel_argument(regs, i);
}

/*
 * Entry handler. Runs with preemption off, as all kretprobe handlers do. Returns non-zero if the leave handler need not
 * be called.
 */
static int enter(enum massif_hook hook, struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct massif_call *call = (struct massif_call *)ri->data;

	memset(call, 0, sizeof(*call));
	massif_probe_arguments(regs, call->arg);
	return !massif_mapping_enter(hook, call);
}

#define HANDLERS(HOOK)								\
static int enter_##HOOK(struct kretprobe_instance *ri, struct pt_regs *regs)	\
{										\
	return enter(HOOK, ri, regs);						\
}										\
static int leave_##HOOK(struct kretprobe_instance *ri, struct pt_regs *regs)	\
{										\
	massif_mapping_leave(HOOK, (struct massif_call *)ri->data,		\
			     regs_return_value(regs));				\
	return 0;								\
}
MASSIF_EACH_HOOK(HANDLERS)

#define HANDLERS_OF(HOOK)	[HOOK] = { enter_##HOOK, leave_##HOOK },
static const struct {
	kretprobe_handler_t enter;
	kretprobe_handler_t leave;
} handlers[MASSIF_HOOK_COUNT] = {
	MASSIF_EACH_HOOK(HANDLERS_OF)
};

/**
 * massif_probe_disarm() - disarm all kretprobes.
 *
 * Once it has returned, no handler is running and none will run. A call that is in progress ends without its leave
 * handler being run.
 *
 * Context: process context; sleeps.
 */
void massif_probe_disarm(void)
{
	/* Unregister all kretprobes in one call, because each call waits for RCU. */
	unregister_kretprobes(probes, armed);
	while (armed) {
		struct kretprobe *probe = probes[--armed];

		missed_before += probe->nmissed + probe->kp.nmissed;
		massif_kprobe_free(&probe->kp, probe);
	}
}

/**
 * massif_probe_arm() - arm all kretprobes or none.
 * @dead: on an error, set to the name of the hook that cannot be armed.
 * Context: process context; sleeps.
 * Return: 0 or an error from register_kretprobe().
 */
int massif_probe_arm(const char **dead)
{
	int i, err;

	armed = 0;
	for (i = 0; i < MASSIF_HOOK_COUNT; i++) {
		struct kretprobe *probe;

		if (!massif_hookpoints[i].symbol)
			continue;
		probe = kzalloc(sizeof(*probe), GFP_KERNEL);
		err = -ENOMEM;
		if (!probe)
			goto err;
		probe->kp.symbol_name = massif_hookpoints[i].symbol;
		probe->entry_handler = handlers[i].enter;
		probe->handler = handlers[i].leave;
		probe->data_size = sizeof(struct massif_call);
		probe->maxactive = CALLS;
		err = register_kretprobe(probe);
		if (err) {
			kfree(probe);
			goto err;
		}
		probes[armed++] = probe;
	}
	return 0;

err:
	*dead = massif_hookpoints[i].symbol;
	massif_probe_disarm();
	return err;
}

/**
 * massif_probe_missed() - get the number of calls that the kretprobes have missed since the module was loaded.
 *
 * The number never decreases. The caller must have armed the hooks.
 *
 * Context: any.
 */
u64 massif_probe_missed(void)
{
	u64 missed = missed_before;
	int i;

	for (i = 0; i < armed; i++)
		missed += READ_ONCE(probes[i]->nmissed) + READ_ONCE(probes[i]->kp.nmissed);
	return missed;
}
