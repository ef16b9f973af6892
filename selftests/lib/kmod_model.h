/* SPDX-License-Identifier: GPL-2.0 */
/* Replays records to sets of intervals and checks every total: the test's own truth. */
#ifndef SELFTESTS_LIB_KMOD_MODEL_H
#define SELFTESTS_LIB_KMOD_MODEL_H

#include <linux/massif.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmod_interval {
	uint64_t start;
	uint64_t end;
};

struct kmod_intervals {
	struct kmod_interval *at;	/* sorted, disjoint */
	size_t count;
	size_t space;
	uint64_t pages;			/* in all of them */
};

struct kmod_target {
	uint32_t id;
	uint32_t tgid;
	uint32_t execs;			/* of its process, when it became its target */
	bool first;			/* the first part of a series was seen: changes count */
	bool synced;
	bool exited;
	uint64_t exit_total;
	uint64_t compared;		/* totals */
	struct kmod_intervals map;
	struct kmod_intervals part;	/* of the resync part under way */
	uint64_t maps;			/* MAP records */
	/* What is resident, in pages: negative where one thread's loss was told before another's gain. */
	bool resident_told;
	int64_t resident[MASSIF_RSS_COUNT];
};

struct kmod_model {
	struct kmod_target *targets;
	size_t count;
	size_t space;
	size_t *by_id;			/* where in targets, and one; 0: not there */
	size_t ids;			/* room in by_id */
	uint64_t records[32];		/* by type */
	uint64_t last_seq;
	uint64_t gaps;			/* in seq */
	uint64_t lost;			/* said by LOST records */
	uint64_t wrong;			/* totals that differ, protocol errors */
	uint64_t unsure;		/* totals not compared: MASSIF_RF_NO_TOTAL */
	uint64_t resident;		/* RESIDENT records, each compared with the changes before it */
	uint64_t drifted;		/* pages that a DRIFT or a BASE had to put right, either way */
	char first_wrong[256];		/* the first in words */
};

void kmod_model_init(struct kmod_model *model);
void kmod_model_destroy(struct kmod_model *model);
/* For kmod_session_drain: arg is the model; never stops. */
int kmod_model_apply(const struct massif_record *rec, void *arg);

struct kmod_target *kmod_model_target(struct kmod_model *model, uint32_t id);
struct kmod_target *kmod_model_find(struct kmod_model *model, uint32_t tgid, uint32_t execs);

uint64_t kmod_intervals_pages(const struct kmod_intervals *map);
/* Reads a saved /proc/PID/maps. 0 or -errno. */
int kmod_intervals_read(struct kmod_intervals *map, const char *path);
/* Neighbours count as one. */
bool kmod_intervals_equal(const struct kmod_intervals *a, const struct kmod_intervals *b);
void kmod_intervals_destroy(struct kmod_intervals *map);

#endif
