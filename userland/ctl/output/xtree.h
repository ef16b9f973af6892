/* SPDX-License-Identifier: GPL-2.0 */
/* Writes execution trees, for --xtree-memory and for massif-ctl xtmemory. */
#ifndef MASSIF_CTL_XTREE_H
#define MASSIF_CTL_XTREE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"
#include "model/store.h"
#include "report/writers.h"

/* Input for writing an execution tree: a process and a point in time. */
struct mf_xtree_of {
	const struct mf_store *store;
	const char *cmd;
	pid_t pid;
	int64_t time_ms; /* milliseconds since the program's start */
};

/* Writes the file --xtree-memory-file and reports its name. Returns 0 or -errno. */
int mf_xtree_output(const struct mf_options *options, const struct mf_xtree_of *of,
		    struct mf_error *err);

/* Prints an execution tree in @format; the program may be running. Returns 0 or -errno. */
int mf_xtree_print(const struct mf_options *options, const struct mf_xtree_of *of, enum mf_format format,
		   FILE *out, struct mf_error *err);

#endif
