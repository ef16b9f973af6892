// SPDX-License-Identifier: GPL-2.0
// Processors that are taken off line and come back.
#include <linux/cpuhotplug.h>
#include <linux/kernel.h>
#include <linux/rculist.h>

#include "compat/rss.h"
#include "processor.h"
#include "session.h"
#include "target.h"

/*
 * Where each processor collects changes of the resident pages' counters, the kernel adds what a processor had
 * collected to what is shared when it is off line. What was noted of the processor must follow before it collects
 * anything again: a thread there looks at its own processor alone, and would take the difference to what was
 * noted before for its own doing.
 */
static int state = -1;

/* Before anything runs on the processor. */
static int comes(unsigned int cpu)
{
	struct massif_target *target;
	unsigned long irq;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(massif_target_table); i++) {
		raw_spin_lock_irqsave(&massif_table_lock, irq);
		hlist_for_each_entry(target, &massif_target_table[i], node) {
			if (!target->resident.attached)
				continue;
			raw_spin_lock(&target->resident.lock);
			massif_rss_base_fold(&target->resident.base, cpu);
			raw_spin_unlock(&target->resident.lock);
		}
		raw_spin_unlock_irqrestore(&massif_table_lock, irq);
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
