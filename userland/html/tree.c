// SPDX-License-Identifier: GPL-2.0
// All stacks of a profile merged into one tree, and which parts of it are in the page.

#include "html/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/call_table.h"
#include "report/counted.h"
#include "report/moment.h"
#include "report/standard.h"

struct build {
	struct mf_html_tree *tree;
	const struct mf_report_options *options;
	struct mf_html_calls *calls;
	struct mf_call_table table; /* spares looking up the texts of a call again */
	uint32_t *numbers;	    /* the number in @calls of each call in @table */
	size_t room;
};

static int out_of_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

static uint32_t add_node(struct mf_html_tree *tree, uint32_t parent, uint32_t call)
{
	uint32_t number = (uint32_t)tree->count;

	if (tree->count == tree->room) {
		size_t room = tree->room ? tree->room * 2 : 1024;
		struct mf_html_node *nodes = room < MF_HTML_THREAD ? reallocarray(tree->nodes, room, sizeof(*nodes)) : NULL;

		if (!nodes)
			return MF_HTML_NONE;
		tree->nodes = nodes;
		tree->room = room;
	}
	tree->nodes[tree->count++] = (struct mf_html_node){
		.parent = parent, .call = call,
		.first_child = MF_HTML_NONE, .last_child = MF_HTML_NONE, .next = MF_HTML_NONE,
	};
	if (parent == MF_HTML_NONE)
		return number;
	if (tree->nodes[parent].last_child == MF_HTML_NONE)
		tree->nodes[parent].first_child = number;
	else
		tree->nodes[tree->nodes[parent].last_child].next = number;
	tree->nodes[parent].last_child = number;
	return number;
}

/* Returns the child of @parent with @call, which is added if it is new; MF_HTML_NONE if out of memory. */
static uint32_t child_of(struct mf_html_tree *tree, uint32_t parent, uint32_t call)
{
	uint32_t *number = mf_index_put(&tree->index, parent, call, (uint32_t)tree->count);

	if (!number)
		return MF_HTML_NONE;
	return *number < tree->count ? *number : add_node(tree, parent, call);
}

static uint32_t number_call(struct build *build, const struct mf_call *call)
{
	uint32_t number = mf_call_table_number(&build->table, call);

	if (number == UINT32_MAX)
		return UINT32_MAX;
	if (number >= build->room) {
		size_t room = build->room ? build->room * 2 : 1024;
		uint32_t *numbers = reallocarray(build->numbers, room, sizeof(*numbers));

		if (!numbers)
			return UINT32_MAX;
		for (size_t i = build->room; i < room; i++)
			numbers[i] = UINT32_MAX;
		build->numbers = numbers;
		build->room = room;
	}
	if (build->numbers[number] == UINT32_MAX)
		build->numbers[number] = mf_html_calls_number(build->calls, call, build->options);
	return build->numbers[number];
}

static int add_site(struct build *build, const struct mf_moment_stack *stack, struct mf_error *err)
{
	uint32_t call = number_call(build, &stack->calls[mf_standard_calls(stack->calls, stack->n)]);

	if (call == UINT32_MAX || mf_html_sites_set(&build->tree->sites, stack->context, call))
		return out_of_memory(err);
	return 0;
}

static int add_stack(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	struct build *build = data;
	struct mf_html_tree *tree = build->tree;
	uint32_t node = 0;

	if (tree->profile->threads)
		node = child_of(tree, node, MF_HTML_THREAD + tree->profile->context_threads[stack->context]);
	for (size_t i = stack->n; i-- > 0 && node != MF_HTML_NONE;) {
		uint32_t call = number_call(build, &stack->calls[i]);

		node = call == UINT32_MAX ? MF_HTML_NONE : child_of(tree, node, call);
	}
	if (node == MF_HTML_NONE)
		return out_of_memory(err);
	tree->of_contexts[stack->context] = node;
	return add_site(build, stack, err);
}

/*
 * In a file that is meant to deceive, sums can overflow. A parent would have less than its children then, but mark() relies on
 * the contrary.
 */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Adds up the values of @leaves, and raises the share of each node and site to what it has of their total. */
