// SPDX-License-Identifier: GPL-2.0
// The tree of a detailed snapshot: contexts merged by the addresses of their frames.

#include "report/tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NO_GROUP UINT32_MAX
#define FEW	 16u /* a snapshot has few leaves if at most one in so many contexts has bytes */

/* A node of the tree. The contexts whose outer frames form the path to this node are adjacent in mf_tree.order. */
struct node {
	uint32_t frame;		       /* number of the node's frame in struct mf_frames */
	uint32_t depth;		       /* number of frames from the root, including the node's own */
	uint32_t begin, end;	       /* range of the node's contexts in mf_tree.order */
	/* number of the oldest of the node's contexts; contexts are numbered in the order of their creation */
	uint32_t first_seen;
	uint32_t first_child, n_children; /* the node's children, which are adjacent; valid if @expanded */
	bool expanded;
};

struct mf_tree {
	const struct mf_frames *frames;

	/*
	 * The frames of context i that remain after filtering: numbers[starts[i]] .. numbers[starts[i + 1] - 1] are
	 * their numbers in @frames.
	 */
	uint32_t *numbers, n_numbers, room_numbers;
	uint32_t *starts, n_contexts;

	struct node *nodes;
	uint32_t n_nodes, room_nodes;

	uint32_t *order; /* contexts that are not ignored, grouped by node */
	uint32_t n_order;
	uint32_t *scratch; /* scratch memory of the same size as @order */
	/*
	 * The child of each context of @order, or NO_GROUP; used while a node's children are being created. Otherwise, if
	 * @is_placed, the index in @order of each context.
	 */
	uint32_t *places;
	bool is_placed;
	/* maps each frame to the number of the child with this frame; used while a node's children are being created */
	uint32_t *group_of;

	/* The current snapshot: live bytes of each context, and their running sums in the order of @order. */
	uint64_t *bytes, *sums;
	size_t n_seen;
	const struct mf_profile_snapshot *snapshot; /* the current one; NULL if there is none */
};

static bool add_number(struct mf_tree *tree, uint32_t number)
{
	if (tree->n_numbers == tree->room_numbers) {
		uint32_t room = tree->room_numbers ? tree->room_numbers * 2 : 4096;
		uint32_t *numbers = NULL;

		if (room > tree->room_numbers)
			numbers = reallocarray(tree->numbers, room, sizeof(*numbers));
		if (!numbers)
			return false;
		tree->numbers = numbers;
		tree->room_numbers = room;
	}
	tree->numbers[tree->n_numbers++] = number;
	return true;
}

/* Adds a node and returns its number, or UINT32_MAX if out of memory. */
static uint32_t add_node(struct mf_tree *tree, const struct node *node)
{
	if (tree->n_nodes == tree->room_nodes) {
		uint32_t room = tree->room_nodes ? tree->room_nodes * 2 : 1024;
		struct node *nodes = reallocarray(tree->nodes, room, sizeof(*nodes));

		if (!nodes)
			return UINT32_MAX;
		tree->nodes = nodes;
		tree->room_nodes = room;
	}
	tree->nodes[tree->n_nodes] = *node;
	return tree->n_nodes++;
}

static void expect_context(const struct mf_profile *profile, uint32_t number, struct mf_filter *filter)
{
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };

	context.n_frames = profile->read_context(profile->source, number, stack);
	mf_filter_expect(filter, &context);
}

/* Appends the frames of context @number that remain after filtering. */
static int add_context(struct mf_tree *tree, const struct mf_profile *profile, uint32_t number,
		       struct mf_frames *frames, struct mf_filter *filter, struct mf_error *err)
{
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };
	struct mf_filter_span span;
	int rc;

	context.n_frames = profile->read_context(profile->source, number, stack);
	rc = mf_filter_apply(filter, &context, NULL, &span, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < span.count; i++) {
		uint32_t at = span.first + i;
		uint32_t frame = mf_frames_intern_at(frames, stack[at], context.n_frames - 1 - at);

		if (frame == MF_FRAMES_NONE || !add_number(tree, frame))
			return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	}
	if (span.count)
		tree->order[tree->n_order++] = number;
	return 0;
}

