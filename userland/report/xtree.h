/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory execution tree: bytes and blocks of each stack, as in Valgrind's --xtree-memory. The only frames removed
 * from a stack are those below main and those beyond Massif's recording limit. The tree counts live blocks and, if a
 * ledger was kept, all allocations and frees.
 */
#ifndef MASSIF_REPORT_XTREE_H
#define MASSIF_REPORT_XTREE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/ledger.h"
#include "model/store.h"
#include "report/collect.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

struct mf_xtree_context {
	uint32_t node; /* trie node of the innermost frame, or MF_NODE_ROOT if the stack is not known */
	/* the stack's sums, one for each event type of the file, in the file's order */
	uint64_t values[MF_LEDGER_VALUES];
};

/*
 * A stack that is not known is shown as a single frame without a name. This happens for blocks excluded by --ignore-fn,
 * because their stacks are not kept.
 */

struct mf_xtree {
	/* a profile with only a table of objects, to which the stacks' frames refer; the caller sets profile.cmd */
	struct mf_collection collection;
	/* number of event types in the file, which is also the number of elements used in each context's values[] */
	uint32_t n_events;
	struct mf_xtree_context *contexts; /* stacks with their values, in the order in which they were first seen */
	size_t n_contexts;
};

/* What a writer of an execution tree needs besides the tree: one option, and the process's pid and running time. */
struct mf_xtree_file {
	bool compress; /* replace repeated names of files and functions with numbers; only in Callgrind format */
	pid_t pid;
	int64_t time_ms;
};

/*
 * Collects *@xtree from @store, which must outlive it. Do not move *@xtree; release it with mf_xtree_release(). Returns
 * 0 or -errno.
 */
int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err);
void mf_xtree_release(struct mf_xtree *xtree);

/* The names of the values in output files: a one-word name and a one-line description. */
extern const struct mf_xtree_event {
	const char *name, *text;
} mf_xtree_events[MF_LEDGER_VALUES];

/*
 * Copies the frames of context @number of @source, a struct mf_xtree, to @frames, innermost first. Returns the number
 * of frames, which is at least one.
 */
uint32_t mf_xtree_read_context(const void *source, uint32_t number, struct mf_frame *frames);

/* Returns a copy of @options modified for a tree that omits nothing: whole stacks and no threshold. */
struct mf_report_options mf_xtree_options(const struct mf_report_options *options);

#endif
