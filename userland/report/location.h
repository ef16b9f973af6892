/* SPDX-License-Identifier: GPL-2.0 */
/* Prints source positions for reports. */
#ifndef MASSIF_REPORT_LOCATION_H
#define MASSIF_REPORT_LOCATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/options.h"
#include "symbols/symbolizer.h"

/*
 * Returns whether @function (may be NULL) is one of the C library functions that call main. Names must match exactly,
 * without a version.
 */
bool mf_location_is_below_main(const char *function);

/*
 * Returns the name that reports show for @function, or NULL if it is unknown. All functions below main are shown as
 * `(below main)` unless the options say otherwise.
 */
const char *mf_location_function(const char *function, const struct mf_report_options *options);

/*
 * Prints `0x<PC>: <function> (<file>:<line>)` without a newline; unknown parts are omitted, as in Massif. @pc is
 * printed unchanged: where Massif shows the return address minus one, the caller passes that.
 *
 * Only the base name of the file is printed unless options->fullpath_after contains strings. If it does, the directory
 * is printed as well, after removing everything up to the end of the first of these strings that occurs in it, and then
 * a leading "./".
 */
void mf_location_print(FILE *out, uint64_t pc, const struct mf_location *location,
		       const struct mf_report_options *options);

#endif
