/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tree of a detailed snapshot: contexts merged by the addresses of their frames.
 *
 * A weighed tree is walked from the root with mf_tree_children(). Its shape is made as far as somebody
 * looks, once for all snapshots: below what is too small to be shown nobody does.
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
#define MF_TREE_MERGED UINT32_MAX /* not a node: the insignificant ones of a level */

struct mf_tree;

/* One entry of a level. */
struct mf_tree_child {
	uint32_t node;	       /* or MF_TREE_MERGED */
	struct mf_frame frame; /* of a node */
	uint64_t bytes;
	uint32_t places; /* how many nodes were merged */
};

/* Filters all contexts of @profile. @frames must outlive the tree. Returns 0 or -ENOMEM. */
int mf_tree_create(const struct mf_profile *profile, struct mf_frames *frames,
		   struct mf_filter *filter, struct mf_tree **tree, struct mf_error *err);
void mf_tree_destroy(struct mf_tree *tree);

/* Gives the tree the bytes of @snapshot. Returns the root's: the sum of all leaves, in bytes. */
uint64_t mf_tree_weigh(struct mf_tree *tree, const struct mf_profile_snapshot *snapshot);

/*
 * The smallest number of bytes that is significant, for a tree of @total bytes in a snapshot with
 * the given overhead and stacks, at @threshold per cent of all three. It is truncated to a whole
 * number; without any bytes in the tree it is 1, so that empty entries are merged.
 */
uint64_t mf_tree_cut(uint64_t total, uint64_t extra, uint64_t stacks, double threshold);

/*
 * The entries under @node, sorted: more bytes first, then lower addresses; entries of less than
 * @cut bytes are merged into one, which is sorted by its sum like the others, but comes first of
 * equals. *@children is to be released with free(). Returns 0 or -ENOMEM.
 */
int mf_tree_children(struct mf_tree *tree, uint32_t node, uint64_t cut,
		     struct mf_tree_child **children, size_t *n_children, struct mf_error *err);

#endif
