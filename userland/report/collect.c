// SPDX-License-Identifier: GPL-2.0
// Builds a finished profile from a store.

#include "report/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "model/details.h"
#include "model/tree_version.h"
#include "model/model.h"
#include "model/object_path.h"
#include "model/objects.h"
#include "model/size_classes.h"
#include "model/rewind.h"
#include "model/tally.h"
#include "model/thread_table.h"
#include "model/thread_totals.h"
#include "model/trie.h"
#include "base/held.h"

/*
 * How many times to retry if the program moves records of tree versions while they are being read, and how long to wait
 * for a move to finish. The wait is limited because a program that is killed during a move never finishes it.
 */
#define LOOK_TRIES 100
#define MOVE_NAPS  50
#define MOVE_NAP_NS 1000000

#define COUNTED_AT_ONCE 256u /* number of contexts */

static void *allocate(struct mf_collection *collection, size_t n, size_t size)
{
	void *memory = calloc(n ? n : 1, size);

	if (memory)
		collection->memory[collection->n_memory++] = memory;
	return memory;
}

/*
 * Copies the object's path, which the program can change. Resolves symbolic links in it, so that it is the path that the
 * kernel would show. The dynamic linker reports the path under which it found the object, which may be a link such as
 * libfoo.so.6. If the file no longer exists, leaves the path unchanged. Returns 0 or -ENOMEM.
 */
static int take_path(const struct mf_store *store, struct mf_collection *collection, struct mf_object *object)
{
	mf_auto_free char *path = NULL;
	char *resolved;

	if (!object->path)
		return 0;
	/* If the file is held open, its path is already resolved. Resolving it again could find a different file. */
	if (object->kind == MF_OBJECT_FILE && object->held) {
		object->path = object->held->path;
		return 0;
	}
	path = mf_object_path_copy(store, object);
	if (!path)
		return -ENOMEM;
	resolved = object->kind == MF_OBJECT_FILE ? realpath(path, NULL) : NULL;
	object->path = collection->paths[collection->n_paths++] = resolved ?: mf_take(path, NULL);
	return 0;
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
		if (mf_objects_read(store, i, &objects[i]) && take_path(store, collection, &objects[i]))
			return -ENOMEM;
	collection->profile.objects = objects;
	collection->profile.n_objects = n;
	return 0;
}

static uint32_t contexts_in(const struct mf_store *store)
{
	uint32_t n = store->header->n_contexts;

	if (n < MF_CONTEXT_FIRST || n > mf_trie_contexts_max(store) ||
	    !mf_store_fits(store, MF_REGION_CONTEXT_NODES, n - 1, sizeof(uint32_t)))
		return 0;
	return n - MF_CONTEXT_FIRST;
}

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_collection *collection = source;
	uint32_t depth = mf_trie_frames(collection->store, MF_CONTEXT_FIRST + number, frames,
					MF_PROFILE_FRAMES_MAX);

	for (uint32_t i = 0; i < depth; i++) {
		if (frames[i].object >= collection->profile.n_objects)
			frames[i].object = MF_OBJECT_NONE;
	}
	return depth;
}

static uint32_t node_of(const void *source, uint32_t number)
{
	const struct mf_collection *collection = source;
	uint32_t node = mf_trie_node_of(collection->store, MF_CONTEXT_FIRST + number);

	return node < collection->profile.n_nodes ? node : MF_NODE_ROOT;
}

static uint32_t read_node(const void *source, uint32_t node, struct mf_frame *frame)
{
	const struct mf_collection *collection = source;
	uint32_t caller = mf_trie_read_node(collection->store, node, frame);

	if (frame->object >= collection->profile.n_objects)
		frame->object = MF_OBJECT_NONE;
	return caller;
}

/*
 * Lets readers use the nodes of the trie. If threads are kept apart, the trie can have the same stack several times. Call
 * this when all contexts and objects that the profile has are known.
 */
