/* SPDX-License-Identifier: GPL-2.0 */
/* The words of a report for one source position. */
#ifndef MASSIF_REPORT_LOCATION_H
#define MASSIF_REPORT_LOCATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/options.h"
#include "symbols/symbolizer.h"

/* Is @function (may be NULL) one of the C library's that call main? Exact, unversioned names. */
bool mf_location_is_below_main(const char *function);

/*
 * The name that reports show for @function, NULL if it is unknown: functions below main are all
 * called `(below main)` unless the options say otherwise.
 */
const char *mf_location_function(const char *function, const struct mf_report_options *options);

/*
 * Prints `0x<PC>: <function> (<file>:<line>)` or what is known of it, without a newline. The pc is
 * not changed: callers pass the return address minus one where that is what Massif shows.
 *
 * The file is its base name only, unless options->fullpath_after has strings: then the directory is
 * printed before it, without everything up to the end of the first of the strings that occurs in
 * it, and without a leading "./".
 */
void mf_location_print(FILE *out, uint64_t pc, const struct mf_location *location,
		       const struct mf_report_options *options);

#endif