static bool allocate(struct mf_tree *tree, size_t n_contexts)
{
	tree->starts = calloc(n_contexts + 1, sizeof(*tree->starts));
	tree->order = calloc(n_contexts + 1, sizeof(*tree->order));
	tree->scratch = calloc(n_contexts + 1, sizeof(*tree->scratch));
	tree->places = calloc(n_contexts + 1, sizeof(*tree->places));
	tree->bytes = calloc(n_contexts + 1, sizeof(*tree->bytes));
	tree->sums = calloc(n_contexts + 1, sizeof(*tree->sums));
	return tree->starts && tree->order && tree->scratch && tree->places && tree->bytes && tree->sums;
}

static int build(struct mf_tree *tree, const struct mf_profile *profile, struct mf_frames *frames,
		 struct mf_filter *filter, struct mf_error *err)
{
	struct node root = { 0 };
	int rc;

	if (!allocate(tree, profile->n_contexts))
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	for (uint32_t i = 0; i < profile->n_contexts; i++)
		expect_context(profile, i, filter);
	for (uint32_t i = 0; i < profile->n_contexts; i++) {
		rc = add_context(tree, profile, i, frames, filter, err);
		if (rc)
			return rc;
		tree->starts[i + 1] = tree->n_numbers;
	}
	tree->n_contexts = (uint32_t)profile->n_contexts;
	root.end = tree->n_order;
	tree->group_of = malloc((mf_frames_count(frames) + 1) * sizeof(*tree->group_of));
	if (!tree->group_of || add_node(tree, &root))
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	memset(tree->group_of, 0xff, mf_frames_count(frames) * sizeof(*tree->group_of));
	return 0;
}

int mf_tree_create(const struct mf_profile *profile, struct mf_frames *frames,
		   struct mf_filter *filter, struct mf_tree **out, struct mf_error *err)
{
	struct mf_tree *tree = calloc(1, sizeof(*tree));
	int rc;

	if (!tree)
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	tree->frames = frames;
	rc = build(tree, profile, frames, filter, err);
	if (rc) {
		mf_tree_destroy(tree);
		return rc;
	}
	*out = tree;
	return 0;
}

void mf_tree_merge_frames(struct mf_tree *tree, const uint32_t *same)
{
	for (uint32_t i = 0; i < tree->n_numbers; i++)
		tree->numbers[i] = same[tree->numbers[i]];
}

void mf_tree_destroy(struct mf_tree *tree)
{
	if (!tree)
		return;
	free(tree->numbers);
	free(tree->starts);
	free(tree->nodes);
	free(tree->order);
	free(tree->scratch);
	free(tree->places);
	free(tree->group_of);
	free(tree->bytes);
	free(tree->sums);
	free(tree);
}

/*
 * Updates tree->sums, the running sums of the contexts' bytes, from @begin to @end after the order of the contexts in
 * this range has changed.
 */
static void sum_up(struct mf_tree *tree, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		tree->sums[i + 1] = tree->sums[i] + tree->bytes[tree->order[i]];
}

/* Makes tree->places the inverse of tree->order. Contexts that are ignored are in no place: they get the last one. */
static void place_contexts(struct mf_tree *tree)
{
	if (tree->is_placed)
		return;
	if (tree->n_order < tree->n_contexts)
		memset(tree->places, 0xff, tree->n_contexts * sizeof(*tree->places));
	for (uint32_t i = 0; i < tree->n_order; i++)
		tree->places[tree->order[i]] = i;
	tree->is_placed = true;
}

