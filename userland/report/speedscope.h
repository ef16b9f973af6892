/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the file format of speedscope. */
#ifndef MASSIF_REPORT_SPEEDSCOPE_H
#define MASSIF_REPORT_SPEEDSCOPE_H

#include <stdio.h>

#include "base/error.h"
#include "report/moment.h"

/* Writes the stacks of @moment as samples, weighted by their live bytes. See struct mf_writer. */
int mf_speedscope_write(FILE *out, const struct mf_moment *moment, struct mf_error *err);

#endif
