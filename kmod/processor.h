/* SPDX-License-Identifier: GPL-2.0 */
/* Handles CPU hotplug: processors that go offline and come back online. */
#ifndef MASSIF_PROCESSOR_H
#define MASSIF_PROCESSOR_H

/**
 * massif_processor_init() - register the CPU hotplug callback, if this kernel counts resident pages per processor.
 * Context: process context; sleeps.
 * Return: 0 or an error from cpuhp_setup_state_nocalls().
 */
int massif_processor_init(void);

/**
 * massif_processor_exit() - unregister the CPU hotplug callback. Once it has returned, the callback is not running and
 * will not run again.
 * Context: process context; sleeps.
 */
void massif_processor_exit(void);

#endif
