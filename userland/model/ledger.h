/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger: what each stack has allocated and freed since the start, for --xtree-memory=full.
 *
 * The ledger has one entry for each stack that has allocated or freed blocks. It is separate from the model: snapshots
 * do not use it, and stacks that only free blocks are not contexts. Threads update it concurrently, one value at a
 * time, so a reader may see only some of an event's changes.
 */
#ifndef MASSIF_MODEL_LEDGER_H
#define MASSIF_MODEL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/blocks.h"
#include "model/store.h"

enum mf_ledger_value {
	MF_LEDGER_BYTES, /* live bytes that were allocated by this stack */
	MF_LEDGER_BLOCKS,
	MF_LEDGER_ALLOCATED_BYTES,
	MF_LEDGER_ALLOCATED_BLOCKS,
	MF_LEDGER_FREED_BYTES, /* bytes that this stack freed, even if another stack allocated them */
	MF_LEDGER_FREED_BLOCKS,
	MF_LEDGER_VALUES,
};

/* What one stack has allocated and freed. An entry is as large as a cache line. */
struct mf_ledger_entry {
	_Alignas(64) uint64_t values[MF_LEDGER_VALUES];
	uint32_t node; /* trie node where the stack ends, or MF_NODE_ROOT if it is not known */
};

/* Counts a block of @size bytes that was allocated in @context. */
void mf_ledger_alloc(struct mf_store *store, uint32_t context, uint64_t size);

/*
 * Records that the stack ending in @node freed @block. As in Valgrind, freeing a block of 0 bytes is not counted, so
 * such a block remains among the live blocks. @node is UINT32_MAX if the trie has no room for the stack; the free is
 * then not recorded.
 */
void mf_ledger_free(struct mf_store *store, uint32_t node, const struct mf_block *block);

/* Records that @context reallocated @old to @size bytes, as a free of the old block followed by an allocation. */
void mf_ledger_realloc(struct mf_store *store, uint32_t context, const struct mf_block *old,
		       uint64_t size);

/*
 * Copies entry @number of the ledger to @entry. Entries are numbered from 1 in the order in which they were created.
 * Returns false if @number exceeds the number of entries. Safe even if the memory has been damaged.
 */
bool mf_ledger_read(const struct mf_store *store, uint32_t number, struct mf_ledger_entry *entry);

#endif