static void offer_nodes(struct mf_collection *collection)
{
	const struct mf_store_header *header = collection->store->header;
	uint32_t n = header->n_nodes;

	if (header->thread_object || !n || !mf_store_fits(collection->store, MF_REGION_NODES, n - 1, sizeof(struct mf_node)))
		return;
	collection->profile.n_nodes = n;
	collection->profile.node_of = node_of;
	collection->profile.read_node = read_node;
}

/* A sum may be negative if it was read after one thread had subtracted from it but before another thread had added. */
static uint32_t blocks_in(uint64_t sum)
{
	return (int64_t)sum < 0 ? 0 : sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

/*
 * Adds a leaf, which is a context with its live bytes, for each non-zero value among the @n values in @bytes. @blocks are
 * the contexts' live blocks, or NULL.
 */
static int add_leaves(struct mf_collection *collection, const uint64_t *bytes, const uint64_t *blocks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!bytes[i])
			continue;
		if (collection->n_leaves == collection->room_leaves) {
			size_t room = collection->room_leaves ? collection->room_leaves * 2 : 1024;
			struct mf_leaf *leaves =
				reallocarray(collection->leaves, room, sizeof(*leaves));

			if (!leaves)
				return -ENOMEM;
			collection->leaves = leaves;
			collection->room_leaves = room;
		}
		collection->leaves[collection->n_leaves++] =
			(struct mf_leaf){ i, blocks ? blocks_in(blocks[i]) : 0, bytes[i] };
	}
	return 0;
}

/*
 * Collects the tree of one snapshot. Must be called for newer snapshots before older ones. @bytes has room for all
 * contexts.
 */
static int collect_tree(struct mf_rewind *rewind, struct mf_collection *collection,
			uint64_t capture, uint64_t *bytes, struct mf_profile_snapshot *snapshot)
{
	uint32_t n_contexts = (uint32_t)collection->profile.n_contexts;
	size_t first = collection->n_leaves;
	uint32_t n = mf_rewind_to(rewind, capture, bytes, n_contexts);

	if (n > n_contexts)
		n = n_contexts;
	if (add_leaves(collection, bytes, mf_rewind_blocks(rewind), n))
		return -ENOMEM;
	snapshot->n_seen = n;
	snapshot->n_leaves = collection->n_leaves - first;
	snapshot->has_blocks = mf_rewind_blocks(rewind) != NULL;
	return 0;
}

/*
 * Collects the current byte counts of all contexts in @store as a tree. @bytes is a scratch array with one element per
 * context.
 */
static int collect_present_tree(const struct mf_store *store, struct mf_collection *collection,
				uint64_t *bytes, struct mf_profile_snapshot *snapshot)
{
	uint32_t n_contexts = (uint32_t)collection->profile.n_contexts;
	size_t first = collection->n_leaves;
	uint32_t n = mf_rewind_present(store, bytes, n_contexts);
	mf_auto_free uint64_t *blocks = NULL;

	if (n > n_contexts)
		n = n_contexts;
	if (mf_details_are_kept(store)) {
		blocks = calloc(n_contexts + 1, sizeof(*blocks));
		if (!blocks)
			return -ENOMEM;
		mf_rewind_present_blocks(store, blocks, n);
	}
	/*
	 * A sum may be negative if it was read after one thread had subtracted from it but before another thread had
	 * added to it.
	 */
	for (uint32_t i = 0; i < n; i++)
		if ((int64_t)bytes[i] < 0)
			bytes[i] = 0;
	if (add_leaves(collection, bytes, blocks, n))
		return -ENOMEM;
	snapshot->n_seen = n;
	snapshot->n_leaves = collection->n_leaves - first;
	snapshot->has_blocks = blocks != NULL;
	return 0;
}

/*
 * Fills @views with the profile's snapshots, including a final one at the end of the profile if @end requires it.
 * Returns the number of snapshots, or -errno.
 */
