/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All stacks of a profile merged into one tree from their outermost calls, and which parts of it are in the page: the
 * nodes that matter most at any moment or in any count. The others are merged into one node below each node that is kept,
 * and by their sites, for tables.
 */
#ifndef MASSIF_HTML_TREE_H
#define MASSIF_HTML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "html/calls.h"
#include "html/sites.h"
#include "profile/profile.h"
#include "report/index.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

#define MF_HTML_NONE UINT32_MAX

/* A node's call, if it stands for a thread: this, plus the number of the thread. */
#define MF_HTML_THREAD 0x80000000u

struct mf_html_node {
	uint32_t parent, call;
	uint32_t first_child, last_child, next; /* MF_HTML_NONE: there is none */
	uint32_t id;	 /* number in the page; MF_HTML_NONE: the node is merged into another */
	uint32_t others; /* number in the page of the node for those of its children that are merged */
	uint32_t target; /* number in the page of the node that has this one's values */
	uint32_t places; /* number of stacks that are merged into @others */
	float share;	 /* the largest part that the node and its children have of a total */
};

/* Zero-initialise it. */
struct mf_html_tree {
	const struct mf_profile *profile;
	struct mf_html_node *nodes; /* number 0 is the root; the parent of a node has a smaller number */
	size_t count, room;
	struct mf_index index;	  /* number of a node by its parent and call */
	uint32_t *of_contexts;	  /* node of each context; MF_HTML_NONE: it is not shown */
	uint64_t *sums;		  /* for each node */
	float *shares;		  /* those of all nodes, the largest first */
	struct mf_html_sites sites;
	/* What is in the page. */
	uint32_t *order;	  /* the nodes by their number in the page; a node of others is that of its parent */
	bool *is_others;
	size_t n_printed;
	uint64_t n_hidden;	  /* stacks that are merged */
	float below;		  /* none of these has a larger part of a total than this */
};

/*
 * Builds the tree of @profile's stacks. Everything that is passed must outlive it. Returns 0, -ENOMEM, or another -errno
 * with a message.
 */
int mf_html_tree_build(struct mf_html_tree *tree, const struct mf_profile *profile,
		       const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
		       struct mf_html_calls *calls, struct mf_error *err);

/* Chooses the @n nodes that matter most, and numbers them so that the parent of each comes before it. */
int mf_html_tree_choose(struct mf_html_tree *tree, size_t n, struct mf_error *err);

/* Returns whether the stack of @context is merged: its site has its values as well as the node of others. */
bool mf_html_tree_is_merged(const struct mf_html_tree *tree, uint32_t context);

void mf_html_tree_deinit(struct mf_html_tree *tree);

#endif
