/* SPDX-License-Identifier: GPL-2.0 */
/* Writes memory by call stacks in Callgrind format, for callgrind_annotate and KCachegrind. */
#ifndef MASSIF_REPORT_CALLGRIND_FILE_H
#define MASSIF_REPORT_CALLGRIND_FILE_H

#include "report/moment.h"
#include "report/xtree.h"

/* Writers, see writers.h: of an execution tree, and of the live bytes in one snapshot. */
int mf_callgrind_file_write(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			    const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			    struct mf_error *err);
int mf_callgrind_moment_write(FILE *out, const struct mf_moment *moment, struct mf_error *err);

#endif
