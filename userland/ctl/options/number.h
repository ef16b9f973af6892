/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers as Massif's options read them. */
#ifndef MASSIF_CTL_NUMBER_H
#define MASSIF_CTL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Both allow blanks and one sign in front, and read an empty text as 0. False if anything else than
 * decimal digits is left, so that suffixes, hexadecimal numbers and blanks behind are refused.
 */

/* Blanks or a sign alone are no number, and neither is what does not fit. */
bool mf_number_parse_integer(const char *text, int64_t *value);

/* Digits with an optional fraction; no exponent, "inf" or "nan". Digits may be missing. */
bool mf_number_parse_decimal(const char *text, double *value);

#endif