static int view_snapshots(const struct mf_store *store, struct mf_end end,
			  struct mf_snapshot_view *views)
{
	struct mf_ending *ending;
	int n;

	ending = calloc(1, sizeof(*ending));
	if (!ending)
		return -ENOMEM;
	mf_ending_make(ending, store, end);
	n = (int)mf_model_view(&ending->store, views);
	free(ending);
	return n;
}

/*
 * Collects the trees of all snapshots, from the newest to the oldest. The trees are read from tree versions, which the
 * profile recorded for the detailed snapshots. A detailed snapshot that is added at the end of the profile has no tree
 * version, so its tree is made from the contexts' current byte counts.
 */
static int collect_trees(const struct mf_store *store, const struct mf_snapshot_view *views, size_t n,
			 struct mf_collection *collection, struct mf_profile_snapshot *snapshots)
{
	mf_auto_free uint64_t *bytes = NULL, *cells = NULL;
	struct mf_rewind rewind;
	int code = 0;

	bytes = calloc(collection->profile.n_contexts + 1, sizeof(*bytes));
	cells = calloc(mf_rewind_prepare(&rewind, store) + 1, sizeof(*cells));
	if (!bytes || !cells)
		return -ENOMEM;
	if (n && views[n - 1].snapshot.capture == MF_CAPTURE_PRESENT) {
		n--;
		code = collect_present_tree(store, collection, bytes, &snapshots[n]);
	}
	mf_rewind_begin(&rewind, cells);
	while (!code && n-- > 0) {
		if (views[n].tree != MF_TREE_EMPTY)
			code = collect_tree(&rewind, collection, views[n].snapshot.capture, bytes,
					    &snapshots[n]);
		/*
		 * Release the records of tree versions: with many contexts, they make up most of the session's memory.
		 */
		mf_store_let_go(store, MF_REGION_CAPTURES);
	}
	mf_store_let_go(store, MF_REGION_CONTEXT_BYTES);
	return code;
}

/* Trees are read from the newest to the oldest, and their leaves are stored in this order. */
static int collect_snapshots(const struct mf_store *store, struct mf_end end,
			     struct mf_collection *collection)
{
	struct mf_snapshot_view *views = allocate(collection, MF_SNAPSHOTS_MAX, sizeof(*views));
	struct mf_profile_snapshot *snapshots;
	size_t used = 0;
	int n, code;

	if (!views)
		return -ENOMEM;
	n = view_snapshots(store, end, views);
	if (n < 0)
		return n;
	/* Read the number of contexts after the snapshots, so that no snapshot has more contexts than that. */
	collection->profile.n_contexts = contexts_in(store);
	snapshots = allocate(collection, (size_t)n, sizeof(*snapshots));
	if (!snapshots)
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		snapshots[i] = (struct mf_profile_snapshot){
			.time = views[i].snapshot.time,
			.heap_bytes = views[i].snapshot.heap,
			.extra_bytes = views[i].snapshot.extra,
			.stack_bytes = views[i].snapshot.stacks,
			.tree = views[i].tree,
		};
	code = collect_trees(store, views, (size_t)n, collection, snapshots);
	if (code)
		return code;
	/* All leaves have been added, so their array will no longer move, and the snapshots may point into it. */
	for (int i = n; i-- > 0;) {
		if (!snapshots[i].n_leaves)
			continue;
		snapshots[i].leaves = collection->leaves + used;
		used += snapshots[i].n_leaves;
	}
	collection->profile.snapshots = snapshots;
	collection->profile.n_snapshots = (size_t)n;
	return 0;
}

static int collect_present(const struct mf_store *store, int64_t now, bool detailed,
			   struct mf_collection *collection)
{
	struct mf_profile_snapshot *snapshot = allocate(collection, 1, sizeof(*snapshot));
	mf_auto_free uint64_t *bytes = calloc(collection->profile.n_contexts + 1, sizeof(*bytes));
	struct mf_tally_totals totals = mf_tally_look(store, now);

