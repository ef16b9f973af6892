/* SPDX-License-Identifier: GPL-2.0 */
/* Percentages as Massif reads and prints them. */
#ifndef MASSIF_REPORT_PERCENT_H
#define MASSIF_REPORT_PERCENT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints @value (0..100) with two decimals. Not what printf does: the hundredths are rounded up
 * only if the binary remainder is strictly more than one half, so that 0.995 is `0.99`.
 */
void mf_percent_print(FILE *out, double value);

/*
 * Reads digits with an optional `.digits`; nothing at all is 0. As in Massif, tenths, hundredths,
 * ... are added up in binary before the whole part: 2.675 is printed as `2.68`, 0.015 as `0.01`.
 * Returns false if @text has anything else.
 */
bool mf_percent_parse(const char *text, double *value);

#endif
