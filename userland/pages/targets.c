// SPDX-License-Identifier: GPL-2.0
// The profiled address spaces of a session, indexed by the module's target numbers.

#include "pages/targets.h"

static struct mf_target **bucket_of(struct mf_targets *targets, uint32_t number)
{
	return &targets->buckets[number % MF_TARGETS_BUCKETS];
}

struct mf_target *mf_targets_find(const struct mf_targets *targets, uint32_t number)
{
	struct mf_target *target = targets->buckets[number % MF_TARGETS_BUCKETS];

	while (target && target->number != number)
		target = target->next;
	return target;
}

struct mf_target *mf_targets_find_process(const struct mf_targets *targets, pid_t pid)
{
	struct mf_target *target;

	mf_targets_each(targets, target) if (target->process.pid == pid &&
					     target->left == MF_PAGES_RUNNING) return target;
	return NULL;
}

struct mf_target *mf_targets_any(const struct mf_targets *targets)
{
	struct mf_target *target;

	mf_targets_each(targets, target) return target;
	return NULL;
}

void mf_targets_add(struct mf_targets *targets, struct mf_target *target)
{
	struct mf_target **bucket = bucket_of(targets, target->number);

	target->next = *bucket;
	*bucket = target;
}

void mf_targets_remove(struct mf_targets *targets, struct mf_target *target)
{
	struct mf_target **link = bucket_of(targets, target->number);

	while (*link != target)
		link = &(*link)->next;
	*link = target->next;
}
