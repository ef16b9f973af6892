/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger: what each stack has allocated and freed since the start, for --xtree-memory=full.
 *
 * It has an entry for each stack that allocated or freed, and is no part of the model: snapshots know
 * nothing of it, and the stacks that only free are no contexts. Threads write to it side by side, each
 * value by itself; an event's values may so be seen half.
 */
#ifndef MASSIF_MODEL_LEDGER_H
#define MASSIF_MODEL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

enum mf_ledger_value {
	MF_LEDGER_BYTES, /* of blocks that were allocated here and live */
	MF_LEDGER_BLOCKS,
	MF_LEDGER_ALLOCATED_BYTES,
	MF_LEDGER_ALLOCATED_BLOCKS,
	MF_LEDGER_FREED_BYTES, /* here, wherever they were allocated */
	MF_LEDGER_FREED_BLOCKS,
	MF_LEDGER_VALUES,
};

/* A line of the cache. */
struct mf_ledger_entry {
	_Alignas(64) uint64_t values[MF_LEDGER_VALUES];
	uint32_t node; /* of the trie, where the stack ends; MF_NODE_ROOT: it is not known */
};

/* A block of @size bytes was allocated in @context. */
void mf_ledger_alloc(struct mf_store *store, uint32_t context, uint64_t size);

/*
 * @block was freed by the stack that ends in @node. As in Valgrind that is not counted of a block of
 * no bytes, which so stays among the live ones.
 */
void mf_ledger_free(struct mf_store *store, uint32_t node, const struct mf_block *block);

/* The same for a block that was reallocated in @context: its old self is freed there. */
void mf_ledger_realloc(struct mf_store *store, uint32_t context, const struct mf_block *old,
		       uint64_t size);

/*
 * Copies entry @number, from 1 in the order in which they were made, to @entry. Returns false after
 * the last one. Safe against damaged memory.
 */
bool mf_ledger_read(const struct mf_store *store, uint32_t number, struct mf_ledger_entry *entry);

#endif
