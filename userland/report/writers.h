/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of report formats. A writer writes either a profile (memory over time) or an execution tree (memory at one
 * point in time); a format may have writers for both or for only one of them.
 */
#ifndef MASSIF_REPORT_WRITERS_H
#define MASSIF_REPORT_WRITERS_H

#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"
#include "report/options.h"
#include "report/xtree.h"
#include "symbols/symbolizer.h"

enum mf_format {
	MF_FORMAT_MASSIF,
	MF_FORMAT_CALLGRIND,
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
	int (*write_xtree)(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			   const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			   struct mf_error *err);
};

extern const struct mf_writer mf_writers[MF_FORMATS];

/*
 * Returns the format for an execution tree in the file @name: Callgrind, unless the name contains the text that selects
 * another format (struct mf_writer.mark), such as ".ms". The % sequences in @name must already have been expanded.
 */
enum mf_format mf_writers_xtree_format(const char *name);

#endif
