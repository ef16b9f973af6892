/* SPDX-License-Identifier: GPL-2.0 */
/* The data of one process in a page; data.h has its format. */
#ifndef MASSIF_HTML_PROCESS_H
#define MASSIF_HTML_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "html/calls.h"
#include "html/tree.h"
#include "recording/reader.h"
#include "report/options.h"

/* Of more snapshots, only so many are in the page. More than 1000 are in no recording that massif-ctl has made. */
#define MF_HTML_SNAPSHOTS_MAX 2000u

/* Zero-initialise it, but for @recorded. It must not be moved once it has been read. */
struct mf_html_process {
	struct mf_recorded *recorded;
	uint64_t peak;
	size_t number; /* position in the file */
	struct mf_profile profile; /* with the snapshots that are in the page */
	struct mf_profile_snapshot *snapshots;
	size_t *numbers;	/* the number of each snapshot in the recording */
	size_t peak_at, end_at; /* positions of the peak and the end among the snapshots */
	const struct mf_report_options *options;
	struct mf_html_tree tree;
	size_t most_moments; /* that may be in the page: samples of the resident set besides the largest and the last */
	uint32_t *touching; /* for each context of first touches its site, a call; NULL: they were not recorded */
	uint64_t *values, *old; /* for each node in the page, and each site of the stacks that are merged */
};

/* Builds the tree of process->recorded. Returns 0, or -errno with a message. */
int mf_html_process_read(struct mf_html_process *process, const struct mf_report_options *options,
			 struct mf_html_calls *calls, struct mf_error *err);

/* Prints the process with the @n nodes that matter most. */
int mf_html_process_print(struct mf_html_process *process, FILE *out, size_t n, struct mf_html_calls *calls,
			  struct mf_error *err);

/* Adds @leaves up by the entries in the page, and prints these as data.h says of "values". For mf_html_process_print(). */
void mf_html_process_print_leaves(struct mf_html_process *process, FILE *out, const struct mf_leaf *leaves, size_t n);

/*
 * Adds @leaves up by the entries in the page, and prints those that differ from the call before, as data.h says of "changes".
 * Before the first call, all are 0 after mf_html_process_begin_changes().
 */
void mf_html_process_begin_changes(struct mf_html_process *process);
void mf_html_process_print_changes(struct mf_html_process *process, FILE *out, const struct mf_leaf *leaves, size_t n);

void mf_html_process_deinit(struct mf_html_process *process);

/* Prints @number, as a string if JavaScript would round it. */
void mf_html_print_number(FILE *out, uint64_t number);

/* Prints @text (may be NULL) as a string, of at most MF_HTML_NAME_MAX bytes. */
void mf_html_print_name(FILE *out, const char *text);

#endif
