// SPDX-License-Identifier: GPL-2.0
// The table of threads, and the nodes of the trie below which their stacks are, if these are kept apart.

#include "model/thread_table.h"

#include <string.h>

#include "model/objects.h"

void mf_thread_table_init(struct mf_store *store)
{
	static const struct mf_object note = { .kind = MF_OBJECT_NOTE, .path = "[thread]" };

	store->header->thread_object = mf_objects_add(store, &note);
}

static void set_name(struct mf_thread_record *record, const char *name)
{
	memcpy(record->name, name, MF_THREAD_NAME_SIZE - 1);
}

/* Returns the number that the next thread will have. */
static uint32_t next_number(const struct mf_store *store)
{
	uint32_t n = store->header->n_threads;

	return n < MF_THREAD_TABLE_MAX ? n + 1 : MF_THREAD_TABLE_MAX;
}

uint32_t mf_thread_table_enter(struct mf_store *store, int32_t tid, const char *name)
{
	uint32_t number = next_number(store);
	struct mf_thread_record *record = mf_thread_table_record(store, number);

	if (number == store->header->n_threads) {
		record->tid = 0;
		record->is_shared = true;
		set_name(record, MF_THREAD_TABLE_OTHERS);
		return number;
	}
	record->tid = tid;
	set_name(record, name);
	store->header->n_threads = number;
	return number;
}

uint32_t mf_thread_table_add(struct mf_store *store, int32_t tid, const char *name)
{
	struct mf_frame frame = { .object = store->header->thread_object, .pc = next_number(store) };
	uint32_t node;

	if (!frame.object)
		return MF_NODE_ROOT;
	node = mf_trie_child(store, MF_NODE_ROOT, frame);
	if (node == UINT32_MAX)
		return MF_NODE_ROOT;
	mf_thread_table_enter(store, tid, name);
	return node;
}

uint32_t mf_thread_table_find(const struct mf_store *store, int32_t tid)
{
	struct mf_frame frame = { .object = store->header->thread_object };

	for (uint32_t number = store->header->n_threads; tid && number; number--) {
		if (mf_thread_table_record(store, number)->tid != tid)
			continue;
		frame.pc = number;
		return mf_trie_find_child(store, MF_NODE_ROOT, frame);
	}
	return MF_NODE_ROOT;
}

void mf_thread_table_set_name(struct mf_store *store, uint32_t number, const char *name)
{
	struct mf_thread_record *record = mf_thread_table_record(store, number);

	if (number && number <= store->header->n_threads && number <= MF_THREAD_TABLE_MAX && !record->is_shared)
		set_name(record, name);
}

void mf_thread_table_rename(struct mf_store *store, uint32_t node, const char *name)
{
	const struct mf_node *its = mf_trie_node(store, node);

	if (node != MF_NODE_ROOT && mf_thread_table_is_node(store, its))
		mf_thread_table_set_name(store, (uint32_t)its->pc, name);
}

uint32_t mf_thread_table_of(const struct mf_store *store, uint32_t context)
{
	const uint32_t *context_nodes = store->regions[MF_REGION_CONTEXT_NODES];
	uint32_t node, parent;

	if (!store->header->thread_object || !mf_store_fits(store, MF_REGION_CONTEXT_NODES, context, sizeof(uint32_t)))
		return 0;
	/* A parent with a greater number than its child's means that the memory is damaged. */
	for (node = context_nodes[context]; node != MF_NODE_ROOT; node = parent) {
		const struct mf_node *its;

		if (!mf_store_fits(store, MF_REGION_NODES, node, sizeof(struct mf_node)))
			return 0;
		its = mf_trie_node(store, node);
		if (mf_thread_table_is_node(store, its))
			return its->pc <= store->header->n_threads && its->pc <= MF_THREAD_TABLE_MAX ? (uint32_t)its->pc : 0;
		parent = its->parent;
		if (parent >= node)
			return 0;
	}
	return 0;
}
