/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a profile: the last thing that happens in its model.
 *
 * It happens in a copy. The session memory is the program's, too: a program that was killed may have left it
 * in the middle of a snapshot, one that still runs goes on using it, and a broken one may have written
 * anything into it. The copy is made through mf_model_view(), so it is sound whatever there is.
 */
#ifndef MASSIF_MODEL_ENDING_H
#define MASSIF_MODEL_ENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/log.h"
#include "model/model.h"
#include "model/store.h"

/* Where a profile ends. */
struct mf_end {
	enum mf_end_rule rule;
	int64_t now; /* of the outside clock, in the profile's unit */
};

struct mf_ending {
	struct mf_store store; /* of the following; it has nothing else */
	struct mf_store_header header;
	struct mf_model model; /* with the end */
	struct mf_snapshot_view views[MF_SNAPSHOTS_MAX]; /* of the snapshots before it */
	struct mf_step steps[3 * MF_SNAPSHOTS_MAX + 16]; /* of the end alone: mf_log_view() of @store */
};

/*
 * Makes @ending, which is large and all zero, of @store. mf_model_view() of ending->store has the snapshots.
 * If one of the end has a tree, its capture is MF_CAPTURE_PRESENT: what mf_rewind_present() says of @store.
 */
void mf_ending_make(struct mf_ending *ending, const struct mf_store *store, struct mf_end end);

#endif
