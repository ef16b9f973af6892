/* SPDX-License-Identifier: GPL-2.0 */
/* The tree of a snapshot. */
#ifndef MASSIF_MSPRINT_TREE_H
#define MASSIF_MSPRINT_TREE_H

#include "input.h"
#include "number.h"

struct mf_failure;
struct mf_output;

/* Reads and checks the tree's lines, which come next in @input. @total: total bytes of the snapshot. */
int mf_tree_check(struct mf_input *input, struct mf_number total, struct mf_failure *failure);

/* Reads the tree and prints the nodes that have at least @threshold percent of @total. */
int mf_tree_print(struct mf_input *input, struct mf_number total, struct mf_number threshold,
		  struct mf_output *out, struct mf_failure *failure);

#endif
