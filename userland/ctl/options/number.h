/* SPDX-License-Identifier: GPL-2.0 */
/* Parses numbers with the syntax of Massif's options. */
#ifndef MASSIF_CTL_NUMBER_H
#define MASSIF_CTL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * mf_number_parse_integer() and mf_number_parse_decimal() accept leading whitespace and one sign, and parse an empty
 * text as 0. They return false if anything other than decimal digits follows, such as a suffix, a hexadecimal number or
 * trailing whitespace.
 */

/*
 * Parses a whole number. Returns false if @text is malformed, is only whitespace or a sign, or if the number does not
 * fit in @value.
 */
bool mf_number_parse_integer(const char *text, int64_t *value);

/*
 * Parses digits with an optional decimal fraction. Returns false if @text is malformed, or if the number does not fit in
 * @value; exponents, "inf" and "nan" are not accepted.
 */
bool mf_number_parse_decimal(const char *text, double *value);

/*
 * Parses a size in bytes: digits, and one of the suffixes K, M, G and T, for units of 1024, also as KB and so
 * on. Returns false if @text is malformed or empty, or if the size does not fit in @value.
 */
bool mf_number_parse_size(const char *text, uint64_t *value);

#endif
