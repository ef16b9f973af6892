/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the call tree of a snapshot: who called what allocated. */
#ifndef MASSIF_CTL_TREE_VIEW_H
#define MASSIF_CTL_TREE_VIEW_H

#include <stdbool.h>

#include "base/error.h"
#include "ctl/query/terminal.h"
#include "report/moment.h"

/*
 * Prints the tree of @moment, which is that of a massif.out file with the same options: below each call its callers.
 * Without @all_calls, calls of the standard libraries of C++ and Rust are left out, except where the tree branches.
 * Returns 0, or -ENOMEM with a message.
 */
int mf_tree_view_print(const struct mf_terminal *terminal, const struct mf_moment *moment, bool all_calls,
		       struct mf_error *err);

#endif
