/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second, simple and slow implementation of the heap model, with plain arrays, to check userland/model.
 * Shares no code with it.
 */
#ifndef MASSIF_SELFTESTS_MODEL_ORACLE_H
#define MASSIF_SELFTESTS_MODEL_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "model/store.h"

#define ORACLE_CONTEXTS	 64
#define ORACLE_BLOCKS	 4096
#define ORACLE_SNAPSHOTS 1000
#define ORACLE_IGNORED	 (-1)

/* Contexts are numbered from 0, in the order in which the store created them. */
struct oracle_block {
	uint64_t address, size, capacity;
	int context; /* number of the context, or ORACLE_IGNORED */
};

struct oracle_snapshot {
	int64_t time;
	uint64_t heap, extra, stacks;
	bool detailed, peak;
	int n_leaves;
	uint64_t leaves[ORACLE_CONTEXTS];
};

struct oracle {
	struct mf_model_options options;
	uint64_t heap, extra, stacks, clock;
	int n_contexts;
	uint64_t bytes[ORACLE_CONTEXTS];
	int n_blocks;
	/* live blocks; if several have the same address, the most recent one comes last */
	struct oracle_block blocks[ORACLE_BLOCKS];
	uint64_t peak_total;
	int64_t next_allowed;
	uint32_t interval, since_detailed, cullings, skipped;
	int n_snapshots;
	struct oracle_snapshot snapshots[ORACLE_SNAPSHOTS];
};

void oracle_init(struct oracle *oracle, const struct mf_model_options *options);

/* Attempt a normal snapshot, and check for a peak. @now is ignored if the time unit is bytes. */
void oracle_attempt(struct oracle *oracle, int64_t now);
void oracle_check_peak(struct oracle *oracle, int64_t now);

void oracle_alloc(struct oracle *oracle, uint64_t address, uint64_t size, int context, int64_t now);
void oracle_free(struct oracle *oracle, uint64_t address, int64_t now);

/* Changes the total size of all stacks by @change bytes. */
void oracle_change_stacks(struct oracle *oracle, int64_t change, int64_t now);

/*
 * oracle_find() returns the most recently allocated block at @address, or NULL. oracle_take() copies that block to
 * *@block and removes it.
 */
struct oracle_block *oracle_find(struct oracle *oracle, uint64_t address);
bool oracle_take(struct oracle *oracle, uint64_t address, struct oracle_block *block);

void oracle_realloc_end(struct oracle *oracle, const struct oracle_block *old, uint64_t address,
			uint64_t size, int context, int64_t now);
void oracle_realloc_failed(struct oracle *oracle, const struct oracle_block *old);

/*
 * Compare @store with @oracle: the totals and the bytes of each context; all snapshots with their leaves; the table of
 * blocks. Return NULL if they are equal, or else a description of the first difference, in a static buffer.
 */
const char *oracle_totals_differ(const struct oracle *oracle, const struct mf_store *store);
const char *oracle_snapshots_differ(const struct oracle *oracle, const struct mf_store *store);
const char *oracle_blocks_differ(const struct oracle *oracle, const struct mf_store *store);

/* Return the next random number, which depends only on *@seed. The result of oracle_below() is below @limit. */
uint64_t oracle_random(uint64_t *seed);
uint64_t oracle_below(uint64_t *seed, uint64_t limit);

#endif
