// SPDX-License-Identifier: GPL-2.0
// The hooks on mappings and processes: armed when the first session is set up, disarmed when the last one ends.
#include <linux/massif.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat/hookpoint.h"
#include "compat/prototype.h"
#include "detour.h"
#include "hooks.h"
#include "hookset.h"
#include "hooktest.h"
#include "lifecycle.h"
#include "probe.h"

/* True if the functions that change mappings are hooked by detours, false if by kretprobes. */
static bool detoured;
static struct tracepoint *tracepoints[MASSIF_LIFECYCLE_COUNT];

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	int i;

	for (i = 0; i < MASSIF_LIFECYCLE_COUNT; i++)
		if (!strcmp(tp->name, massif_lifecycle_events[i].name))
			tracepoints[i] = tp;
}

static void disarm_calls(void)
{
	if (detoured)
		massif_detour_disarm();
	else
		massif_probe_disarm();
}

static int arm_calls(const char **dead)
{
	int err = massif_detour_arm();

	detoured = !err;
	/* Functions that could not be disarmed may still be detoured, so kretprobes would report each change twice. */
	if (detoured || err == -EIO || err == -EINTR)
		return err;
	/* kretprobes slow down the rest of the system more than detours do, but nearly all kernels have them. */
	pr_info_once("%s: detours are not available (%d), so kretprobes are used\n", KBUILD_MODNAME, err);
	return massif_probe_arm(dead);
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

	/*
	 * Checks the prototypes of all functions, including those that only some sessions hook, so that SETUP either
	 * succeeds for all sessions or fails for all.
	 */
	*dead = massif_prototype_other();
	if (*dead)
		return -EPROTO;
	err = arm_calls(dead);
	if (err)
		return err;
	err = arm_tracepoints(dead);
	if (err)
		goto err_calls;
	massif_hooktest_reset();
	return 0;

err_calls:
	disarm_calls();
	return err;
}

static void disarm(void)
{
	disarm_tracepoints(MASSIF_LIFECYCLE_COUNT);
	disarm_calls();
}

MASSIF_HOOKSET(all, arm, disarm);

/**
 * massif_hooks_get() - arm the hooks for one more session; see massif_hookset_get().
 */
int massif_hooks_get(char *dead, size_t size)
{
	return massif_hookset_get(&all, dead, size);
}

/**
 * massif_hooks_put() - disarm the hooks if no other session uses them.
 *
 * Once this has been called for the last session, no hook is entered any more. A thread that is sleeping in a hooked
 * function holds a reference to the module until it has left that function.
 *
 * Context: process context; sleeps.
 */
void massif_hooks_put(void)
{
	massif_hookset_put(&all);
}

/**
 * massif_hooks_missed() - get the number of hook calls that the kernel has not delivered since the module was loaded.
 *
 * The number never decreases. The hooks must be armed by the caller.
 *
 * Context: any.
 */
u64 massif_hooks_missed(void)
{
	return massif_probe_missed();
}

/**
 * massif_hooks_describe() - describe one hook for MASSIF_IOC_HOOK: functions first, then tracepoints.
 * @info: on entry, index is the number at which to start the search. On return, index is the number of the hook found,
 *	and the other fields describe it.
 * Context: process context; the hooks are armed.
 * Return: 0, or -ENOENT if there is no hook with this number or a higher one.
 */
int massif_hooks_describe(struct massif_hook_info *info)
{
	u32 index = info->index;
	const char *name;

	/* Skip hooks for which this kernel has no function. */
	while (index < MASSIF_HOOK_COUNT && !massif_hookpoints[array_index_nospec(index, MASSIF_HOOK_COUNT)].symbol)
		index++;
	/* The index comes from the program: do not let a mispredicted comparison read beyond the arrays. */
	if (index < MASSIF_HOOK_COUNT) {
		index = array_index_nospec(index, MASSIF_HOOK_COUNT);
		name = massif_hookpoints[index].symbol;
		info->kind = detoured ? MASSIF_HOOK_DETOUR : MASSIF_HOOK_KRETPROBE;
		info->state = massif_hooktest_seen(index) ? MASSIF_HOOK_FIRED : 0;
	} else if (index < MASSIF_HOOK_COUNT + MASSIF_LIFECYCLE_COUNT) {
		index = array_index_nospec(index, MASSIF_HOOK_COUNT + MASSIF_LIFECYCLE_COUNT);
		name = massif_lifecycle_events[index - MASSIF_HOOK_COUNT].name;
		info->kind = MASSIF_HOOK_TRACEPOINT;
		info->state = 0;
	} else {
		return -ENOENT;
	}
	if (massif_prototype_same(name))
		info->state |= MASSIF_HOOK_COMPARED;
	/*
	 * The search starts at info->index and skips hooks without a function. Return the index of the hook that was
	 * found. To find the next hook, the caller passes that index + 1.
	 */
	info->index = index;
	strscpy_pad(info->name, name, sizeof(info->name));
	return 0;
}
