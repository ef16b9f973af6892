/* SPDX-License-Identifier: GPL-2.0 */
/* An MMU notifier on a target: called when munmap, madvise, truncation or reclaim removes pages. */
#ifndef MASSIF_RSS_NOTIFIER_H
#define MASSIF_RSS_NOTIFIER_H

#include <linux/types.h>

struct massif_target;
struct massif_rss_notifier;
struct mm_struct;

/* True if the kernel has MMU notifiers. */
extern const bool massif_rss_notifier_available;

struct massif_rss_notifier *massif_rss_notifier_create(struct mm_struct *mm);
void massif_rss_notifier_aim(struct massif_rss_notifier *rss_notifier, struct massif_target *target);
void massif_rss_notifier_put(struct massif_rss_notifier *rss_notifier);
void massif_rss_notifier_exit(void);

#endif
