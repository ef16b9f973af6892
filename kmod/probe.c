// SPDX-License-Identifier: GPL-2.0
// Hooks by kretprobes, where detours cannot be had.
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include "compat/hookpoint.h"
#include "kprobe.h"
#include "mapping.h"
#include "probe.h"

/*
 * Calls of one hooked function that can be under way at once, asleep in it, in the whole system.
 * More are counted as missed and make a LOST.
 */
#define CALLS	256

/* Those that are armed: each has memory of its own, see massif_kprobe_free(). */
static struct kretprobe *probes[MASSIF_HOOK_COUNT];
static int armed;
/* Of probes that were disarmed before. */
static u64 missed_before;

/* At a function's entry: its first six, each as a word. */
void massif_probe_arguments(struct pt_regs *regs, unsigned long arg[6])
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		arg[i] = regs_get_kernel_argument(regs, i);
}

/* Runs with preemption off, as do all kretprobes. Nonzero: leave is not wanted. */
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

/* When it returns, no handler is running or will: a call under way ends without its leave. */
void massif_probe_disarm(void)
{
	/* All at once, for they wait for RCU. */
	unregister_kretprobes(probes, armed);
	while (armed) {
		struct kretprobe *probe = probes[--armed];

		missed_before += probe->nmissed + probe->kp.nmissed;
		massif_kprobe_free(&probe->kp, probe);
	}
}

/* On an error, dead has the name of the hook that cannot be had. May sleep. */
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

/*
 * How often, since the module was loaded, the kernel could not run a handler; never falls. For who has the
 * hooks armed.
 */
u64 massif_probe_missed(void)
{
	u64 missed = missed_before;
	int i;

	for (i = 0; i < armed; i++)
		missed += probes[i]->nmissed + probes[i]->kp.nmissed;
	return missed;
}
