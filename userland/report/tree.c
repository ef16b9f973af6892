// SPDX-License-Identifier: GPL-2.0
// The tree of a detailed snapshot: contexts merged by the addresses of their frames.

#include "report/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/index.h"

#define NO_NODE UINT32_MAX

/* A parent is made before its children, so its number is lower than theirs. */
struct node {
	uint32_t frame; /* number in mf_frames */
	uint32_t parent, first_child, sibling;
	uint64_t bytes;
	uint32_t weighing; /* the last one that this node had a context in */
};

struct mf_tree {
	const struct mf_frames *frames;
	struct node *nodes;
	uint32_t n_nodes, room;
	struct mf_index index; /* (parent << 32 | frame, 0) -> node; only while building */
	uint32_t *leaf_nodes;  /* of each context; NO_NODE: ignored */
	size_t n_contexts;
	uint32_t weighing;
};

/* The number of a new node, or NO_NODE. */
static uint32_t add_node(struct mf_tree *tree, uint32_t parent, uint32_t frame)
{
	struct node *node;

	if (tree->n_nodes == tree->room) {
		uint32_t room = tree->room ? tree->room * 2 : 1024;
		struct node *nodes = reallocarray(tree->nodes, room, sizeof(*nodes));

		if (!nodes)
			return NO_NODE;
		tree->nodes = nodes;
		tree->room = room;
	}
	node = &tree->nodes[tree->n_nodes];
	*node = (struct node){
		.frame = frame,
		.parent = parent,
		.first_child = NO_NODE,
		.sibling = NO_NODE,
	};
	if (parent != NO_NODE) {
		node->sibling = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = tree->n_nodes;
	}
	return tree->n_nodes++;
}

/* The node for @frame under @parent, or NO_NODE if memory is short. */
static uint32_t child_of(struct mf_tree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t *node =
		mf_index_put(&tree->index, (uint64_t)parent << 32 | frame, 0, tree->n_nodes);

	if (!node)
		return NO_NODE;
	if (*node == tree->n_nodes)
		return add_node(tree, parent, frame);
	return *node;
}

static int add_context(struct mf_tree *tree, const struct mf_context *context,
		       const struct mf_filter_span *span, struct mf_frames *frames,
		       uint32_t *leaf_node)
{
	uint32_t node = MF_TREE_ROOT;

	for (uint32_t i = 0; i < span->count; i++) {
		uint32_t frame = mf_frames_intern(frames, context->frames[span->first + i]);

		if (frame == MF_FRAMES_NONE)
			return -ENOMEM;
		node = child_of(tree, node, frame);
		if (node == NO_NODE)
			return -ENOMEM;
	}
	*leaf_node = span->count ? node : NO_NODE;
	return 0;
}

static int build(struct mf_tree *tree, const struct mf_profile *profile, struct mf_frames *frames,
		 struct mf_filter *filter, struct mf_error *err)
{
	tree->leaf_nodes = malloc((profile->n_contexts + 1) * sizeof(*tree->leaf_nodes));
	if (!tree->leaf_nodes || add_node(tree, NO_NODE, 0) == NO_NODE)
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");

	for (size_t i = 0; i < profile->n_contexts; i++) {
		struct mf_filter_span span;
		int rc;

		rc = mf_filter_apply(filter, &profile->contexts[i], &span, err);
		if (rc)
			return rc;
		rc = add_context(tree, &profile->contexts[i], &span, frames, &tree->leaf_nodes[i]);
		if (rc)
			return mf_error_set(err, rc, "out of memory for the tree of contexts");
	}
	tree->n_contexts = profile->n_contexts;
	mf_index_deinit(&tree->index);
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

void mf_tree_destroy(struct mf_tree *tree)
{
	if (!tree)
		return;
	mf_index_deinit(&tree->index);
	free(tree->leaf_nodes);
	free(tree->nodes);
	free(tree);
}

/* A node's bytes are those of the present weighing only, so nobody has to clear them first. */
static void add_bytes(struct mf_tree *tree, uint32_t number, uint64_t bytes)
{
	struct node *node = &tree->nodes[number];

	if (node->weighing != tree->weighing) {
		node->weighing = tree->weighing;
		node->bytes = 0;
	}
	node->bytes += bytes;
}

uint64_t mf_tree_weigh(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot)
{
	tree->weighing++;
	add_bytes(tree, MF_TREE_ROOT, 0);
	for (size_t i = 0; i < snapshot->n_leaves; i++) {
		const struct mf_leaf *leaf = &snapshot->leaves[i];

		if (leaf->context < tree->n_contexts && tree->leaf_nodes[leaf->context] != NO_NODE)
			add_bytes(tree, tree->leaf_nodes[leaf->context], leaf->bytes);
	}
	/* Children come after their parents: backwards, each is complete when it is passed on. */
	for (uint32_t i = tree->n_nodes - 1; i > MF_TREE_ROOT; i--) {
		const struct node *node = &tree->nodes[i];

		if (node->weighing == tree->weighing)
			add_bytes(tree, node->parent, node->bytes);
	}
	return tree->nodes[MF_TREE_ROOT].bytes;
}

uint64_t mf_tree_cut(uint64_t total, uint64_t extra, uint64_t stacks, double threshold)
{
	if (total == 0 && threshold != 0)
		return 1;
	return (uint64_t)((double)(total + extra + stacks) * threshold / 100);
}

static int compare_children(const void *left, const void *right)
{
	const struct mf_tree_child *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	/* The merged entry has no address, so it comes before all that have one. */
	if ((a->node == MF_TREE_MERGED) != (b->node == MF_TREE_MERGED))
		return a->node == MF_TREE_MERGED ? -1 : 1;
	if (a->frame.pc != b->frame.pc)
		return a->frame.pc < b->frame.pc ? -1 : 1;
	return a->frame.object < b->frame.object ? -1 : a->frame.object > b->frame.object;
}

/* Counts the entries that @node will have, the merged one included. */
static size_t count_entries(const struct mf_tree *tree, uint32_t node, uint64_t cut)
{
	size_t significant = 0, merged = 0;

	for (uint32_t i = tree->nodes[node].first_child; i != NO_NODE; i = tree->nodes[i].sibling) {
		if (tree->nodes[i].weighing != tree->weighing)
			continue;
		if (tree->nodes[i].bytes < cut)
			merged = 1;
		else
			significant++;
	}
	return significant + merged;
}

int mf_tree_children(const struct mf_tree *tree, uint32_t node, uint64_t cut,
		     struct mf_tree_child **children, size_t *n_children, struct mf_error *err)
{
	size_t count = count_entries(tree, node, cut), used = 0;
	struct mf_tree_child merged = { .node = MF_TREE_MERGED };
	struct mf_tree_child *list;

	*children = NULL;
	*n_children = count;
	if (!count)
		return 0;
	list = malloc(count * sizeof(*list));
	if (!list)
		return mf_error_set(err, -ENOMEM, "out of memory for the tree of contexts");

	for (uint32_t i = tree->nodes[node].first_child; i != NO_NODE; i = tree->nodes[i].sibling) {
		const struct node *child = &tree->nodes[i];

		if (child->weighing != tree->weighing)
			continue;
		if (child->bytes < cut) {
			merged.bytes += child->bytes;
			merged.places++;
			continue;
		}
		list[used++] = (struct mf_tree_child){
			.node = i,
			.frame = mf_frames_get(tree->frames, child->frame),
			.bytes = child->bytes,
			.places = 1,
		};
	}
	if (merged.places)
		list[used] = merged;
	qsort(list, count, sizeof(*list), compare_children);
	*children = list;
	return 0;
}
