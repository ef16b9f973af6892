/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a profile, which is the last event of its model.
 *
 * It is computed in a copy of the model, because the session memory cannot be relied on: a program that was killed may
 * have left it in the middle of a snapshot, a running program continues to use it, and a faulty one may have
 * overwritten it with anything. The copy is made by mf_model_view(), so it is always consistent.
 */
#ifndef MASSIF_MODEL_ENDING_H
#define MASSIF_MODEL_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/log.h"
#include "model/model.h"
#include "model/store.h"

/* How and when a profile ends. */
struct mf_end {
	enum mf_end_rule rule;
	int64_t now; /* time on the clock that time_unit selects, in that unit; ignored if the unit is bytes */
};

struct mf_ending {
	struct mf_store store; /* a store that consists of the fields below */
	struct mf_store_header header;
	struct mf_model model; /* copy of the model, including the end */
	struct mf_snapshot_view views[MF_SNAPSHOTS_MAX]; /* snapshots from before the end */
	struct mf_step steps[3 * MF_SNAPSHOTS_MAX + 16]; /* log of only the end: mf_log_view() of @store */
};

/*
 * Fills @ending, which the caller has zeroed, with the end of @store. Read the snapshots with mf_model_view() of
 * ending->store. If the end takes a detailed snapshot, its tree version is MF_CAPTURE_PRESENT: read its tree with
 * mf_rewind_present() of @store.
 */
void mf_ending_make(struct mf_ending *ending, const struct mf_store *store, struct mf_end end);

#endif
