/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An execution tree of live blocks: bytes and blocks of each stack, with nothing filtered but what
 * is below main, as Valgrind's --xtree-memory=allocs writes it.
 */
#ifndef MASSIF_REPORT_XTREE_H
#define MASSIF_REPORT_XTREE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/store.h"
#include "report/collect.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* What is counted of a stack, in the order of the file. */
enum mf_xtree_event {
	MF_XTREE_BYTES,
	MF_XTREE_BLOCKS,
	MF_XTREE_EVENTS,
};

struct mf_xtree_context {
	uint32_t number; /* among those of the collection, or MF_XTREE_NO_STACK */
	uint64_t values[MF_XTREE_EVENTS];
};

/* The stack of a block that --ignore-fn leaves out is not kept. */
#define MF_XTREE_NO_STACK UINT32_MAX

struct mf_xtree {
	struct mf_collection collection; /* objects and stacks; profile.cmd is yours to set */
	struct mf_xtree_context *contexts; /* those with a live block, in the order of first appearance */
	size_t n_contexts;
};

/* Who wants which file. */
struct mf_xtree_file {
	bool massif;   /* Massif's format, not Callgrind's */
	bool compress; /* names of files and functions are numbered: Callgrind's format only */
	pid_t pid;
	int64_t time_ms;
};

/* As mf_collect(): @store must live as long; *@xtree is to be released, and must not move. */
int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err);
void mf_xtree_release(struct mf_xtree *xtree);

/* Is a file of this name, all expanded, one of Massif's format? */
bool mf_xtree_is_massif(const char *name);

/* As mf_massif_file_write(). */
int mf_xtree_write(FILE *out, struct mf_xtree *xtree, const struct mf_xtree_file *file,
		   const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
		   struct mf_error *err);

#endif