	if (!snapshot || !bytes)
		return -ENOMEM;
	*snapshot = (struct mf_profile_snapshot){
		.time = totals.time,
		.heap_bytes = totals.heap,
		.extra_bytes = totals.extra,
		.stack_bytes = totals.stacks,
		.tree = detailed ? MF_TREE_DETAILED : MF_TREE_EMPTY,
	};
	if (detailed && collect_present_tree(store, collection, bytes, snapshot))
		return -ENOMEM;
	snapshot->leaves = collection->leaves;
	collection->profile.snapshots = snapshot;
	collection->profile.n_snapshots = 1;
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

/*
 * Waits until the program is no longer moving its records of earlier byte counts (see tree_version.h), or until the
 * time limit has passed. Returns the counter of these moves, which is odd if the program is still moving records.
 */
static uint32_t moves_at_rest(const struct mf_store *store)
{
	const struct timespec nap = { .tv_nsec = MOVE_NAP_NS };
	uint32_t moves = mf_tree_version_moves(store);

	for (int i = 0; i < MOVE_NAPS && moves % 2; i++) {
		nanosleep(&nap, NULL);
		moves = mf_tree_version_moves(store);
	}
	return moves;
}

static int collect_once(const struct mf_store *store, struct mf_end end,
			struct mf_collection *collection, struct mf_error *err)
{
	int code;

	memset(collection, 0, sizeof(*collection));
	collection->profile.time_unit = mf_model_of(store)->options.time_unit;
	collection->store = store;
	collection->profile.read_context = read_context;
	collection->profile.source = collection;
	code = collect_snapshots(store, end, collection);
	if (!code)
		code = take_objects(store, collection);
	if (!code)
		offer_nodes(collection);
	return code ? give_up(collection, code, err) : 0;
}

int mf_collect(const struct mf_store *store, struct mf_end end, struct mf_collection *collection,
	       struct mf_error *err)
{
	int code = 0;

	mf_tree_version_hold(store);
	for (int i = 0; i < LOOK_TRIES; i++) {
		uint32_t moves = moves_at_rest(store);

		code = collect_once(store, end, collection, err);
		if (code || moves == mf_tree_version_moves(store))
			goto out;
		mf_collection_release(collection);
	}
	code = mf_error_set(err, -EAGAIN, "the program takes snapshots too fast to read them; try again");
out:
	mf_tree_version_let_go(store);
	return code;
}

int mf_collect_present(const struct mf_store *store, int64_t now, bool detailed,
		       struct mf_collection *collection, struct mf_error *err)
{
	int code;

