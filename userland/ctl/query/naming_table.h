/* SPDX-License-Identifier: GPL-2.0 */
/* Prints which names of a recording were found in its files, and what to do about those that were not. */
#ifndef MASSIF_CTL_NAMING_TABLE_H
#define MASSIF_CTL_NAMING_TABLE_H

#include <stdio.h>

#include "base/error.h"
#include "recording/naming.h"

/*
 * Sorts the files of @naming by their numbers of frames, and prints a row for each. Returns 0, or -errno if @out cannot
 * be written to.
 */
int mf_naming_table_print(FILE *out, struct mf_naming *naming, struct mf_error *err);

#endif
