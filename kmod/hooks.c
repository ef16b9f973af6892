// SPDX-License-Identifier: GPL-2.0
// All hooks together: armed with the first session, disarmed with the last.
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat/hookpoint.h"
#include "hooks.h"
#include "hooktest.h"
#include "lifecycle.h"
#include "mapping.h"

/*
 * Calls of one hooked function that can be under way at once, asleep in it, in the whole system.
 * More are counted as missed and make a LOST.
 */
#define CALLS	256

/* Serialises arming and disarming; protects users. */
static DEFINE_MUTEX(lock);
static unsigned int users;

static struct kretprobe calls[MASSIF_HOOK_COUNT];
static struct kretprobe *call_pointers[MASSIF_HOOK_COUNT];
static struct kprobe exit_call;
static struct tracepoint *tracepoints[MASSIF_LIFECYCLE_COUNT];
/* Of probes that were disarmed before. */
static u64 missed_before;

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < MASSIF_LIFECYCLE_COUNT; i++)
		if (!strcmp(tp->name, massif_lifecycle_events[i].name))
			tracepoints[i] = tp;
}

static void disarm_calls(int count)
{
	/* All at once, for they wait for RCU. */
	unregister_kretprobes(call_pointers, count);
	while (count--) {
		missed_before += calls[count].nmissed + calls[count].kp.nmissed;
		calls[count].nmissed = 0;
		calls[count].kp.nmissed = 0;
	}
}

static int arm_calls(const char **dead)
{
	int i, err;

	for (i = 0; i < MASSIF_HOOK_COUNT; i++) {
		call_pointers[i] = &calls[i];
		/* A probe that was registered before cannot be registered as it is. */
		calls[i] = (struct kretprobe){
			.kp.symbol_name = massif_hookpoints[i].symbol,
			.entry_handler = massif_mapping_hooks[i].enter,
			.handler = massif_mapping_hooks[i].leave,
			.data_size = massif_mapping_data_size,
			.maxactive = CALLS,
		};
		err = register_kretprobe(&calls[i]);
		if (err) {
			*dead = massif_hookpoints[i].symbol;
			disarm_calls(i);
			return err;
		}
	}
	return 0;
}

static int arm_exit(const char **dead)
{
	int err;

	exit_call = (struct kprobe){
		.symbol_name = massif_hookpoint_exit,
		.pre_handler = massif_mapping_exit,
	};
	err = register_kprobe(&exit_call);
	if (err)
		*dead = massif_hookpoint_exit;
	return err;
}

static void disarm_exit(void)
{
	unregister_kprobe(&exit_call);
	missed_before += exit_call.nmissed;
	exit_call.nmissed = 0;
}

static void disarm_tracepoints(int count)
{
	while (count--)
		tracepoint_probe_unregister(tracepoints[count],
					    massif_lifecycle_events[count].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int arm_tracepoints(const char **dead)
{
	int i, err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < MASSIF_LIFECYCLE_COUNT; i++) {
		err = tracepoints[i] ? tracepoint_probe_register(tracepoints[i],
					massif_lifecycle_events[i].probe, NULL) : -ENOENT;
		if (err) {
			*dead = massif_lifecycle_events[i].name;
			disarm_tracepoints(i);
			return err;
		}
	}
	return 0;
}

static int arm(const char **dead)
{
	int err;

	err = arm_calls(dead);
	if (err)
		return err;
	err = arm_exit(dead);
	if (err)
		goto err_calls;
	err = arm_tracepoints(dead);
	if (err)
		goto err_exit;
	/*
	 * That a function can be hooked does not mean that the kernel calls it: it may be inlined.
	 */
	err = massif_hooktest_run(dead);
	if (err)
		goto err_tracepoints;
	return 0;

err_tracepoints:
	disarm_tracepoints(MASSIF_LIFECYCLE_COUNT);
err_exit:
	disarm_exit();
err_calls:
	disarm_calls(MASSIF_HOOK_COUNT);
	return err;
}

/*
 * Arms the hooks for the first user. -ENODEV with a hook's name in dead if one is not to be had or
 * does not work; other errors have no name (memory). May sleep.
 */
int massif_hooks_get(char *dead, size_t size)
{
	const char *name = NULL;
	int err = 0;

	mutex_lock(&lock);
	if (!users)
		err = arm(&name);
	if (!err)
		users++;
	mutex_unlock(&lock);

	if (err && err != -ENOMEM && name) {
		pr_warn("%s: hook %s cannot be used (%d)\n", KBUILD_MODNAME, name, err);
		strscpy(dead, name, size);
		err = -ENODEV;
	}
	return err;
}

/* When it returns for the last user, no handler is running or will. May sleep. */
void massif_hooks_put(void)
{
	mutex_lock(&lock);
	if (!--users) {
		disarm_tracepoints(MASSIF_LIFECYCLE_COUNT);
		disarm_exit();
		disarm_calls(MASSIF_HOOK_COUNT);
	}
	mutex_unlock(&lock);
}

/* How often, since the module was loaded, the kernel could not run a handler; never falls. */
u64 massif_hooks_missed(void)
{
	u64 missed = missed_before + exit_call.nmissed;
	int i;

	for (i = 0; i < MASSIF_HOOK_COUNT; i++)
		missed += calls[i].nmissed + calls[i].kp.nmissed;
	return missed;
}
