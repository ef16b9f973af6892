/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A copy of the live blocks of a process that may be running. A large table of blocks is read by a thread, while the caller
 * reads what the kernel says of the same process.
 */
#ifndef MASSIF_RESIDENCY_LIVE_BLOCKS_H
#define MASSIF_RESIDENCY_LIVE_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"
#include "residency/written_parts.h"

/* A copy of a live block. It has no more fields than are needed, because there can be a million copies. */
struct mf_live_block {
	uint64_t address;
	uint32_t size, context;
};

/* Zero-initialise it. */
struct mf_live_blocks {
	/* the file with the session memory, whose position changes; 0: the store is in private memory */
	int memory;
	/*
	 * A copy, so that all that is said of the blocks is of the same moment. A program may have any number of blocks:
	 * of more than a million (COPIED_MAX), there is no copy.
	 */
	struct mf_live_block *list;
	size_t n, room;
	bool lacks_copy;
	size_t n_visited; /* by the last mf_live_blocks_each() */
	/* address of a block that was freed, but is still in the table (mf_tally_delay_free()); 0: none */
	uint64_t freed;
	struct mf_written_parts written; /* of @memory: the table of blocks */
	const struct mf_store *store;
	int error; /* of the thread: -errno, or 0 */
	pthread_t thread;
	bool runs; /* the thread, which alone uses the above until it is joined */
};

/*
 * Begins to read the blocks of @store, which must stay valid until mf_live_blocks_read() or mf_live_blocks_reset(). If the
 * table is small, or no thread can be started, does nothing. Returns 0 or -errno.
 */
int mf_live_blocks_begin(struct mf_live_blocks *blocks, const struct mf_store *store);

/* Reads the blocks of @store, or waits until all are read that mf_live_blocks_begin() began to read. Returns 0 or -errno. */
int mf_live_blocks_read(struct mf_live_blocks *blocks, const struct mf_store *store);

/*
 * Calls @visit for each block but the one that was freed; most neighbours follow one another. Without a copy, for those
 * that the program has now. The capacity of the blocks is not set.
 */
void mf_live_blocks_each(struct mf_live_blocks *blocks, const struct mf_store *store,
			 void (*visit)(const struct mf_block *block, void *data), void *data);

/* Forgets the blocks, but not what saves work when those of the same process are read again. */
void mf_live_blocks_reset(struct mf_live_blocks *blocks);

/* Also forgets what was known of the file @memory, and reads those of the file @memory (or 0) from now on. */
void mf_live_blocks_change(struct mf_live_blocks *blocks, int memory);

void mf_live_blocks_deinit(struct mf_live_blocks *blocks);

#endif
