/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that behave like those of Valgrind's ms_print.
 *
 * That program is a script whose numbers are 64-bit integers if those are exact and doubles otherwise, and its output
 * shows the difference: 18446744073709551615 or 1.84467440737096e+19. These are the rules, as observed with the
 * interpreter of Debian 12:
 *
 * - A string of digits (optionally with whitespace after it) below 2^64 is an integer. Any other string is converted to a
 *   double from its longest numeric prefix, or to 0.
 * - In arithmetic, an integral double below 2^53 counts as an integer, unless it comes directly from a string such as
 *   "5.0" or "".
 * - + and * give an integer if the exact result is one below 2^64, otherwise a double.
 * - / gives an integer if the dividend is above 2^53 and a multiple of the divisor, otherwise a double.
 *
 * There are no negative numbers: files and options that contain one are rejected.
 */
#ifndef MASSIF_MSPRINT_NUMBER_H
#define MASSIF_MSPRINT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number. The structure is only two words long, so that it is passed in registers. */
struct mf_number {
	union {
		uint64_t integer;
		double real;
	};
	bool is_real;		/* the value is in @real, not in @integer */
	/*
	 * true if the number is kept as a double even if its value is integral, because it was converted directly from
	 * text such as "5.0"
	 */
	bool stays_real;
};

/* Maximum length of a number with commas: 20 digits and 6 commas; or 15 digits and an exponent. */
#define MF_NUMBER_TEXT 40

static inline struct mf_number mf_number_of(uint64_t value)
{
	return (struct mf_number){ .integer = value };
}

struct mf_number mf_number_parse(const char *text, size_t len);
double mf_number_double(struct mf_number number);

struct mf_number mf_number_add(struct mf_number a, struct mf_number b);
struct mf_number mf_number_multiply(struct mf_number a, struct mf_number b);
/* The divisor must not be zero. */
struct mf_number mf_number_divide(struct mf_number a, struct mf_number b);

bool mf_number_less(struct mf_number a, struct mf_number b);
bool mf_number_equal(struct mf_number a, struct mf_number b);

/* Inline, because it is called for every node of every tree. */
static inline bool mf_number_at_least(struct mf_number a, struct mf_number b)
{
	if (!a.is_real && !b.is_real)
		return a.integer >= b.integer;
	return mf_number_less(b, a) || mf_number_equal(a, b);
}

/* Returns false for zero, and true for any other number. */
bool mf_number_is_true(struct mf_number number);

/* Writes the number without commas. Returns its length. */
size_t mf_number_format(struct mf_number number, char text[MF_NUMBER_TEXT]);

#endif