	memset(collection, 0, sizeof(*collection));
	collection->profile.time_unit = mf_model_of(store)->options.time_unit;
	collection->store = store;
	collection->profile.read_context = read_context;
	collection->profile.source = collection;
	collection->profile.n_contexts = contexts_in(store);
	code = take_objects(store, collection);
	if (!code)
		code = collect_present(store, now, detailed, collection);
	return code ? give_up(collection, code, err) : 0;
}

struct live {
	const struct mf_store *store;
	struct mf_counts *counts;
	size_t n;
};

static void add_block(const struct mf_block *block, void *data)
{
	const struct live *live = data;

	if (block->context - MF_CONTEXT_FIRST < live->n)
		live->counts[block->context - MF_CONTEXT_FIRST].live++;
}

/* A block whose free was delayed until an event that never came. */
static void subtract_block(const struct mf_block *block, void *data)
{
	const struct live *live = data;
	struct mf_counts *counts;

	if (block->context - MF_CONTEXT_FIRST >= live->n)
		return;
	counts = &live->counts[block->context - MF_CONTEXT_FIRST];
	counts->live--;
	counts->temporaries += mf_tally_was_last(live->store, block->address);
}

/* Sets the counts of @n contexts, at most COUNTED_AT_ONCE, from @first on. */
static void sum_counts(const struct mf_store *store, size_t first, size_t n, struct mf_counts *counts)
{
	struct mf_trie_counts sums[COUNTED_AT_ONCE];

	mf_trie_sum_counts(store, MF_CONTEXT_FIRST + (uint32_t)first, (uint32_t)n, sums);
	for (size_t i = 0; i < n; i++)
		counts[first + i] = (struct mf_counts){
			.allocations = sums[i].allocations,
			.allocated = sums[i].allocated,
			.temporaries = sums[i].temporaries,
		};
}

int mf_collect_counts(struct mf_collection *collection, struct mf_error *err)
{
	size_t n = collection->profile.n_contexts;
	struct live live = { collection->store, allocate(collection, n, sizeof(*live.counts)), n };
	struct mf_size_class *sizes = allocate(collection, MF_SIZE_CLASSES, sizeof(*sizes));
	uint8_t *functions = allocate(collection, n, sizeof(*functions));

	if (!live.counts || !sizes || !functions)
		return mf_error_set(err, -ENOMEM, "not enough memory to read the profile");
	for (size_t i = 0; i < n; i += COUNTED_AT_ONCE)
		sum_counts(collection->store, i, n - i < COUNTED_AT_ONCE ? n - i : COUNTED_AT_ONCE, live.counts);
	for (size_t i = 0; i < n; i++)
		functions[i] = mf_trie_function(collection->store, MF_CONTEXT_FIRST + (uint32_t)i);
	mf_blocks_walk(collection->store, add_block, &live);
	mf_tally_walk_delayed(collection->store, subtract_block, &live);
	mf_size_classes_sum(collection->store, sizes);
	collection->profile.counts = live.counts;
	collection->profile.sizes = sizes;
	collection->profile.functions = functions;
	return 0;
}

/* The threads of the table; number 0 stands for others. */
struct table {
	uint32_t n; /* without number 0 */
	char *names;
};

static bool allocate_table(struct mf_collection *collection, struct table *table)
{
	uint32_t n = collection->store->header->n_threads;

	table->n = n <= MF_THREAD_TABLE_MAX ? n : MF_THREAD_TABLE_MAX;
	table->names = allocate(collection, table->n + 1, MF_THREAD_NAME_SIZE + 1);
	return table->names;
}

static struct mf_thread_info thread_in(const struct mf_store *store, const struct table *table, uint32_t number)
{
	const struct mf_thread_record *record = mf_thread_table_record(store, number);
	char *name = table->names + number * (MF_THREAD_NAME_SIZE + 1);

