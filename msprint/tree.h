/* SPDX-License-Identifier: GPL-2.0 */
/* The tree of a snapshot. */
#ifndef MF_MSPRINT_TREE_H
#define MF_MSPRINT_TREE_H

#include "input.h"
#include "number.h"

struct mf_failure;
struct mf_output;

/* Reads the lines of the tree that comes next; total is its snapshot's, in bytes. */
int mf_tree_check(struct mf_input *input, struct mf_number total, struct mf_failure *failure);

/* The same, and prints the nodes that are threshold percent of the total or more. */
int mf_tree_print(struct mf_input *input, struct mf_number total, struct mf_number threshold,
		  struct mf_output *out, struct mf_failure *failure);

#endif
