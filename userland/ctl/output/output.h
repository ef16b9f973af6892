/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the massif.out file of a process from its store. */
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
#include "pages/pages.h"
#include "profile/residency.h"

/*
 * Checks the names of the output files before the program starts. Sets *@own if one of them is an inherited descriptor,
 * in which case inherited descriptors must stay open. Returns 0 or -errno.
 */
int mf_output_check(const struct mf_options *options, bool *own, struct mf_error *err);

/* Reserves the names of the output files for @pid, the process that the user asked to profile. */
void mf_output_reserve(const struct mf_options *options, pid_t pid);

/* A program's name, for messages. */
struct mf_output_name {
	char text[64];
};

/* Sets @name to the last component of @path, which is @length bytes long; control characters are replaced. */
void mf_output_make_name(struct mf_output_name *name, const char *path, size_t length);

/* The profile of a process, and other data needed to write its file. */
struct mf_output_of {
	const struct mf_store *store; /* the store, which may be written to concurrently */
	const char *cmd;
	const char *name; /* name of the program, for messages */
	pid_t pid, parent;  /* @parent: 0 if it is massif-ctl, or not known */
	int status;	    /* how the process ended, in the format of waitpid(2), or MF_EXIT_STATUS_UNKNOWN */
	bool pages;	    /* true in pages mode; the file is then readable only by its owner */
	const char *remark; /* a remark that is appended to the desc line of the file, or NULL */
	uint64_t took_ms;   /* how long the process has been profiled */
	const struct mf_residency *residency; /* samples of its resident set, or NULL */
	/* what massif.ko has recorded beside the heap, or NULL; its times are on the clock of @first_ns, CLOCK_MONOTONIC */
	const struct mf_pages_process *touched;
	uint64_t first_ns;  /* time of the first event in the profile */
	uint64_t lost;	    /* number of events that were lost */
	struct mf_end end;  /* the end of the profile, or the current time if the process is still running */
};

/*
 * Returns what is recorded at the end of a profile. If @cut_off is true, the process was killed or is still running. In
 * that case the profile ends with a detailed snapshot, because the user wants to see the last state.
 */
static inline enum mf_end_rule mf_output_end_rule(const struct mf_options *options, bool cut_off)
{
	return cut_off || options->end_snapshot ? MF_END_TREE : MF_END_PEAK;
}

/*
 * Writes the file of a process and reports its name (see mf_outputs_write()). Returns 0, or -errno with a message in
 * @err if the profile is lost.
 */
int mf_output_write(const struct mf_options *options, const struct mf_output_of *of,
		    struct mf_error *err);

/* Selects the snapshots that mf_output_print() prints from a profile that is still being recorded. */
enum mf_output_part {
	MF_OUTPUT_KEPT,	    /* all snapshots taken so far */
	MF_OUTPUT_PRESENT,  /* one snapshot of the current state */
	MF_OUTPUT_DETAILED, /* one detailed snapshot of the current state */
};

/* Prints a massif.out file of a profile that may be changing concurrently. Returns 0 or -errno. */
int mf_output_print(const struct mf_options *options, const struct mf_output_of *of,
		    enum mf_output_part part, FILE *out, struct mf_error *err);

#endif