	memcpy(name, record->name, sizeof(record->name));
	return (struct mf_thread_info){ record->tid > 0 ? (uint64_t)record->tid : 0, name };
}

static int collect_totals(struct mf_collection *collection, struct mf_error *err)
{
	mf_auto_free struct mf_thread_sums *sums = NULL;
	struct mf_thread_total *totals;
	struct table table;

	if (allocate_table(collection, &table))
		sums = calloc(table.n + 1, sizeof(*sums));
	totals = sums ? allocate(collection, table.n + 1, sizeof(*totals)) : NULL;
	if (!totals)
		return mf_error_set(err, -ENOMEM, "not enough memory to read the profile");
	mf_thread_totals_read(collection->store, table.n, sums);
	for (uint32_t i = 0; i <= table.n; i++)
		totals[i] = (struct mf_thread_total){ thread_in(collection->store, &table, i), sums[i] };
	totals[0].thread = (struct mf_thread_info){ .name = sums[0].allocations ? MF_THREAD_TABLE_OTHERS : "" };
	collection->profile.thread_totals = totals;
	collection->profile.n_thread_totals = table.n + 1;
	return 0;
}

int mf_collect_threads(struct mf_collection *collection, struct mf_error *err)
{
	const struct mf_store *store = collection->store;
	struct mf_thread_info *threads;
	uint32_t *of_contexts;
	struct table table;

	if (!store->header->separates_threads)
		return store->header->counts_threads ? collect_totals(collection, err) : 0;
	of_contexts = allocate(collection, collection->profile.n_contexts, sizeof(*of_contexts));
	threads = allocate_table(collection, &table) ? allocate(collection, table.n + 1, sizeof(*threads)) : NULL;
	if (!threads || !of_contexts)
		return mf_error_set(err, -ENOMEM, "not enough memory to read the profile");
	threads[0].name = table.names;
	for (uint32_t i = 1; i <= table.n; i++)
		threads[i] = thread_in(store, &table, i);
	for (uint32_t i = 0; i < collection->profile.n_contexts; i++) {
		of_contexts[i] = mf_thread_table_of(store, MF_CONTEXT_FIRST + i);
		if (of_contexts[i] > table.n)
			of_contexts[i] = 0;
	}
	collection->profile.threads = threads;
	collection->profile.n_threads = table.n + 1;
	collection->profile.context_threads = of_contexts;
	return 0;
}

/* Class counts of all contexts. */
struct class_counts {
	struct mf_class_count *list;
	size_t count, room;
};

/* Adds the classes that are not empty, whose number is returned in *@n. Returns false if out of memory. */
static bool add_classes(struct class_counts *all, const uint64_t *counts, uint32_t *n)
{
	if (all->room - all->count < MF_DETAIL_CLASSES) {
		size_t room = all->room * 2 + 1024;
		struct mf_class_count *list = reallocarray(all->list, room, sizeof(*list));

		if (!list)
			return false;
		all->list = list;
		all->room = room;
	}
	for (uint32_t i = 0; i < MF_DETAIL_CLASSES; i++)
		if (counts[i]) {
			all->list[all->count++] = (struct mf_class_count){ i, counts[i] };
			++*n;
		}
	return true;
}

static bool collect_details(const struct mf_collection *collection, struct mf_context_details *details,
			    struct class_counts *classes)
{
	size_t n = collection->profile.n_contexts, used = 0;

	for (size_t i = 0; i < n; i++) {
		struct mf_detail_sum sum;

		mf_details_sum(collection->store, MF_CONTEXT_FIRST + (uint32_t)i, &sum);
		details[i].largest = sum.largest;
		if (!add_classes(classes, sum.counts[MF_DETAIL_SIZES], &details[i].n_sizes) ||
		    !add_classes(classes, sum.counts[MF_DETAIL_LIFETIMES], &details[i].n_lifetimes) ||
		    !add_classes(classes, sum.counts[MF_DETAIL_AGES], &details[i].n_ages))
			return false;
	}
	/* The list has all classes now, and no longer moves. */
	for (size_t i = 0; i < n; i++) {
		details[i].sizes = classes->list + used;
		details[i].lifetimes = details[i].sizes + details[i].n_sizes;
		details[i].ages = details[i].lifetimes + details[i].n_lifetimes;
		used += details[i].n_sizes + details[i].n_lifetimes + details[i].n_ages;
	}
	return true;
}

int mf_collect_details(struct mf_collection *collection, struct mf_error *err)
{
	struct mf_context_details *details;
	struct class_counts classes = { 0 };
	bool done;

	if (!mf_details_are_kept(collection->store))
		return 0;
	details = allocate(collection, collection->profile.n_contexts, sizeof(*details));
	done = details && collect_details(collection, details, &classes);
	if (classes.list)
		collection->memory[collection->n_memory++] = classes.list;
	if (!done)
		return mf_error_set(err, -ENOMEM, "not enough memory to read the profile");
	collection->profile.details = details;
	collection->profile.has_ages = true;
	collection->profile.details_lost = collection->store->header->details_lost;
	return 0;
}

void mf_collection_release(struct mf_collection *collection)
{
	for (size_t i = 0; i < collection->n_memory; i++)
		free(collection->memory[i]);
	for (size_t i = 0; i < collection->n_paths; i++)
		free(collection->paths[i]);
	free(collection->paths);
	free(collection->leaves);
	memset(collection, 0, sizeof(*collection));
}
