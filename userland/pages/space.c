// SPDX-License-Identifier: GPL-2.0
// The address space of one mm: disjoint intervals in address order.

#include "pages/space.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_MASK 4095ull

/* Maximum number of nodes that one operation can add: two by splitting at both ends, and the new interval. */
#define NODES_PER_OPERATION 3

void mf_space_init(struct mf_space *space)
{
	*space = (struct mf_space){.random = 0x9e3779b9};
}

void mf_space_deinit(struct mf_space *space)
{
	free(space->nodes);
	mf_space_init(space);
}

/*
 * Allocates all nodes that one operation may need, so that the operation cannot fail after it has begun to change the
 * tree.
 */
static int reserve(struct mf_space *space)
{
	uint32_t need = space->n_nodes + NODES_PER_OPERATION + 1;
	struct mf_space_node *nodes;
	uint32_t max;

	if (need <= space->max_nodes)
		return 0;
	max = need + need / 2 + 60;
	nodes = realloc(space->nodes, max * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	space->nodes = nodes;
	space->max_nodes = max;
	if (!space->n_nodes) {
		nodes[0] = (struct mf_space_node){0};
		space->n_nodes = 1;
	}
	return 0;
}

/*
 * Returns a pseudo-random priority for a node of the treap (Marsaglia's xorshift generator). The priorities only have
 * to be independent of the addresses in the nodes.
 */
static uint32_t next_random(struct mf_space *space)
{
	space->random ^= space->random << 13;
	space->random ^= space->random >> 17;
	space->random ^= space->random << 5;
	return space->random;
}

static uint32_t node_new(struct mf_space *space, const struct mf_interval *interval)
{
	uint32_t index = space->free_nodes;

	if (index)
		space->free_nodes = space->nodes[index].left;
	else
		index = space->n_nodes++;
	space->nodes[index] = (struct mf_space_node){
		.interval = *interval,
		.priority = next_random(space),
	};
	space->count++;
	space->total += interval->end - interval->start;
	return index;
}

static void node_free(struct mf_space *space, uint32_t index)
{
	const struct mf_interval *interval = &space->nodes[index].interval;

	space->count--;
	space->total -= interval->end - interval->start;
	space->nodes[index].left = space->free_nodes;
	space->free_nodes = index;
}

static uint32_t join(struct mf_space *space, uint32_t low, uint32_t high)
{
	struct mf_space_node *nodes = space->nodes;

	if (!low)
		return high;
	if (!high)
		return low;
	if (nodes[low].priority >= nodes[high].priority) {
		nodes[low].right = join(space, nodes[low].right, high);
		return low;
	}
	nodes[high].left = join(space, low, nodes[high].left);
	return high;
}

/* Splits the tree @node: intervals that start below @address go to *@low, the rest to *@high. */
static void part(struct mf_space *space, uint32_t node, uint64_t address, uint32_t *low,
		 uint32_t *high)
{
	struct mf_space_node *n = &space->nodes[node];

	if (!node) {
		*low = 0;
		*high = 0;
	} else if (n->interval.start < address) {
		*low = node;
		part(space, n->right, address, &n->right, high);
	} else {
		*high = node;
		part(space, n->left, address, low, &n->left);
	}
}

static uint32_t rightmost(const struct mf_space *space, uint32_t node)
{
	while (node && space->nodes[node].right)
		node = space->nodes[node].right;
	return node;
}

static uint32_t leftmost(const struct mf_space *space, uint32_t node)
{
	while (node && space->nodes[node].left)
		node = space->nodes[node].left;
	return node;
}

/*
 * Splits the tree @tree: intervals below @address go to *@low, the rest to *@high. An interval that contains @address
 * is cut in two.
 */
static void split(struct mf_space *space, uint32_t tree, uint64_t address, uint32_t *low,
		  uint32_t *high)
{
	struct mf_interval *across, tail;
	uint32_t last;

	part(space, tree, address, low, high);
	last = rightmost(space, *low);
	if (!last)
		return;
	across = &space->nodes[last].interval;
	if (across->end <= address)
		return;
	tail = *across;
	tail.start = address;
	if (tail.file)
		tail.offset += address - across->start;
	space->total -= across->end - address;
	across->end = address;
	*high = join(space, node_new(space, &tail), *high);
}

static void release(struct mf_space *space, uint32_t node, mf_space_visit left, void *data)
{
	uint32_t right;

	while (node) {
		release(space, space->nodes[node].left, left, data);
		if (left)
			left(&space->nodes[node].interval, data);
		right = space->nodes[node].right;
		node_free(space, node);
		node = right;
	}
}

static bool valid(uint64_t start, uint64_t end)
{
	return start < end && !((start | end) & PAGE_MASK);
}

/* The three parts into which a tree has been split at the two ends of a range. */
struct cut {
	uint32_t low, middle, high;
};

/*
 * Splits the tree of mappings at @start and @end. *@cut receives the three parts: the mappings below, within and above
 * that range. First reserves all nodes that the splits and the insertion of one mapping may need. Returns 0, -EINVAL if
 * the range is invalid, or -ENOMEM. The caller joins the parts again.
 */
static int cut_out(struct mf_space *space, uint64_t start, uint64_t end, struct cut *cut)
{
	int ret;

	if (!valid(start, end))
		return -EINVAL;
	ret = reserve(space);
	if (ret)
		return ret;
	split(space, space->root, start, &cut->low, &cut->high);
	split(space, cut->high, end, &cut->middle, &cut->high);
	return 0;
}

int mf_space_remove(struct mf_space *space, uint64_t start, uint64_t end, mf_space_visit left,
		    void *data)
{
	struct cut cut;
	int ret = cut_out(space, start, end, &cut);

	if (ret)
		return ret;
	release(space, cut.middle, left, data);
	space->root = join(space, cut.low, cut.high);
	return 0;
}

static bool continues(const struct mf_interval *low, const struct mf_interval *high)
{
	return low->end == high->start && low->context == high->context &&
	       low->file == high->file &&
	       (!low->file || low->offset + (low->end - low->start) == high->offset);
}

/*
 * Inserts @interval between the trees @low and @high, and merges it with its neighbours if continues() allows that.
 * Returns the root.
 */
static uint32_t insert(struct mf_space *space, uint32_t low, uint32_t high,
		       const struct mf_interval *interval)
{
	uint32_t before = rightmost(space, low), after = leftmost(space, high), first;
	struct mf_interval whole = *interval;

	if (after && continues(&whole, &space->nodes[after].interval)) {
		whole.end = space->nodes[after].interval.end;
		part(space, high, space->nodes[after].interval.start + 1, &first, &high);
		node_free(space, after);
	}
	if (before && continues(&space->nodes[before].interval, &whole)) {
		space->total += whole.end - whole.start;
		space->nodes[before].interval.end = whole.end;
		return join(space, low, high);
	}
	return join(space, low, join(space, node_new(space, &whole), high));
}

int mf_space_add(struct mf_space *space, const struct mf_interval *interval, mf_space_visit left,
		 void *data)
{
	struct cut cut;
	int ret = cut_out(space, interval->start, interval->end, &cut);

	if (ret)
		return ret;
	release(space, cut.middle, left, data);
	space->root = insert(space, cut.low, cut.high, interval);
	return 0;
}

static void set_file(struct mf_space *space, uint32_t node, uint64_t start, uint32_t file,
		     uint64_t offset)
{
	struct mf_space_node *n = &space->nodes[node];

	if (!node)
		return;
	n->interval.file = file;
	n->interval.offset = offset + (n->interval.start - start);
	set_file(space, n->left, start, file, offset);
	set_file(space, n->right, start, file, offset);
}

int mf_space_set_file(struct mf_space *space, uint64_t start, uint64_t end, uint32_t file,
		      uint64_t offset)
{
	struct cut cut;
	int ret = cut_out(space, start, end, &cut);

	if (ret)
		return ret;
	set_file(space, cut.middle, start, file, offset);
	space->root = join(space, cut.low, join(space, cut.middle, cut.high));
	return 0;
}

const struct mf_interval *mf_space_next(const struct mf_space *space, uint64_t address)
{
	const struct mf_interval *best = NULL;
	uint32_t node = space->root;

	while (node) {
		const struct mf_space_node *n = &space->nodes[node];

		if (n->interval.end > address) {
			best = &n->interval;
			node = n->left;
		} else {
			node = n->right;
		}
	}
	return best;
}

const struct mf_interval *mf_space_find(const struct mf_space *space, uint64_t address)
{
	const struct mf_interval *next = mf_space_next(space, address);

	return next && next->start <= address ? next : NULL;
}

bool mf_space_hole(const struct mf_space *space, uint64_t start, uint64_t end, uint64_t *hole_start,
		   uint64_t *hole_end)
{
	const struct mf_interval *next = mf_space_next(space, start);

	while (next && next->start <= start && start < end) {
		start = next->end;
		next = mf_space_next(space, start);
	}
	if (start >= end)
		return false;
	*hole_start = start;
	*hole_end = next && next->start < end ? next->start : end;
	return true;
}
