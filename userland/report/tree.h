/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree of a detailed snapshot: contexts merged by the addresses of their frames.
 *
 * After mf_tree_weigh(), walk the tree from the root with mf_tree_children(). Its shape is the same for all snapshots.
 * Nodes are created only when the walk reaches them, so there are none below entries that are too small to be shown.
 */
#ifndef MASSIF_REPORT_TREE_H
#define MASSIF_REPORT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "report/filter.h"
#include "report/frames.h"
#include "profile/profile.h"

#define MF_TREE_ROOT   0
#define MF_TREE_MERGED UINT32_MAX /* not a node, but the merged insignificant entries under one node */

struct mf_tree;

/* An entry in the list of a node's children: one child, or all children below the threshold, merged into one entry. */
struct mf_tree_child {
	uint32_t node;	       /* number of the node, or MF_TREE_MERGED */
	struct mf_frame frame; /* frame of the node; not set for MF_TREE_MERGED */
	uint64_t bytes;
	uint32_t places; /* number of nodes merged into this entry */
};

/* Creates the tree and filters all contexts of @profile. @frames must outlive the tree. Returns 0 or -ENOMEM. */
int mf_tree_create(const struct mf_profile *profile, struct mf_frames *frames,
		   struct mf_filter *filter, struct mf_tree **tree, struct mf_error *err);
void mf_tree_destroy(struct mf_tree *tree);

/*
 * Makes frames the same: frame i of the tree's frames becomes @same[i]. Call this before mf_tree_weigh(). A node then stands
 * for all frames that became its frame.
 */
void mf_tree_merge_frames(struct mf_tree *tree, const uint32_t *same);

/*
 * Sets the byte counts of the tree's nodes from @snapshot, which must stay valid until the next call. Returns the root's
 * byte count, which is the sum over all leaves.
 */
uint64_t mf_tree_weigh(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot);

/*
 * Returns the smallest number of bytes that is significant in a tree of @total bytes, in a snapshot with @extra bytes
 * of overhead and @stacks bytes of stacks: @threshold per cent of the sum of all three, truncated to an integer.
 * Returns 1 if the tree has no bytes, so that empty entries are merged.
 */
uint64_t mf_tree_cut(uint64_t total, uint64_t extra, uint64_t stacks, double threshold);

/*
 * Returns the entries under @node in *@children, which the caller frees. They are sorted by bytes in descending order,
 * then by address in ascending order. Entries of fewer than @cut bytes are merged into one entry. It takes its place
 * according to its total, and comes first among entries with the same number of bytes. Returns 0 or -ENOMEM.
 */
int mf_tree_children(struct mf_tree *tree, uint32_t node, uint64_t cut,
		     struct mf_tree_child **children, size_t *n_children, struct mf_error *err);

#endif
