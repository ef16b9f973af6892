/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Massif model: the totals, the byte clock, and which snapshots are taken and kept.
 *
 * When a snapshot is taken, what counts as the peak, and which snapshots are culled all follow Massif's observable
 * behaviour; Documentation/model.rst states the rules. There must be only one writer at a time. A reader may read at
 * any time, even after the writer was killed between two instructions (mf_model_view).
 */
#ifndef MASSIF_MODEL_MODEL_H
#define MASSIF_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/log.h"
#include "model/store.h"
#include "profile/profile.h"

#define MF_SNAPSHOTS_MAX   1000
#define MF_SNAPSHOTS_POWER 1024 /* MF_SNAPSHOTS_MAX rounded up to a power of two */

struct mf_model_options {
	/* the total is a new peak only if it exceeds the last peak by more than this percentage */
	double peak_inaccuracy;
	uint32_t max_snapshots; /* maximum number of snapshots, 10..1000 */
	uint32_t detailed_freq; /* every Nth snapshot is detailed (1: all) */
	uint32_t time_unit;	/* enum mf_time_unit */
	uint32_t heap_admin;	/* administrative bytes per block, as in --heap-admin */
	uint32_t alignment;	/* alignment of blocks in bytes: a power of two, at least 16 */
	uint32_t logs_steps;	/* enum mf_log_level: what to log for the user; see log.h */
	uint32_t least_interval; /* minimum interval between snapshots after a culling; 0 in Massif */
	/*
	 * no snapshot has a tree, not even the peak. Not a bool, because the program can write any value to this shared
	 * memory.
	 */
	uint8_t no_trees;
};

struct mf_snapshot {
	int64_t time;
	uint64_t heap, extra, stacks;
	uint64_t capture; /* version of the snapshot's tree, see tree_version.h; 0: no tree */
};

struct mf_model {
	struct mf_model_options options;

	/* The current totals, and when the next snapshot is due. */
	uint64_t heap, extra, stacks;
	uint64_t clock_bytes;
	uint64_t peak_total;
	int64_t next_allowed; /* no normal snapshot is taken before this time */
	uint32_t interval;    /* minimum time from a snapshot to the next normal one; 32 bits wide, as in Massif */
	uint32_t since_detailed;

	/*
	 * The kept snapshots, oldest first, are order[which][0..count-1], indexes into slots[]. @published holds which,
	 * count and the peak's slot in one word. A single store makes a new list visible, so a reader never sees an
	 * unfinished culling.
	 */
	uint64_t published;
	uint16_t order[2][MF_SNAPSHOTS_MAX];
	struct mf_snapshot slots[MF_SNAPSHOTS_MAX];
	uint8_t slot_used[MF_SNAPSHOTS_MAX];

	uint32_t free_slot; /* a hint: the search for a free element of slots[] starts here */

	/* Scratch arrays for culling and for listing tree versions, which may not fit on a small thread stack. */
	uint16_t previous[MF_SNAPSHOTS_MAX], next[MF_SNAPSHOTS_MAX]; /* snapshots' neighbours in time, for culling */
	uint8_t survives[MF_SNAPSHOTS_MAX];
	uint16_t winners[2 * MF_SNAPSHOTS_POWER];
	union {
		int64_t spans[MF_SNAPSHOTS_POWER];
		uint64_t captures[MF_SNAPSHOTS_MAX];
	};

	/* Counters for --stats, 32 bits wide as in Massif. */
	uint32_t skipped_snapshots, real_snapshots, detailed_snapshots, peak_snapshots, cullings;
	uint32_t heap_allocs, heap_reallocs, heap_frees;
	uint32_t ignored_allocs, ignored_reallocs, ignored_frees;
	uint32_t stack_allocs;
	uint32_t skipped_before; /* value of skipped_snapshots when the last snapshot was taken; needed for the log */
};

/* Initialises the model of a new store. */
void mf_model_init(struct mf_store *store, const struct mf_model_options *options);

static inline struct mf_model *mf_model_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_MODEL];
}

/* Adds @heap and @extra (in bytes; may be negative) to the totals, and |@heap + @extra| to the byte clock. */
static inline void mf_model_change(struct mf_model *model, int64_t heap, int64_t extra)
{
	int64_t net = heap + extra;

	model->heap += (uint64_t)heap;
	model->extra += (uint64_t)extra;
	model->clock_bytes += net < 0 ? 0 - (uint64_t)net : (uint64_t)net;
}

/*
 * Returns the model's time. @now is the time on the external clock that time_unit selects, in milliseconds or
 * instructions. If the unit is bytes, @now is ignored.
 */
static inline int64_t mf_model_time(const struct mf_model *model, int64_t now)
{
	return model->options.time_unit == MF_TIME_BYTES ? (int64_t)model->clock_bytes : now;
}

/* Returns the total above which a decrease triggers a peak snapshot. */
uint64_t mf_model_peak_threshold(const struct mf_model *model);

/* Takes a normal snapshot if one is due at @now. Call this after each change of the totals. */
void mf_model_attempt_on(struct mf_store *store, enum mf_occasion occasion, int64_t now);

/* Takes a peak snapshot if the current total is a new peak. Call this before memory decreases. */
void mf_model_check_peak_on(struct mf_store *store, enum mf_occasion occasion, int64_t now);

/* Takes a detailed snapshot because the program requests it, whether or not one is due. */
void mf_model_take(struct mf_store *store, int64_t now);

static inline void mf_model_attempt(struct mf_store *store, int64_t now)
{
	mf_model_attempt_on(store, MF_OCCASION_START, now);
}

static inline void mf_model_check_peak(struct mf_store *store, int64_t now)
{
	mf_model_check_peak_on(store, MF_OCCASION_PEAK_BEFORE_FREE, now);
}

/*
 * Sets *@captures to the tree versions of all kept snapshots, oldest first, and returns their number. The array is
 * valid until the next call.
 */
uint32_t mf_model_captures(struct mf_store *store, const uint64_t **captures);

/*
 * Removes the trees of half of the snapshots to free memory; the peak's is removed last. Returns false if no snapshot
 * has a tree.
 */
bool mf_model_drop_trees(struct mf_store *store);

/* One kept snapshot, copied for a reader. */
struct mf_snapshot_view {
	struct mf_snapshot snapshot;
	enum mf_tree_kind tree;
	bool is_peak; /* this snapshot is the peak, even if it has no tree */
};

/*
 * Copies the kept snapshots, oldest first, to @views, which has room for MF_SNAPSHOTS_MAX. Returns their number. Safe
 * against memory that a killed or faulty program left behind.
 */
uint32_t mf_model_view(const struct mf_store *store, struct mf_snapshot_view *views);

/* How a profile ends. The end is treated like a free of all memory, so there may be a peak right before it. */
enum mf_end_rule {
	MF_END_NOTHING, /* take no snapshot */
	MF_END_PEAK,	/* take a peak snapshot if the total is a new peak, as is done before the total decreases */
	MF_END_TREE,	/* check for a peak; if there is none, take a detailed snapshot */
};

/*
 * Copies the @n snapshots of @views to @copy, a model without snapshots, and ends the profile at @time (in the model's
 * unit) according to @rule. A detailed snapshot taken here has the tree version MF_CAPTURE_PRESENT. See ending.h.
 */
void mf_model_end(struct mf_store *copy, const struct mf_snapshot_view *views, uint32_t n,
		  enum mf_end_rule rule, int64_t time);

#endif
