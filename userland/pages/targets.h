/* SPDX-License-Identifier: GPL-2.0 */
/* The profiled address spaces of a session, indexed by the module's target numbers. */
#ifndef MASSIF_PAGES_TARGETS_H
#define MASSIF_PAGES_TARGETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pages/target.h"

#define MF_TARGETS_BUCKETS 256

/* A table of the targets of a session, which it does not own. Initialise the table with zeroes. */
struct mf_targets {
	struct mf_target *buckets[MF_TARGETS_BUCKETS];
};

/* Runs the statement that follows for each @target. The statement must neither add nor remove targets. */
#define mf_targets_each(targets, target)                                                           \
	for (size_t bucket_ = 0; bucket_ < MF_TARGETS_BUCKETS; bucket_++)                          \
		for (target = (targets)->buckets[bucket_]; target; target = target->next)

/*
 * mf_targets_find() returns the target with the module's number @number; mf_targets_any() returns any target. Both
 * return NULL if there is no such target.
 */
struct mf_target *mf_targets_find(const struct mf_targets *targets, uint32_t number);
/* Returns the target that was created for process @pid and in which it still runs, or NULL if there is none. */
struct mf_target *mf_targets_find_process(const struct mf_targets *targets, pid_t pid);
struct mf_target *mf_targets_any(const struct mf_targets *targets);

/* The number of @target must not be in the table yet. */
void mf_targets_add(struct mf_targets *targets, struct mf_target *target);
void mf_targets_remove(struct mf_targets *targets, struct mf_target *target);

#endif
