/* SPDX-License-Identifier: GPL-2.0 */
/* The options of massif-ctl: what they may be, and what was given. */
#ifndef MASSIF_CTL_OPTIONS_H
#define MASSIF_CTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/model.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* Options that ask for something else than a run. */
enum mf_options_wish {
	MF_OPTIONS_RUN,
	MF_OPTIONS_HELP,
	MF_OPTIONS_VERSION,
};

struct mf_options {
	enum mf_options_wish wish;
	bool pages_as_heap;
	bool time_unit_given; /* or left to the machine */
	int verbosity;	      /* see message.h */
	const char *out_file; /* with its % still in it */
	struct mf_model_options model;
	struct mf_report_options report;
	struct mf_symbolizer_options symbolizer;

	char *desc; /* the options that the file mentions, as given, or "(none)"; owned */
	const char **alloc_fns, **ignore_fns, **fullpath_after; /* behind report's lists; owned */
};

/* Sets the defaults and allocates for a command line of @argc words. Returns 0 or -ENOMEM. */
int mf_options_init(struct mf_options *options, int argc, struct mf_error *err);
void mf_options_deinit(struct mf_options *options);

/*
 * Reads the options at the start of @argv, up to a `--` or the first word without a `-`. *@used is
 * how many words that were, the `--` included. Returns 0; or -EINVAL, with all three (or two) lines
 * for the user in @err.
 */
int mf_options_parse(struct mf_options *options, int argc, char *const *argv, int *used,
		     struct mf_error *err);

/* The lines for the user when @arg was refused because of @reason, which may have several lines. */
void mf_options_explain(struct mf_error *err, const char *arg, const char *reason);

/* The table of options as help. */
void mf_options_print_help(FILE *out);

#endif