static int weigh(struct mf_html_tree *tree, const struct mf_leaf *leaves, size_t n)
{
	memset(tree->sums, 0, tree->count * sizeof(*tree->sums));
	for (size_t i = 0; i < n; i++) {
		uint32_t node = tree->of_contexts[leaves[i].context];

		if (node != MF_HTML_NONE)
			tree->sums[node] = add(tree->sums[node], leaves[i].bytes);
	}
	for (size_t i = tree->count; i-- > 1;)
		tree->sums[tree->nodes[i].parent] = add(tree->sums[tree->nodes[i].parent], tree->sums[i]);
	for (size_t i = 0; i < tree->count && tree->sums[0]; i++) {
		float share = (float)((double)tree->sums[i] / (double)tree->sums[0]);

		if (share > tree->nodes[i].share)
			tree->nodes[i].share = share;
	}
	return mf_html_sites_weigh(&tree->sites, leaves, n);
}

static int compare_shares(const void *left, const void *right)
{
	const float a = *(const float *)left, b = *(const float *)right;

	return a < b ? 1 : -(a > b);
}

static int sort_shares(struct mf_html_tree *tree)
{
	tree->shares = calloc(tree->count, sizeof(*tree->shares));
	if (!tree->shares)
		return -ENOMEM;
	for (size_t i = 0; i < tree->count; i++)
		tree->shares[i] = tree->nodes[i].share;
	qsort(tree->shares, tree->count, sizeof(*tree->shares), compare_shares);
	return 0;
}

/* Code that keeps pages need not hold much. */
static int weigh_residency(struct mf_html_tree *tree, struct mf_leaf *leaves)
{
	enum { N_NUMBERS = 3 };
	static const enum mf_resident_number numbers[N_NUMBERS] = {
		MF_RESIDENT_LIVE, MF_RESIDENT_UNTOUCHED, MF_RESIDENT_PINNED,
	};
	const struct mf_residency *residency = tree->profile->residency;
	int code = 0;

	for (size_t i = 0; residency && i < (residency->n_moments + 2) * N_NUMBERS && !code; i++) {
		size_t number = i / N_NUMBERS;
		const struct mf_residency_detail *detail = number == 0 ? &residency->last : number == 1 ? &residency->peak :
							   &residency->moments[number - 2];

		for (size_t k = 0; k < detail->n_sites; k++)
			leaves[k] = (struct mf_leaf){
				.context = detail->sites[k].context,
				.bytes = mf_resident_number(&detail->sites[k], numbers[i % N_NUMBERS]),
			};
		code = weigh(tree, leaves, detail->n_sites);
	}
	return code;
}

static int weigh_all(struct mf_html_tree *tree, struct mf_error *err)
{
	const struct mf_profile *profile = tree->profile;
	mf_auto_free struct mf_leaf *leaves = calloc(profile->n_contexts + 1, sizeof(*leaves));
	int code = 0;

	tree->sums = calloc(tree->count, sizeof(*tree->sums));
	if (!leaves || !tree->sums)
		return out_of_memory(err);
	for (size_t i = 0; i < profile->n_snapshots && !code; i++)
		code = weigh(tree, profile->snapshots[i].leaves, profile->snapshots[i].n_leaves);
	for (enum mf_count count = 0; profile->counts && count < MF_COUNTS && !code; count++)
		code = weigh(tree, leaves, mf_profile_list_counts(profile, count, leaves));
	code = code ?: weigh_residency(tree, leaves);
	code = code ?: sort_shares(tree);
	return code ? out_of_memory(err) : 0;
}

int mf_html_tree_build(struct mf_html_tree *tree, const struct mf_profile *profile,
		       const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
		       struct mf_html_calls *calls, struct mf_error *err)
{
	struct build build = { tree, options, calls };
	const struct mf_moment moment = { .profile = profile, .options = options, .symbolizer = symbolizer };
	int code;

	tree->profile = profile;
	tree->of_contexts = calloc(profile->n_contexts + 1, sizeof(*tree->of_contexts));
	if (!tree->of_contexts || add_node(tree, MF_HTML_NONE, MF_HTML_NONE) == MF_HTML_NONE ||
	    mf_html_sites_init(&tree->sites, profile->n_contexts))
		return out_of_memory(err);
	for (size_t i = 0; i < profile->n_contexts; i++)
		tree->of_contexts[i] = MF_HTML_NONE;
	code = mf_moment_each_of_all(&moment, add_stack, &build, err);
	mf_call_table_deinit(&build.table);
	free(build.numbers);
	return code ?: weigh_all(tree, err);
}

