/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Massif model: totals, the clock of bytes, and which snapshots are taken and kept.
 *
 * Rules: when a snapshot is taken, what the peak is and how snapshots are culled follow Massif's
 * observable behaviour; Documentation/model.rst states them. One writer at a time; a reader may look
 * at any moment, also after the writer was killed between two instructions (mf_model_view).
 */
#ifndef MASSIF_MODEL_MODEL_H
#define MASSIF_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/log.h"
#include "model/store.h"
#include "profile/profile.h"

#define MF_SNAPSHOTS_MAX   1000
#define MF_SNAPSHOTS_POWER 1024 /* the next power of two */

struct mf_model_options {
	double peak_inaccuracy; /* per cent */
	uint32_t max_snapshots; /* 10..1000 */
	uint32_t detailed_freq; /* 1: every snapshot is detailed */
	uint32_t time_unit;	/* enum mf_time_unit */
	uint32_t heap_admin;	/* bytes of overhead of each block */
	uint32_t alignment;	/* power of two, at least 16 */
	uint32_t logs_steps;	/* enum mf_log_level: what to keep for the user; see log.h */
	uint32_t least_interval; /* between snapshots, once there were too many; Massif's is 0 */
	uint8_t no_trees;	/* no snapshot has one, not even the peak; no bool: it is in shared memory */
};

struct mf_snapshot {
	int64_t time;
	uint64_t heap, extra, stacks;
	uint64_t capture; /* of the tree, see capture.h; 0: none */
};

struct mf_model {
	struct mf_model_options options;

	/* The running state. */
	uint64_t heap, extra, stacks;
	uint64_t clock_bytes;
	uint64_t peak_total;
	int64_t next_allowed; /* no normal snapshot before this time */
	uint32_t interval;    /* 32 bits wide, as in Massif */
	uint32_t since_detailed;

	/*
	 * The snapshots kept, oldest first, are order[which][0..count-1], indexes into slots[].
	 * @published holds which, count and the peak's slot in one word, so that one store makes a new
	 * list visible and a reader never sees half of a culling.
	 */
	uint64_t published;
	uint16_t order[2][MF_SNAPSHOTS_MAX];
	struct mf_snapshot slots[MF_SNAPSHOTS_MAX];
	uint8_t slot_used[MF_SNAPSHOTS_MAX];

	uint32_t free_slot; /* perhaps */

	/* Too large for the small stacks that threads may have. */
	uint16_t previous[MF_SNAPSHOTS_MAX], next[MF_SNAPSHOTS_MAX]; /* for culling */
	uint8_t survives[MF_SNAPSHOTS_MAX];
	uint16_t winners[2 * MF_SNAPSHOTS_POWER];
	union {
		int64_t spans[MF_SNAPSHOTS_POWER];
		uint64_t captures[MF_SNAPSHOTS_MAX];
	};

	/* Statistics, as --stats prints them; in 32 bits, as in Massif. */
	uint32_t skipped_snapshots, real_snapshots, detailed_snapshots, peak_snapshots, cullings;
	uint32_t heap_allocs, heap_reallocs, heap_frees;
	uint32_t ignored_allocs, ignored_reallocs, ignored_frees;
	uint32_t stack_allocs;
	uint32_t skipped_before; /* skipped_snapshots at the last snapshot, for the log */
};

/* Starts the model of a fresh store. */
void mf_model_init(struct mf_store *store, const struct mf_model_options *options);

static inline struct mf_model *mf_model_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_MODEL];
}

/* Changes the totals by one operation, and with it the clock: by |@heap + @extra|. Bytes. */
static inline void mf_model_change(struct mf_model *model, int64_t heap, int64_t extra)
{
	int64_t net = heap + extra;

	model->heap += (uint64_t)heap;
	model->extra += (uint64_t)extra;
	model->clock_bytes += net < 0 ? 0 - (uint64_t)net : (uint64_t)net;
}

/* The model's time, given the outside clock's @now (ignored when the unit is bytes). */
static inline int64_t mf_model_time(const struct mf_model *model, int64_t now)
{
	return model->options.time_unit == MF_TIME_BYTES ? (int64_t)model->clock_bytes : now;
}

/* A decrease of a total above this makes a peak snapshot. */
uint64_t mf_model_peak_threshold(const struct mf_model *model);

/* Takes a normal snapshot if one is due at @now. Call it after a change. */
void mf_model_attempt_on(struct mf_store *store, enum mf_occasion occasion, int64_t now);

/* Takes a peak snapshot if the present total is one. Call it before memory goes down. */
void mf_model_check_peak_on(struct mf_store *store, enum mf_occasion occasion, int64_t now);

/* Takes one with a tree because the program asks for it, whether or not one is due. */
void mf_model_take(struct mf_store *store, int64_t now);

static inline void mf_model_attempt(struct mf_store *store, int64_t now)
{
	mf_model_attempt_on(store, MF_OCCASION_START, now);
}

static inline void mf_model_check_peak(struct mf_store *store, int64_t now)
{
	mf_model_check_peak_on(store, MF_OCCASION_PEAK_BEFORE_FREE, now);
}

/* The captures of all kept snapshots, oldest first, until the next call; returns their number. */
uint32_t mf_model_captures(struct mf_store *store, const uint64_t **captures);

/* Makes do with half as many trees, the peak's last. Returns false if there are none. */
bool mf_model_drop_trees(struct mf_store *store);

/* One kept snapshot, as a reader sees it. */
struct mf_snapshot_view {
	struct mf_snapshot snapshot;
	enum mf_tree_kind tree;
	bool is_peak; /* also of one that has no tree */
};

/*
 * Copies the kept snapshots, oldest first, to @views, of room for MF_SNAPSHOTS_MAX. Returns their
 * number. Safe against memory that a dying or broken program left behind.
 */
uint32_t mf_model_view(const struct mf_store *store, struct mf_snapshot_view *views);

/* How a profile ends, which is a decrease to nothing. */
enum mf_end_rule {
	MF_END_NOTHING, /* without a snapshot of the end */
	MF_END_PEAK,	/* with a peak check, as before any decrease */
	MF_END_TREE,	/* with one, and where it finds no peak, with a snapshot that has a tree */
};

/*
 * Gives @copy, a model without snapshots, the @n of @views and the end at @time, in its unit. What has a
 * tree then has MF_CAPTURE_PRESENT. See ending.h.
 */
void mf_model_end(struct mf_store *copy, const struct mf_snapshot_view *views, uint32_t n,
		  enum mf_end_rule rule, int64_t time);

#endif
