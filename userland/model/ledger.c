// SPDX-License-Identifier: GPL-2.0
// The ledger: what each stack has allocated and freed since the start.

#include "model/ledger.h"

#include "model/trie.h"

static struct mf_ledger_entry *entries_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_LEDGER];
}

/* Returns the entry of the stack that ends in @node, creating it if necessary, or NULL if the store is full. */
static struct mf_ledger_entry *entry_of(struct mf_store *store, uint32_t node)
{
	uint32_t *numbers = store->regions[MF_REGION_LEDGER_NUMBERS], number, none = 0;

	if (!mf_store_fits(store, MF_REGION_LEDGER_NUMBERS, node, sizeof(*numbers)))
		goto full;
	number = __atomic_load_n(&numbers[node], __ATOMIC_ACQUIRE);
	if (number)
		return &entries_of(store)[number];
	/*
	 * Check that there is room for an entry before incrementing the number of entries, so that the number does not
	 * grow indefinitely when the region is full. Check again afterwards, because other threads may have incremented
	 * the number in the meantime.
	 */
	number = __atomic_load_n(&store->header->n_ledger, __ATOMIC_RELAXED);
	if (mf_store_fits(store, MF_REGION_LEDGER, number, sizeof(struct mf_ledger_entry)))
		number = __atomic_fetch_add(&store->header->n_ledger, 1, __ATOMIC_RELAXED);
	if (!mf_store_fits(store, MF_REGION_LEDGER, number, sizeof(struct mf_ledger_entry)))
		goto full;
	entries_of(store)[number].node = node;
	/* If two threads add an entry for the same node at the same time, the second thread's entry stays empty. */
	if (__atomic_compare_exchange_n(&numbers[node], &none, number, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return &entries_of(store)[number];
	return &entries_of(store)[none];
full:
	mf_store_set_full(store, MF_STORE_FULL_LEDGER);
	return NULL;
}

static void add(struct mf_store *store, uint32_t node, enum mf_ledger_value bytes_value,
		int64_t bytes, int64_t blocks)
{
	struct mf_ledger_entry *entry = entry_of(store, node);

	if (!entry)
		return;
	__atomic_fetch_add(&entry->values[bytes_value], (uint64_t)bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&entry->values[bytes_value + 1], (uint64_t)blocks, __ATOMIC_RELAXED);
}

/* Returns the node of @context, or the root if the context is ignored. */
static uint32_t node_of(const struct mf_store *store, uint32_t context)
{
	const uint32_t *nodes = store->regions[MF_REGION_CONTEXT_NODES];

	return context < MF_CONTEXT_FIRST ? MF_NODE_ROOT : nodes[context];
}

void mf_ledger_alloc(struct mf_store *store, uint32_t context, uint64_t size)
{
	uint32_t node = node_of(store, context);

	/* The store had no room for the stack, so the event is lost. */
	if (context == MF_CONTEXT_NONE)
		return;
	add(store, node, MF_LEDGER_BYTES, (int64_t)size, 1);
	add(store, node, MF_LEDGER_ALLOCATED_BYTES, (int64_t)size, 1);
}

void mf_ledger_free(struct mf_store *store, uint32_t node, const struct mf_block *block)
{
	if (!block->size || node == UINT32_MAX)
		return;
	add(store, node_of(store, block->context), MF_LEDGER_BYTES, -(int64_t)block->size, -1);
	add(store, node, MF_LEDGER_FREED_BYTES, (int64_t)block->size, 1);
}

void mf_ledger_realloc(struct mf_store *store, uint32_t context, const struct mf_block *old,
		       uint64_t size)
{
	mf_ledger_alloc(store, context, size);
	mf_ledger_free(store, node_of(store, context), old);
}

bool mf_ledger_read(const struct mf_store *store, uint32_t number, struct mf_ledger_entry *entry)
{
	uint32_t n = __atomic_load_n(&store->header->n_ledger, __ATOMIC_ACQUIRE);

	if (number >= n || !mf_store_fits(store, MF_REGION_LEDGER, number, sizeof(*entry)))
		return false;
	*entry = entries_of(store)[number];
	return true;
}
