/* SPDX-License-Identifier: GPL-2.0 */
/* From a store to the massif.out file of a process. */
#ifndef MASSIF_CTL_OUTPUT_H
#define MASSIF_CTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"
#include "model/ending.h"
#include "model/store.h"

/*
 * Finds early what is wrong with the names of the output files. *@own: one of them is one of our
 * descriptors, which are to be kept for it. Returns 0 or -errno.
 */
int mf_output_check(const struct mf_options *options, bool *own, struct mf_error *err);

/* Keeps the names of its output files for @pid, the process that the user asked for. */
void mf_output_reserve(const struct mf_options *options, pid_t pid);

/* What messages call a program. */
struct mf_output_name {
	char text[64];
};

/* Makes @name the last part of @path, of @length bytes, with nothing in it that a terminal obeys. */
void mf_output_make_name(struct mf_output_name *name, const char *path, size_t length);

/* The profile of a process, and what its file says of it. */
struct mf_output_of {
	const struct mf_store *store; /* somebody may be writing to it */
	const char *cmd;
	const char *name; /* of the program, for messages */
	pid_t pid;
	bool pages;	    /* then only its owner may read the file */
	const char *remark; /* what a reader should know, for the end of the line desc; NULL: none */
	struct mf_end end;  /* of the profile; until then, the present */
};

/*
 * How the profile of a process ends that came to an end of its own; or, @cut_off, before that: then what
 * it holds is the question, and nobody looked for it yet.
 */
static inline enum mf_end_rule mf_output_end_rule(const struct mf_options *options, bool cut_off)
{
	return cut_off || options->end_snapshot ? MF_END_TREE : MF_END_PEAK;
}

/*
 * Writes the profile as the file of its process and says so, as mf_outputs_write() does. Returns 0; or
 * -errno, with words in @err, and the profile is lost.
 */
int mf_output_write(const struct mf_options *options, const struct mf_output_of *of,
		    struct mf_error *err);

/* What of a profile to print while it grows. */
enum mf_output_part {
	MF_OUTPUT_KEPT,	    /* the snapshots as they would be written now */
	MF_OUTPUT_PRESENT,  /* one of the present state */
	MF_OUTPUT_DETAILED, /* the same with a tree */
};

/* Prints a file of the profile, to which somebody may be writing. Returns 0 or -errno. */
int mf_output_print(const struct mf_options *options, const struct mf_output_of *of,
		    enum mf_output_part part, FILE *out, struct mf_error *err);

#endif
