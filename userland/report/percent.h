/* SPDX-License-Identifier: GPL-2.0 */
/* Reads and prints percentages as Massif does. */
#ifndef MASSIF_REPORT_PERCENT_H
#define MASSIF_REPORT_PERCENT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints @value (0..100) with two decimals. Rounds the hundredths up only if the remainder is more than one half: 0.375
 * is printed as `0.37`, whereas printf() rounds to the even digit and prints `0.38`.
 */
void mf_percent_print(FILE *out, double value);

/*
 * Parses digits and, optionally, `.digits`; an empty text is 0. As in Massif, tenths, hundredths, ... are summed in
 * binary before the integer part is added: 2.675 is then printed as `2.68`, 0.015 as `0.01`. Returns false if @text
 * contains anything else.
 */
bool mf_percent_parse(const char *text, double *value);

#endif
