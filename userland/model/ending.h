/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Computes the end of a profile, which is the model's last event.
 *
 * This is done in a copy of the model, because the session memory is not reliable. A program that was killed may have
 * left it in the middle of a snapshot, a running program keeps changing it, and a faulty program may have overwritten
 * it with garbage. The snapshots are copied with mf_model_view(), so they are consistent.
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
	struct mf_store store; /* a store, made up of the members @header, @model and @steps */
	struct mf_store_header header;
	/* a copy of the profile's model, with the end of the profile added as the last event */
	struct mf_model model;
	/* the profile's snapshots, not including any that is taken at its end */
	struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	/*
	 * the log entries created while the end of the profile is being added to @model; mf_log_view() on the member
	 * @store returns them. The profile's earlier log entries are not copied.
	 */
	struct mf_step steps[3 * MF_SNAPSHOTS_MAX + 16];
};

/*
 * Fills @ending, which the caller has zeroed, with the end of the profile in @store. Read the snapshots by calling
 * mf_model_view() on ending->store. If a detailed snapshot is taken at the end, its tree version is MF_CAPTURE_PRESENT,
 * and its tree is read by calling mf_rewind_present() on @store.
 */
void mf_ending_make(struct mf_ending *ending, const struct mf_store *store, struct mf_end end);

#endif
