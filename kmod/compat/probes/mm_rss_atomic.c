// SPDX-License-Identifier: GPL-2.0
// Compiles if the RSS counters are atomic and the tracepoint rss_stat receives the counter's value as an argument
// (before 6.2, commit f1a7941243c1).
#include <linux/mm_types.h>
#include <linux/atomic.h>

long probe(struct mm_struct *mm);
long probe(struct mm_struct *mm)
{
	return atomic_long_read(&mm->rss_stat.count[0]);
}
