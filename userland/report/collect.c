// SPDX-License-Identifier: GPL-2.0
// Makes a finished profile of a store.

#include "report/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/capture.h"
#include "model/model.h"
#include "model/objects.h"
#include "model/trie.h"

#define FRAMES_MAX 512u /* more than any capture has */

static void *allocate(struct mf_collection *collection, size_t n, size_t size)
{
	void *memory = calloc(n ? n : 1, size);

	if (memory)
		collection->memory[collection->n_memory++] = memory;
	return memory;
}

/*
 * The path as the kernel would show it: the dynamic linker gives the one by which it found the
 * object, through links such as libfoo.so.6. It stays as it is when the file is gone.
 */
static void resolve_path(struct mf_collection *collection, struct mf_object *object)
{
	char *resolved;

	if (object->kind != MF_OBJECT_FILE)
		return;
	resolved = realpath(object->path, NULL);
	if (!resolved)
		return;
	collection->paths[collection->n_paths++] = resolved;
	object->path = resolved;
}

static int take_objects(const struct mf_store *store, struct mf_collection *collection)
{
	uint32_t n = store->header->n_objects;
	struct mf_object *objects;

	if (!n || !mf_store_fits(store, MF_REGION_OBJECTS, n - 1, sizeof(struct mf_object_record)))
		n = 1;
	objects = allocate(collection, n, sizeof(*objects));
	collection->paths = calloc(n, sizeof(*collection->paths));
	if (!objects || !collection->paths)
		return -ENOMEM;
	for (uint32_t i = 1; i < n; i++)
		if (mf_objects_read(store, i, &objects[i]))
			resolve_path(collection, &objects[i]);
	collection->profile.objects = objects;
	collection->profile.n_objects = n;
	return 0;
}

static uint32_t contexts_in(const struct mf_store *store)
{
	uint32_t n = store->header->n_contexts;

	if (n < MF_CONTEXT_FIRST ||
	    !mf_store_fits(store, MF_REGION_CONTEXT_NODES, n - 1, sizeof(uint32_t)))
		return 0;
	return n - MF_CONTEXT_FIRST;
}

static int collect_contexts(const struct mf_store *store, struct mf_collection *collection)
{
	uint32_t n = contexts_in(store);
	struct mf_context *contexts = allocate(collection, n, sizeof(*contexts));
	struct mf_frame *stack = allocate(collection, FRAMES_MAX, sizeof(*stack));
	struct mf_frame *frames;
	uint64_t total = 0;

	if (!contexts || !stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		total += mf_trie_frames(store, MF_CONTEXT_FIRST + i, stack, FRAMES_MAX);
	frames = allocate(collection, total, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		/* A second look: the memory may still be changing under a live program. */
		uint32_t depth = mf_trie_frames(store, MF_CONTEXT_FIRST + i, stack, FRAMES_MAX);

		if (depth > total)
			depth = (uint32_t)total;
		for (uint32_t j = 0; j < depth; j++) {
			if (stack[j].object >= collection->profile.n_objects)
				stack[j].object = MF_OBJECT_NONE;
			frames[j] = stack[j];
		}
		contexts[i] = (struct mf_context){ .frames = frames, .n_frames = depth };
		frames += depth;
		total -= depth;
	}
	collection->profile.contexts = contexts;
	collection->profile.n_contexts = n;
	return 0;
}

/* The leaves of all detailed snapshots in one array: context numbers as in the profile. */
static int collect_snapshots(const struct mf_store *store, struct mf_collection *collection)
{
	struct mf_snapshot_view *views = allocate(collection, MF_SNAPSHOTS_MAX, sizeof(*views));
	struct mf_profile_snapshot *snapshots;
	uint32_t n_contexts = (uint32_t)collection->profile.n_contexts;
	uint64_t *bytes = NULL, total = 0;
	struct mf_leaf *leaves;
	uint32_t n;

	if (!views)
		return -ENOMEM;
	n = mf_model_view(store, views);
	snapshots = allocate(collection, n, sizeof(*snapshots));
	bytes = calloc(n_contexts ? n_contexts : 1, sizeof(*bytes));
	if (!snapshots || !bytes) {
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		snapshots[i] = (struct mf_profile_snapshot){
			.time = views[i].snapshot.time,
			.heap_bytes = views[i].snapshot.heap,
			.extra_bytes = views[i].snapshot.extra,
			.stack_bytes = views[i].snapshot.stacks,
			.tree = views[i].tree,
		};
		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		snapshots[i].n_leaves = mf_capture_read(store, views[i].snapshot.capture, NULL, 0);
		if (snapshots[i].n_leaves > n_contexts)
			snapshots[i].n_leaves = n_contexts;
		total += snapshots[i].n_leaves;
	}
	leaves = allocate(collection, total, sizeof(*leaves));
	if (!leaves) {
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		mf_capture_read(store, views[i].snapshot.capture, bytes,
				(uint32_t)snapshots[i].n_leaves);
		for (uint32_t j = 0; j < snapshots[i].n_leaves; j++)
			leaves[j] = (struct mf_leaf){ .context = j, .bytes = bytes[j] };
		snapshots[i].leaves = leaves;
		leaves += snapshots[i].n_leaves;
	}
	free(bytes);
	collection->profile.snapshots = snapshots;
	collection->profile.n_snapshots = n;
	return 0;
}

static int give_up(struct mf_collection *collection, int code, struct mf_error *err)
{
	mf_collection_release(collection);
	return mf_error_set(err, code, "not enough memory to read the profile");
}

int mf_collect_objects(const struct mf_store *store, struct mf_collection *collection,
		       struct mf_error *err)
{
	int code;

	memset(collection, 0, sizeof(*collection));
	code = take_objects(store, collection);
	return code ? give_up(collection, code, err) : 0;
}

int mf_collect(const struct mf_store *store, const struct mf_object *objects, size_t n_objects,
	       struct mf_collection *collection, struct mf_error *err)
{
	int code = 0;

	memset(collection, 0, sizeof(*collection));
	collection->profile.time_unit = mf_model_of(store)->options.time_unit;
	if (objects) {
		collection->profile.objects = objects;
		collection->profile.n_objects = n_objects;
	} else {
		code = take_objects(store, collection);
	}
	if (!code)
		code = collect_contexts(store, collection);
	if (!code)
		code = collect_snapshots(store, collection);
	return code ? give_up(collection, code, err) : 0;
}

void mf_collection_release(struct mf_collection *collection)
{
	for (size_t i = 0; i < collection->n_memory; i++)
		free(collection->memory[i]);
	for (size_t i = 0; i < collection->n_paths; i++)
		free(collection->paths[i]);
	free(collection->paths);
	memset(collection, 0, sizeof(*collection));
}
