/* SPDX-License-Identifier: GPL-2.0 */
/* Replays records into sets of intervals and checks every total, independently of massif-ctl. */
#ifndef MASSIF_SELFTESTS_KMOD_MODEL_H
#define MASSIF_SELFTESTS_KMOD_MODEL_H

#include <linux/massif.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmod_interval {
	uint64_t start;
	uint64_t end;
};

struct kmod_intervals {
	struct kmod_interval *at;	/* intervals, sorted and disjoint */
	size_t count;
	size_t space;
	uint64_t pages;			/* total size of the intervals in pages */
};

struct kmod_target {
	uint32_t id;
	uint32_t tgid;
	uint32_t execs;			/* number of execs of the process before this target was created */
	/* true once the first part of a resync has begun; until then, reported changes to mappings are ignored */
	bool first;
	bool synced;
	bool exited;
	uint64_t exit_total;
	uint64_t compared;		/* number of times that a total from a record was compared with this model */
	struct kmod_intervals map;
	struct kmod_intervals part;	/* mappings read so far from the current part of a resync */
	uint64_t maps;			/* number of MAP records */
	/*
	 * Numbers of resident pages. A number can be temporarily negative: if one thread adds pages and another thread
	 * removes them, the record of the removal may come first.
	 */
	bool resident_told;
	int64_t resident[MASSIF_RSS_COUNT];
};

struct kmod_model {
	struct kmod_target *targets;
	size_t count;
	size_t space;
	size_t *by_id; /* maps a target's id to the target's index in @targets plus one; 0: no target has this id */
	size_t ids;			/* number of elements of by_id */
	uint64_t records[32];		/* number of records by type */
	uint64_t last_seq;
	uint64_t gaps;			/* number of gaps in sequence numbers */
	uint64_t lost;			/* number of lost records according to LOST records */
	uint64_t wrong;			/* number of wrong totals and protocol errors */
	uint64_t unsure; /* number of totals not compared because their record has the flag MASSIF_RF_NO_TOTAL */
	/* number of RESIDENT records; the totals in each are compared with the sum of all previous changes */
	uint64_t resident;
	uint64_t drifted; /* number of pages by which DRIFT or BASE records corrected totals, in either direction */
	char first_wrong[256];		/* description of the first error */
};

void kmod_model_init(struct kmod_model *model);
void kmod_model_destroy(struct kmod_model *model);
/* Callback for kmod_session_drain(); arg is the model. Always continues. */
int kmod_model_apply(const struct massif_record *rec, void *arg);

struct kmod_target *kmod_model_target(struct kmod_model *model, uint32_t id);
struct kmod_target *kmod_model_find(struct kmod_model *model, uint32_t tgid, uint32_t execs);

uint64_t kmod_intervals_pages(const struct kmod_intervals *map);
/* Reads a saved /proc/PID/maps. Returns 0 or -errno. */
int kmod_intervals_read(struct kmod_intervals *map, const char *path);
/* Compares two sets of intervals, in which adjacent intervals are treated as one. */
bool kmod_intervals_equal(const struct kmod_intervals *a, const struct kmod_intervals *b);
void kmod_intervals_destroy(struct kmod_intervals *map);

#endif
