/* SPDX-License-Identifier: GPL-2.0 */
/* Writes profiles as JSON, for programs of one's own. */
#ifndef MASSIF_REPORT_JSON_FILE_H
#define MASSIF_REPORT_JSON_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

/* A writer, see writers.h. options.rst, "Recordings", says what the file has. */
int mf_json_file_write(FILE *out, const struct mf_profile *profile, const struct mf_report_options *options,
		       struct mf_symbolizer *symbolizer, struct mf_error *err);

#endif
