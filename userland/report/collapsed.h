/* SPDX-License-Identifier: GPL-2.0 */
/* Writes collapsed stacks, the input of flamegraph.pl and similar programs. */
#ifndef MASSIF_REPORT_COLLAPSED_H
#define MASSIF_REPORT_COLLAPSED_H

#include <stdio.h>

#include "base/error.h"
#include "report/moment.h"

/*
 * Writes a line for each stack: the names of its calls, the outermost first, separated by semicolons, and its live
 * bytes. The parameters and the return value are those of struct mf_writer.
 */
int mf_collapsed_write(FILE *out, const struct mf_moment *moment, struct mf_error *err);

#endif
