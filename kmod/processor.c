// SPDX-License-Identifier: GPL-2.0
// Handles CPU hotplug: processors that go offline and come back online.
#include <linux/cpuhotplug.h>
#include <linux/kernel.h>
#include <linux/rculist.h>

#include "compat/rss.h"
#include "processor.h"
#include "session.h"
#include "target.h"

/*
 * On some kernels, each processor collects changes to the counters of resident pages. When such a processor goes
 * offline, the kernel adds the changes it has collected to the shared counters. The values stored for that processor in
 * struct massif_rss_base must be updated to match before it collects anything again. Otherwise the next thread that
 * changes a counter on it, and reads only that processor's count, would be charged with the difference.
 */
static int state = -1;

/* CPU hotplug callback for a processor that is coming online; called before any thread runs on it. May sleep. */
static int comes(unsigned int cpu)
{
	struct massif_target *target;
	unsigned long irq, i;

	for (i = 0; i < 1ul << massif_target_table.bits; i++) {
		raw_spin_lock_irqsave(&massif_table_lock, irq);
		hlist_for_each_entry(target, &massif_target_table.chains[i], node) {
			if (!target->resident.attached)
				continue;
			raw_spin_lock(&target->resident.lock);
			massif_rss_base_fold(&target->resident.base, cpu);
			raw_spin_unlock(&target->resident.lock);
		}
		raw_spin_unlock_irqrestore(&massif_table_lock, irq);
		cond_resched();
	}
	return 0;
}

int massif_processor_init(void)
{
	if (!MASSIF_RSS_BY_CPU)
		return 0;
	state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "massif:comes", comes, NULL);
	return min(state, 0);
}

void massif_processor_exit(void)
{
	if (state >= 0)
		cpuhp_remove_state_nocalls(state);
}
