/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that behave as the reference's do.
 *
 * The reference is a script whose numbers are 64-bit integers while that is exact and doubles
 * otherwise, and its output shows which: 18446744073709551615 against 1.84467440737096e+19. The
 * rules, as observed with Debian 12's interpreter:
 *
 * - a text of digits (sign and blanks around allowed) that lies in -2^63 .. 2^64-1 is an
 *   integer, and so is one with an exponent ("1e17") whose double is whole and in that range;
 *   any other text is the double of its longest numeric beginning, 0 if there is none;
 * - a double that is whole and below 2^53 in magnitude takes part in arithmetic as an integer,
 *   unless it comes from a text as it is, such as "5.0", "12x" or "";
 * - +, * give an integer if the exact result is one in that range, else a double;
 * - / gives an integer if the dividend is above 2^53 and the divisor divides it, else a double.
 *
 * Limits: the sign of a zero is not kept.
 */
#ifndef MF_MSPRINT_NUMBER_H
#define MF_MSPRINT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two words, so that it is passed in registers. */
struct mf_number {
	union {
		uint64_t magnitude;
		double real;
	};
	bool is_real;		/* real holds the value, else negative and magnitude do */
	bool stays_real;	/* even if whole and small: it comes from a text */
	bool negative;
};

/* The longest text of a number with commas: 20 digits, a sign, 6 commas; or 15 and an exponent. */
#define MF_NUMBER_TEXT 40

static inline struct mf_number mf_number_of(uint64_t value)
{
	return (struct mf_number){ .magnitude = value };
}

struct mf_number mf_number_parse(const char *text, size_t len);
double mf_number_double(struct mf_number number);

struct mf_number mf_number_add(struct mf_number a, struct mf_number b);
struct mf_number mf_number_multiply(struct mf_number a, struct mf_number b);
/* The divisor must not be zero. */
struct mf_number mf_number_divide(struct mf_number a, struct mf_number b);

/* All are false if one of the two is not a number, as IEEE 754 has it. */
bool mf_number_less(struct mf_number a, struct mf_number b);
bool mf_number_equal(struct mf_number a, struct mf_number b);

/* Inline, because it is asked about every node of every tree. */
static inline bool mf_number_at_least(struct mf_number a, struct mf_number b)
{
	if (!a.is_real && !b.is_real && !a.negative && !b.negative)
		return a.magnitude >= b.magnitude;
	return mf_number_less(b, a) || mf_number_equal(a, b);
}

/* True unless the number is zero; NaN is true. */
bool mf_number_is_true(struct mf_number number);

/* Writes the number without commas, returns its length. */
size_t mf_number_format(struct mf_number number, char text[MF_NUMBER_TEXT]);

#endif
