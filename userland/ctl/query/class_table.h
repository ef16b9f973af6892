/* SPDX-License-Identifier: GPL-2.0 */
/* Prints the sizes, the lifetimes or the ages of a program's blocks, by the code that has allocated them if that is wanted. */
#ifndef MASSIF_CTL_CLASS_TABLE_H
#define MASSIF_CTL_CLASS_TABLE_H

#include "base/error.h"
#include "ctl/query/query.h"
#include "ctl/query/terminal.h"
#include "recording/reader.h"

/*
 * Prints a row for each power of two, and below it, if --by is given, the sites with most blocks of the class. Needs a
 * process with details, and for ages one that has these. Returns 0, or -errno with a message.
 */
int mf_class_table_print(const struct mf_terminal *terminal, const struct mf_query *query,
			 const struct mf_recorded *process, enum mf_detail_histogram histogram, struct mf_error *err);

#endif
