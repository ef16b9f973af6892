/* SPDX-License-Identifier: GPL-2.0 */
/* Writes profiles for go tool pprof. */
#ifndef MASSIF_REPORT_PPROF_H
#define MASSIF_REPORT_PPROF_H

#include <stdio.h>

#include "base/error.h"
#include "report/moment.h"

/*
 * Writes the stacks of @moment with their live bytes (inuse_space), the mapped objects and their build ids, as pprof's
 * profile.proto, compressed by gzip. See struct mf_writer.
 */
int mf_pprof_write(FILE *out, const struct mf_moment *moment, struct mf_error *err);

#endif
