/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a memory execution tree in Callgrind format, for callgrind_annotate and KCachegrind. */
#ifndef MASSIF_REPORT_CALLGRIND_FILE_H
#define MASSIF_REPORT_CALLGRIND_FILE_H

#include "report/xtree.h"

/* A writer, see writers.h. */
int mf_callgrind_file_write(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			    const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			    struct mf_error *err);

#endif