static int compare_places(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Does what sum_up() does for all contexts, if few of them have bytes: those of @snapshot. */
static void sum_up_few(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot)
{
	uint32_t *places = tree->scratch, n = 0, done = 0;
	uint64_t sum = 0;

	place_contexts(tree);
	for (size_t i = 0; i < snapshot->n_leaves; i++) {
		uint32_t context = snapshot->leaves[i].context;

		if (context < tree->n_contexts && tree->places[context] != NO_GROUP)
			places[n++] = tree->places[context];
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (uint32_t i = 0; i <= n; i++) {
		uint32_t end = i < n ? places[i] : tree->n_order;

		while (done < end)
			tree->sums[++done] = sum;
		if (i < n && (!i || places[i] != places[i - 1]))
			tree->sums[++done] = sum += tree->bytes[tree->order[end]];
	}
}

static void set_bytes(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot, bool clear)
{
	for (size_t i = 0; snapshot && i < snapshot->n_leaves; i++) {
		const struct mf_leaf *leaf = &snapshot->leaves[i];

		if (leaf->context < tree->n_contexts)
			tree->bytes[leaf->context] = clear ? 0 : leaf->bytes;
	}
}

uint64_t mf_tree_weigh(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot)
{
	set_bytes(tree, tree->snapshot, true);
	set_bytes(tree, snapshot, false);
	tree->snapshot = snapshot;
	tree->n_seen = snapshot->n_seen;
	if (snapshot->n_leaves < tree->n_order / FEW)
		sum_up_few(tree, snapshot);
	else
		sum_up(tree, 0, tree->n_order);
	return tree->sums[tree->n_order];
}

/* Returns the frame of @context at @depth, or NO_GROUP if the context has fewer frames. */
static uint32_t frame_at(const struct mf_tree *tree, uint32_t context, uint32_t depth)
{
	uint32_t at = tree->starts[context] + depth;

	return at < tree->starts[context + 1] ? tree->numbers[at] : NO_GROUP;
}

/*
 * Creates the children of @parent. Until sort_contexts() is called, the @end of each child holds the number of the
 * child's contexts.
 */
static bool make_children(struct mf_tree *tree, uint32_t parent)
{
	struct node node = tree->nodes[parent];

	tree->is_placed = false;
	for (uint32_t i = node.begin; i < node.end; i++) {
		uint32_t frame = frame_at(tree, tree->order[i], node.depth);

		tree->places[i] = NO_GROUP;
		if (frame == NO_GROUP)
			continue;
		if (tree->group_of[frame] == NO_GROUP) {
			struct node child = {
				.frame = frame,
				.depth = node.depth + 1,
				.first_seen = tree->order[i],
			};

			tree->group_of[frame] = add_node(tree, &child);
			if (tree->group_of[frame] == NO_GROUP)
				return false;
		}
		tree->places[i] = tree->group_of[frame];
		tree->nodes[tree->places[i]].end++;
	}
	return true;
}

/* Returns whether @node has only one child, from @first_child on, in which or below which all of its contexts end. */
static bool has_one_child(const struct mf_tree *tree, const struct node *node, uint32_t first_child)
{
	return tree->n_nodes == first_child + 1 && tree->nodes[first_child].end == node->end - node->begin;
}

/* Sorts the contexts of @node, using a stable sort: those that end in @node come first, then those of each child. */
static void sort_contexts(struct mf_tree *tree, const struct node *node, uint32_t first_child)
{
	uint32_t ended = node->begin, behind = node->end;

	for (uint32_t i = tree->n_nodes; i-- > first_child;) {
		struct node *child = &tree->nodes[i];

		behind -= child->end;
		child->begin = child->end = behind;
	}
	for (uint32_t i = node->begin; i < node->end; i++) {
		if (tree->places[i] == NO_GROUP)
			tree->scratch[ended++] = tree->order[i];
		else
			tree->scratch[tree->nodes[tree->places[i]].end++] = tree->order[i];
	}
	memcpy(tree->order + node->begin, tree->scratch + node->begin,
	       (node->end - node->begin) * sizeof(*tree->order));
	sum_up(tree, node->begin, node->end);
}

/* Creates the children of node @number if they do not exist yet. Returns false if out of memory. */
static bool expand(struct mf_tree *tree, uint32_t number)
{
	uint32_t first_child = tree->n_nodes;
	bool fine;

	if (tree->nodes[number].expanded)
		return true;
	fine = make_children(tree, number);
	if (fine && has_one_child(tree, &tree->nodes[number], first_child)) {
		tree->nodes[first_child].begin = tree->nodes[number].begin;
		tree->nodes[first_child].end = tree->nodes[number].end;
	} else if (fine) {
		sort_contexts(tree, &tree->nodes[number], first_child);
	}
	for (uint32_t i = first_child; i < tree->n_nodes; i++)
		tree->group_of[tree->nodes[i].frame] = NO_GROUP;
	if (!fine)
		return false;
	tree->nodes[number].first_child = first_child;
	tree->nodes[number].n_children = tree->n_nodes - first_child;
	tree->nodes[number].expanded = true;
	return true;
}

uint64_t mf_tree_cut(uint64_t total, uint64_t extra, uint64_t stacks, double threshold)
{
	double cut = (double)(total + extra + stacks) * threshold / 100;

	if (total == 0 && threshold != 0)
		return 1;
	/* In a damaged file, the sum can be so large that it is rounded up to 2^64. */
	return cut < 0x1p64 ? (uint64_t)cut : UINT64_MAX;
}

static int compare_children(const void *left, const void *right)
{
	const struct mf_tree_child *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	/*
	 * Entries of equal size are sorted by address. The entry into which small nodes were merged has no address and
	 * comes first.
	 */
	if ((a->node == MF_TREE_MERGED) != (b->node == MF_TREE_MERGED))
		return a->node == MF_TREE_MERGED ? -1 : 1;
	if (a->frame.pc != b->frame.pc)
		return a->frame.pc < b->frame.pc ? -1 : 1;
	return a->frame.object < b->frame.object ? -1 : a->frame.object > b->frame.object;
}

static uint64_t bytes_of(const struct mf_tree *tree, const struct node *node)
{
	return tree->sums[node->end] - tree->sums[node->begin];
}

/*
 * Returns whether any of the contexts (call stacks) that lead through @node existed at the time of the current
 * snapshot.
 */
static bool is_known(const struct mf_tree *tree, const struct node *node)
{
	return node->first_seen < tree->n_seen;
}

/* Returns the number of entries of @parent, including the merged entry. */
static size_t count_entries(const struct mf_tree *tree, const struct node *parent, uint64_t cut)
{
	size_t significant = 0, merged = 0;

	for (uint32_t i = 0; i < parent->n_children; i++) {
		const struct node *child = &tree->nodes[parent->first_child + i];

		if (!is_known(tree, child))
			continue;
		if (bytes_of(tree, child) < cut)
			merged = 1;
		else
			significant++;
	}
	return significant + merged;
}

/* Fills @list with the entries of @parent, unsorted. */
static void fill_entries(const struct mf_tree *tree, const struct node *parent, uint64_t cut,
			 struct mf_tree_child *list)
{
	struct mf_tree_child merged = { .node = MF_TREE_MERGED };
	size_t used = 0;

	for (uint32_t i = 0; i < parent->n_children; i++) {
		const struct node *child = &tree->nodes[parent->first_child + i];
		uint64_t bytes = bytes_of(tree, child);

		if (!is_known(tree, child))
			continue;
		if (bytes < cut) {
			merged.bytes += bytes;
			merged.places++;
			continue;
		}
		list[used++] = (struct mf_tree_child){
			.node = parent->first_child + i,
			.frame = mf_frames_get(tree->frames, child->frame),
			.bytes = bytes,
			.places = 1,
		};
	}
	if (merged.places)
		list[used] = merged;
}

int mf_tree_children(struct mf_tree *tree, uint32_t node, uint64_t cut,
		     struct mf_tree_child **children, size_t *n_children, struct mf_error *err)
{
	struct mf_tree_child *list;
	size_t count;

	*children = NULL;
	*n_children = 0;
	if (!expand(tree, node))
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	count = count_entries(tree, &tree->nodes[node], cut);
	if (!count)
		return 0;
	list = malloc(count * sizeof(*list));
	if (!list)
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");
	fill_entries(tree, &tree->nodes[node], cut, list);
	qsort(list, count, sizeof(*list), compare_children);
	*children = list;
	*n_children = count;
	return 0;
}
