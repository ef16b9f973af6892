/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of report formats. A writer writes either a profile (memory over time) or an execution tree (memory at one
 * point in time), or the live bytes of each stack in one snapshot of a profile; a format need not have writers for all
 * of these.
 */
#ifndef MASSIF_REPORT_WRITERS_H
#define MASSIF_REPORT_WRITERS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"
#include "report/moment.h"
#include "report/options.h"
#include "report/xtree.h"
#include "symbols/symbolizer.h"

enum mf_format {
	MF_FORMAT_MASSIF,
	MF_FORMAT_CALLGRIND,
	MF_FORMAT_COLLAPSED,
	MF_FORMAT_SPEEDSCOPE,
	MF_FORMAT_PPROF,
	MF_FORMAT_JSON,
	MF_FORMATS,
};

/*
 * A format. @symbolizer was created with the objects of the profile or execution tree. Both functions write to @out and
 * flush it; the caller owns and closes it. They return 0, -ENOMEM, or the -errno of the write that failed. After an
 * error, @out contains an incomplete file, which the caller should remove.
 */
struct mf_writer {
	const char *name;
	const char *mark; /* text in a file name that selects this format, or NULL */
	/* Writes a profile; NULL if the format cannot express memory over time. */
	int (*write_profile)(FILE *out, const struct mf_profile *profile, const struct mf_report_options *options,
			     struct mf_symbolizer *symbolizer, struct mf_error *err);
	bool with_end; /* write_profile() wants a snapshot of the end as the last one, in any case */
	int (*write_xtree)(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			   const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			   struct mf_error *err);
	bool one_value; /* write_moment() writes one number for each stack, which may be a count (struct mf_counted) */
	/* Writes the tree of one detailed snapshot. */
	int (*write_moment)(FILE *out, const struct mf_moment *moment, struct mf_error *err);
	const char *meaning; /* for --help: the programs that read the format; NULL if export does not offer it */
};

extern const struct mf_writer mf_writers[MF_FORMATS];

/*
 * Returns the format for an execution tree in the file @name: Callgrind, unless the name contains the text that selects
 * another format (struct mf_writer.mark), such as ".ms". The % sequences in @name must already have been expanded.
 */
enum mf_format mf_writers_xtree_format(const char *name);

/* Returns the format called @name, or MF_FORMATS. */
enum mf_format mf_writers_find(const char *name);

#endif
