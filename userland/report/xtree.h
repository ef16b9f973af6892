/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An execution tree of memory: bytes and blocks of each stack, with nothing filtered but what is below
 * main, as Valgrind's --xtree-memory has it. Of blocks that live, and, where a ledger was kept,
 * of all that was allocated and freed.
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
	uint32_t node; /* of the trie: the stack's innermost; MF_NODE_ROOT: see below */
	uint64_t values[MF_LEDGER_VALUES]; /* the events of the file, in its order */
};

/* The stack of a block that --ignore-fn leaves out is not kept: it is one frame without a name. */

struct mf_xtree {
	struct mf_collection collection; /* objects; profile.cmd is yours to set */
	uint32_t n_events; /* the first ones of struct mf_ledger_entry */
	struct mf_xtree_context *contexts; /* in the order of their first appearance */
	size_t n_contexts;
};

/* What a writer needs to know beside the tree. */
struct mf_xtree_file {
	bool compress; /* names of files and functions are numbered: Callgrind's format only */
	pid_t pid;
	int64_t time_ms;
};

/* As mf_collect(): @store must live as long; *@xtree is to be released, and must not move. */
int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err);
void mf_xtree_release(struct mf_xtree *xtree);

/* The values of a stack, as files name them: one word, and one line. */
extern const struct mf_xtree_event {
	const char *name, *text;
} mf_xtree_events[MF_LEDGER_VALUES];

/* The frames of context @number of @source, a struct mf_xtree, innermost first: at least one. */
uint32_t mf_xtree_read_context(const void *source, uint32_t number, struct mf_frame *frames);

/* @options for a tree that leaves nothing out: whole stacks, and none too small to be shown. */
struct mf_report_options mf_xtree_options(const struct mf_report_options *options);

#endif
