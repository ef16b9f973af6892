/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output files of a run: none replaces another one of the same run, and it is known whether one was
 * lost. What an earlier run has left under a name is replaced.
 */
#ifndef MASSIF_CTL_OUTPUTS_H
#define MASSIF_CTL_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "outfile.h"

enum mf_output_kind {
	MF_OUTPUT_PROFILE,
	MF_OUTPUT_XTREE,
	MF_OUTPUT_LOG,
	MF_OUTPUT_KINDS,
};

struct mf_outputs;

/* NULL if memory is short. */
struct mf_outputs *mf_outputs_create(void);
void mf_outputs_destroy(struct mf_outputs *outputs); /* NULL is allowed */

/*
 * Keeps the name @path for the file of this kind of process @pid, which will be written later. Does
 * nothing if another one has it already, or memory is short.
 */
void mf_outputs_reserve(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path,
			pid_t pid);

/*
 * Writes the file of this kind of process @pid to @path, or where it is safe: if another file of this run
 * has that name, `.PID` is added to it, and if it cannot be written there, it goes to $TMPDIR or /tmp.
 * Says so. *@name is where it is, to be freed. Returns 0; or -errno, with words in @err, and the file is
 * lost.
 */
int mf_outputs_write(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path, pid_t pid,
		     const struct mf_outfile_source *source, char **name, struct mf_error *err);

/* How many files of this kind were written under names of their own. */
size_t mf_outputs_count(const struct mf_outputs *outputs, enum mf_output_kind kind);

/* A file is lost that mf_outputs_write() never saw. */
void mf_outputs_lose(struct mf_outputs *outputs);
bool mf_outputs_are_lost(const struct mf_outputs *outputs);

#endif
