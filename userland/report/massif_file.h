/* SPDX-License-Identifier: GPL-2.0 */
/* Writes massif.out files: a profile as text, byte for byte as Massif writes it. */
#ifndef MASSIF_REPORT_MASSIF_FILE_H
#define MASSIF_REPORT_MASSIF_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "report/options.h"
#include "profile/profile.h"
#include "symbols/symbolizer.h"

/*
 * Writes @profile to @out and flushes it. @symbolizer was created with the profile's objects; only frames that the text
 * or the filter needs are looked up. The caller owns and closes @out.
 *
 * Returns 0, -ENOMEM, or the -errno of the write that failed (-ENOSPC, ...). After an error, @out contains an
 * incomplete file, which the caller should remove.
 */
int mf_massif_file_write(FILE *out, const struct mf_profile *profile,
			 const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			 struct mf_error *err);

/* The units of time (enum mf_time_unit) and the kinds of trees (enum mf_tree_kind), as they are written. */
extern const char *const mf_massif_file_units[];
extern const char *const mf_massif_file_trees[];

/* Prints a line "@name: @text" of a file's header. A line break in @text becomes the two characters \n. */
void mf_massif_file_print_head(FILE *out, const char *name, const char *text);

/* Flushes @out after output whose errors were not checked. Returns 0, or -errno if any write failed. */
int mf_massif_file_end(FILE *out, struct mf_error *err);

#endif
