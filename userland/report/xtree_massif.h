/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a memory execution tree in Massif format, as Valgrind does for files named *.ms. */
#ifndef MASSIF_REPORT_XTREE_MASSIF_H
#define MASSIF_REPORT_XTREE_MASSIF_H

#include "report/xtree.h"

/* A writer, see writers.h. */
int mf_xtree_massif_write(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			  const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			  struct mf_error *err);

#endif
