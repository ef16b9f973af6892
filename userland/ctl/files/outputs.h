/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output files of a run. Ensures that no file replaces another one of the same run, and records whether a file was
 * lost. Files of earlier runs are replaced.
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
	MF_OUTPUT_RECORDING,
	MF_OUTPUT_KINDS,
};

struct mf_outputs;

/* Creates an empty list of output files. Returns NULL if out of memory. */
struct mf_outputs *mf_outputs_create(void);
void mf_outputs_destroy(struct mf_outputs *outputs); /* @outputs may be NULL */

/*
 * Reserves the name @path for a file of kind @kind that will later be written for process @pid. Does nothing if the
 * name is already taken or if out of memory.
 */
void mf_outputs_reserve(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path,
			pid_t pid);

/*
 * Writes process @pid's file of kind @kind to @path. If another file of this run already uses that path, appends `.PID`
 * to it. If the file cannot be written there, writes it to $TMPDIR or /tmp instead. Reports both cases. *@name is set
 * to the name that was used; the caller frees it. Returns 0, or -errno with a message in @err if the file could not be
 * saved anywhere.
 */
int mf_outputs_write(struct mf_outputs *outputs, enum mf_output_kind kind, const char *path, pid_t pid,
		     const struct mf_outfile_source *source, char **name, struct mf_error *err);

/*
 * From now on, calls @written after each profile or recording that was written, with the process and the name of its
 * file. NULL calls nothing.
 */
void mf_outputs_tell(struct mf_outputs *outputs, void (*written)(void *data, pid_t pid, const char *name), void *data);

/* Returns how many files of the given @kind were written. Special files, such as pipes, are not counted. */
size_t mf_outputs_count(const struct mf_outputs *outputs, enum mf_output_kind kind);

/* Records that a file is lost because it was never passed to mf_outputs_write(). */
void mf_outputs_lose(struct mf_outputs *outputs);
bool mf_outputs_are_lost(const struct mf_outputs *outputs);

#endif
