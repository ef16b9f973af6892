// SPDX-License-Identifier: GPL-2.0
// Collects a memory execution tree from a store.

#include "report/xtree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/blocks.h"
#include "model/objects.h"
#include "model/tally.h"
#include "model/trie.h"

const struct mf_xtree_event mf_xtree_events[MF_LEDGER_VALUES] = {
	[MF_LEDGER_BYTES] = { "curB", "curB : currently allocated Bytes" },
	[MF_LEDGER_BLOCKS] = { "curBk", "curBk : currently allocated Blocks" },
	[MF_LEDGER_ALLOCATED_BYTES] = { "totB", "totB : total allocated Bytes" },
	[MF_LEDGER_ALLOCATED_BLOCKS] = { "totBk", "totBk : total allocated Blocks" },
	[MF_LEDGER_FREED_BYTES] = { "totFdB", "totFdB : total Freed Bytes" },
	[MF_LEDGER_FREED_BLOCKS] = { "totFdBk", "totFdBk : total Freed Blocks" },
};

enum {
	EVENTS_ALLOCS = MF_LEDGER_BLOCKS + 1,
	EVENTS_FULL = MF_LEDGER_VALUES,
};

/*
 * Threshold in per cent, small enough that every entry with bytes reaches it. It is not 0, so that the entries of a
 * tree without any bytes are merged into one.
 */
#define XTREE_THRESHOLD 1e-14

/* Sums over the live blocks of each context, updated while the blocks of the store are visited. */
struct sums {
	struct mf_xtree_context *contexts;
	uint32_t n;
};

static void add_block(const struct mf_block *block, void *data)
{
	struct sums *sums = data;

	if (block->context >= sums->n)
		return;
	sums->contexts[block->context].values[MF_LEDGER_BYTES] += block->size;
	sums->contexts[block->context].values[MF_LEDGER_BLOCKS]++;
}

static void subtract_block(const struct mf_block *block, void *data)
{
	struct sums *sums = data;

	if (block->context >= sums->n || !sums->contexts[block->context].values[MF_LEDGER_BLOCKS])
		return;
	sums->contexts[block->context].values[MF_LEDGER_BYTES] -= block->size;
	sums->contexts[block->context].values[MF_LEDGER_BLOCKS]--;
}

/* Collects the contexts of live blocks. */
static bool collect_blocks(const struct mf_store *store, struct mf_xtree *xtree)
{
	const uint32_t *nodes = store->regions[MF_REGION_CONTEXT_NODES];
	struct sums sums = { .n = store->header->n_contexts };

	if (!sums.n || !mf_store_fits(store, MF_REGION_CONTEXT_NODES, sums.n - 1, sizeof(*nodes)))
		sums.n = MF_CONTEXT_FIRST;
	sums.contexts = calloc(sums.n, sizeof(*sums.contexts));
	if (!sums.contexts)
		return false;
	mf_blocks_walk(store, add_block, &sums);
	mf_tally_walk_delayed(store, subtract_block, &sums);
	xtree->n_events = EVENTS_ALLOCS;
	xtree->contexts = sums.contexts;
	for (uint32_t i = 0; i < sums.n; i++) {
		if (!sums.contexts[i].values[MF_LEDGER_BLOCKS])
			continue;
		xtree->contexts[xtree->n_contexts] = sums.contexts[i];
		xtree->contexts[xtree->n_contexts++].node =
			i < MF_CONTEXT_FIRST ? MF_NODE_ROOT : nodes[i];
	}
	return true;
}

static bool has_values(const struct mf_ledger_entry *entry)
{
	for (size_t i = 0; i < MF_LEDGER_VALUES; i++)
		if (entry->values[i])
			return true;
	return false;
}

/* Collects the contexts of the ledger (model/ledger.h). */
static bool collect_ledger(const struct mf_store *store, struct mf_xtree *xtree)
{
	struct mf_ledger_entry entry;
	size_t room = 0;

	xtree->n_events = EVENTS_FULL;
	for (uint32_t i = 1; mf_ledger_read(store, i, &entry); i++) {
		struct mf_xtree_context *context;

		if (!has_values(&entry))
			continue;
		if (xtree->n_contexts == room) {
			room = room ? 2 * room : 1024;
			context = reallocarray(xtree->contexts, room, sizeof(*context));
			if (!context)
				return false;
			xtree->contexts = context;
		}
		context = &xtree->contexts[xtree->n_contexts++];
		context->node = entry.node;
		memcpy(context->values, entry.values, sizeof(context->values));
		/*
		 * A sum may be negative if it was read after one thread had subtracted from it but before another
		 * thread had added to it.
		 */
		for (size_t j = 0; j < MF_LEDGER_VALUES; j++)
			if ((int64_t)context->values[j] < 0)
				context->values[j] = 0;
	}
	return true;
}

int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err)
{
	bool done;
	int rc;

	*xtree = (struct mf_xtree){ 0 };
	done = store->header->keeps_ledger ? collect_ledger(store, xtree) :
					     collect_blocks(store, xtree);
	/* Read the objects after the stacks, so that every object used by a stack is included. */
	rc = done ? mf_collect_objects(store, &xtree->collection, err) :
		    mf_error_set(err, -ENOMEM, "not enough memory to read what was allocated");
	xtree->collection.store = store;
	if (rc)
		mf_xtree_release(xtree);
	return rc;
}

void mf_xtree_release(struct mf_xtree *xtree)
{
	mf_collection_release(&xtree->collection);
	free(xtree->contexts);
	*xtree = (struct mf_xtree){ 0 };
}

uint32_t mf_xtree_read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_xtree *xtree = source;
	uint32_t depth = mf_trie_node_frames(xtree->collection.store, xtree->contexts[number].node,
					     frames, MF_PROFILE_FRAMES_MAX);

	for (uint32_t i = 0; i < depth; i++)
		if (frames[i].object >= xtree->collection.profile.n_objects)
			frames[i].object = MF_OBJECT_NONE;
	if (depth)
		return depth;
	frames[0] = (struct mf_frame){ .object = MF_OBJECT_NONE };
	return 1;
}

struct mf_report_options mf_xtree_options(const struct mf_report_options *options)
{
	struct mf_report_options whole = *options;

	whole.whole_stacks = true;
	whole.threshold = XTREE_THRESHOLD;
	return whole;
}
