/* SPDX-License-Identifier: GPL-2.0 */
/* Parses numbers with the syntax of Massif's options. */
#ifndef MASSIF_CTL_NUMBER_H
#define MASSIF_CTL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Both functions accept leading whitespace and one sign, and parse an empty text as 0. They return false if anything
 * other than decimal digits follows, such as a suffix, a hexadecimal number or trailing whitespace.
 */

/* Also returns false for whitespace or a sign alone, and for numbers that do not fit. */
bool mf_number_parse_integer(const char *text, int64_t *value);

/* Accepts digits with an optional fraction, but no exponent, "inf" or "nan". */
bool mf_number_parse_decimal(const char *text, double *value);

#endif