/* Marks the nodes to keep by an @id that is not MF_HTML_NONE. A node's share is not larger than that of its parent. */
static void mark(struct mf_html_tree *tree, size_t n)
{
	size_t n_larger = 0;
	float least = -1;

	if (n < tree->count) {
		least = tree->shares[n];
		while (n_larger < n && tree->shares[n_larger] > least)
			n_larger++;
		n -= n_larger;
	}
	tree->below = least;
	for (size_t i = 0; i < tree->count; i++) {
		struct mf_html_node *node = &tree->nodes[i];
		bool kept = node->share > least;

		/* Of those with the same share the first, which include the parents of others. */
		if (!kept && node->share == least && n) {
			kept = true;
			n--;
		}
		node->id = kept || i == 0 ? 0 : MF_HTML_NONE;
		node->others = MF_HTML_NONE;
		node->places = 0;
	}
}

/* Counts the stacks that are merged, below the innermost of their nodes that is kept. */
static void count_merged(struct mf_html_tree *tree, bool *ends)
{
	tree->n_hidden = 0;
	for (size_t i = 0; i < tree->profile->n_contexts; i++)
		if (tree->of_contexts[i] != MF_HTML_NONE)
			ends[tree->of_contexts[i]] = true;
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t node = (uint32_t)i;

		if (tree->nodes[i].id != MF_HTML_NONE || !ends[i])
			continue;
		while (tree->nodes[node].id == MF_HTML_NONE)
			node = tree->nodes[node].parent;
		tree->nodes[node].places++;
		tree->n_hidden++;
	}
}

static void print_node(struct mf_html_tree *tree, uint32_t node, bool is_others)
{
	if (is_others)
		tree->nodes[node].others = (uint32_t)tree->n_printed;
	else
		tree->nodes[node].id = (uint32_t)tree->n_printed;
	tree->is_others[tree->n_printed] = is_others;
	tree->order[tree->n_printed++] = node;
}

/* Numbers the kept nodes: each before its children, with all that is below it before its next sibling. */
static void number_nodes(struct mf_html_tree *tree)
{
	uint32_t node = 0;

	tree->n_printed = 0;
	while (node != MF_HTML_NONE) {
		const struct mf_html_node *at = &tree->nodes[node];

		if (at->id != MF_HTML_NONE) {
			print_node(tree, node, false);
			if (at->places)
				print_node(tree, node, true);
			if (at->first_child != MF_HTML_NONE) {
				node = at->first_child;
				continue;
			}
		}
		while (node != MF_HTML_NONE && tree->nodes[node].next == MF_HTML_NONE)
			node = tree->nodes[node].parent;
		if (node != MF_HTML_NONE)
			node = tree->nodes[node].next;
	}
	for (size_t i = 0; i < tree->count; i++) {
		struct mf_html_node *at = &tree->nodes[i];

		if (at->id != MF_HTML_NONE)
			at->target = at->id;
		else
			at->target = tree->nodes[at->parent].id != MF_HTML_NONE ? tree->nodes[at->parent].others :
										  tree->nodes[at->parent].target;
	}
}

bool mf_html_tree_is_merged(const struct mf_html_tree *tree, uint32_t context)
{
	uint32_t node = tree->of_contexts[context];

	return node != MF_HTML_NONE && tree->nodes[node].id == MF_HTML_NONE;
}

/* Of the sites of merged stacks, there may be as many as there are nodes. */
static int choose_sites(struct mf_html_tree *tree)
{
	mf_auto_free bool *is_merged = calloc(tree->profile->n_contexts + 1, sizeof(*is_merged));

	if (!is_merged)
		return -ENOMEM;
	for (size_t i = 0; i < tree->profile->n_contexts; i++)
		is_merged[i] = mf_html_tree_is_merged(tree, (uint32_t)i);
	return mf_html_sites_choose(&tree->sites, is_merged, tree->n_printed);
}

int mf_html_tree_choose(struct mf_html_tree *tree, size_t n, struct mf_error *err)
{
	mf_auto_free bool *ends = calloc(tree->count, sizeof(*ends));

	free(tree->order);
	free(tree->is_others);
	tree->order = calloc(tree->count * 2, sizeof(*tree->order));
	tree->is_others = calloc(tree->count * 2, sizeof(*tree->is_others));
	if (!ends || !tree->order || !tree->is_others)
		return out_of_memory(err);
	mark(tree, n);
	count_merged(tree, ends);
	number_nodes(tree);
	return choose_sites(tree) ? out_of_memory(err) : 0;
}

void mf_html_tree_deinit(struct mf_html_tree *tree)
{
	free(tree->nodes);
	free(tree->of_contexts);
	free(tree->sums);
	free(tree->shares);
	free(tree->order);
	free(tree->is_others);
	mf_html_sites_deinit(&tree->sites);
	mf_index_deinit(&tree->index);
}
