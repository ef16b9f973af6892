// SPDX-License-Identifier: GPL-2.0
// Numbers that behave like those of Valgrind's ms_print; number.h has the rules.

#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "memory.h"

/* Below this value, doubles represent every integer. */
#define EXACT 9007199254740992.0	/* 2^53 */
#define NEGATIVE_LIMIT (UINT64_C(1) << 63)

/* An integer is at least -2^63 and less than 2^64 (see number.h). These are the two bounds as doubles. */
#define INTEGER_MIN -9223372036854775808.0	/* -2^63 */
#define INTEGER_END 18446744073709551616.0	/* 2^64, the smallest value that is too large */

static struct mf_number real(double value)
{
	return (struct mf_number){ .is_real = true, .real = value };
}

/* Returns the integer with the given sign and magnitude, or a double if it is below -2^63, the smallest integer. */
static struct mf_number integer(bool negative, uint64_t magnitude)
{
	if (negative && magnitude > NEGATIVE_LIMIT)
		return real(-(double)magnitude);
	return (struct mf_number){ .negative = negative && magnitude, .magnitude = magnitude };
}

/*
 * If @number is an integral double below 2^53, converts it to an integer, unless it is to stay a double. Returns false
 * if @number is still a double.
 */
static bool make_integer(struct mf_number *number)
{
	double value;

	if (!number->is_real)
		return true;
	value = number->real;
	if (number->stays_real || !(fabs(value) < EXACT) || value != trunc(value))
		return false;
	*number = integer(value < 0, (uint64_t)fabs(value));
	return true;
}

static bool both_integers(struct mf_number *a, struct mf_number *b)
{
	return make_integer(a) && make_integer(b);
}

double mf_number_double(struct mf_number number)
{
	if (number.is_real)
		return number.real;
	return number.negative ? -(double)number.magnitude : (double)number.magnitude;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses the double at the beginning of a text. Unlike strtod(), does not accept hexadecimal numbers. */
static double convert(const char *text, const char **end)
{
	const char *digits = text;
	double value;

	while (is_blank(*digits))
		digits++;
	if (*digits == '-' || *digits == '+')
		digits++;
	*end = digits + 1;
	if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
		return 0;
	value = strtod(text, (char **)end);
	return value;
}

/* Returns whether the whole text, except for trailing whitespace, is a number with an exponent. */
static bool has_exponent(const char *text, const char *end, size_t len)
{
	const char *last = end;

	while (is_blank(*last))
		last++;
	if (last != text + len)
		return false;
	return memchr(text, 'e', end - text) || memchr(text, 'E', end - text);
}

static struct mf_number parse_real(const char *text, size_t len)
{
	struct mf_number number = { .is_real = true, .stays_real = true };
	char small[64];
	char *copy = small;
	const char *end;
	size_t room = 0;

	if (len >= sizeof(small)) {
		copy = NULL;
		mf_memory_grow((void **)&copy, &room, len + 1, 1);
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	number.real = convert(copy, &end);
	if (has_exponent(copy, end, len) && number.real >= INTEGER_MIN &&
	    number.real < INTEGER_END && number.real == trunc(number.real))
		number = integer(number.real < 0, (uint64_t)fabs(number.real));
	if (copy != small)
		free(copy);
	return number;
}

struct mf_number mf_number_parse(const char *text, size_t len)
{
	bool negative = false;
	uint64_t value = 0;
	size_t first;
	size_t i = 0;

	while (i < len && is_blank(text[i]))
		i++;
	if (i < len && (text[i] == '-' || text[i] == '+'))
		negative = text[i++] == '-';
	first = i;
	for (; i < len && is_digit(text[i]); i++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, text[i] - '0', &value))
			return parse_real(text, len);
	}
	if (i > first) {
		while (i < len && is_blank(text[i]))
			i++;
		if (i == len)
			return integer(negative, value);
	}
	return parse_real(text, len);
}

struct mf_number mf_number_add(struct mf_number a, struct mf_number b)
{
	uint64_t sum;

	if (both_integers(&a, &b)) {
		if (a.negative != b.negative) {
			if (a.magnitude >= b.magnitude)
				return integer(a.negative, a.magnitude - b.magnitude);
			return integer(b.negative, b.magnitude - a.magnitude);
		}
		if (!__builtin_add_overflow(a.magnitude, b.magnitude, &sum))
			return integer(a.negative, sum);
	}
	return real(mf_number_double(a) + mf_number_double(b));
}

struct mf_number mf_number_multiply(struct mf_number a, struct mf_number b)
{
	uint64_t product;

	if (both_integers(&a, &b) && !__builtin_mul_overflow(a.magnitude, b.magnitude, &product))
		return integer(a.negative != b.negative, product);
	return real(mf_number_double(a) * mf_number_double(b));
}

struct mf_number mf_number_divide(struct mf_number a, struct mf_number b)
{
	if (both_integers(&a, &b) && a.magnitude >= b.magnitude && b.magnitude &&
	    a.magnitude > (uint64_t)EXACT && a.magnitude % b.magnitude == 0)
		return integer(a.negative != b.negative, a.magnitude / b.magnitude);
	return real(mf_number_double(a) / mf_number_double(b));
}

bool mf_number_less(struct mf_number a, struct mf_number b)
{
	if (!both_integers(&a, &b))
		return mf_number_double(a) < mf_number_double(b);
	if (a.negative != b.negative)
		return a.negative;
	return a.negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
}

bool mf_number_equal(struct mf_number a, struct mf_number b)
{
	if (!both_integers(&a, &b))
		return mf_number_double(a) == mf_number_double(b);
	return a.negative == b.negative && a.magnitude == b.magnitude;
}

bool mf_number_is_true(struct mf_number number)
{
	return number.is_real ? number.real != 0 : number.magnitude != 0;
}

/* Faster than printf(), which matters because most lines about hidden nodes contain two numbers. */
static size_t format_integer(struct mf_number number, char text[MF_NUMBER_TEXT])
{
	char digits[20];
	size_t first = sizeof(digits);
	size_t len = 0;

	do {
		digits[--first] = '0' + number.magnitude % 10;
		number.magnitude /= 10;
	} while (number.magnitude);
	if (number.negative)
		text[len++] = '-';
	memcpy(text + len, digits + first, sizeof(digits) - first);
	len += sizeof(digits) - first;
	text[len] = '\0';
	return len;
}

size_t mf_number_format(struct mf_number number, char text[MF_NUMBER_TEXT])
{
	if (!number.is_real)
		return format_integer(number, text);
	if (isnan(number.real))
		return snprintf(text, MF_NUMBER_TEXT, "NaN");
	if (isinf(number.real))
		return snprintf(text, MF_NUMBER_TEXT, "%sInf", number.real < 0 ? "-" : "");
	if (number.real == 0)
		return snprintf(text, MF_NUMBER_TEXT, "0");
	return snprintf(text, MF_NUMBER_TEXT, "%.15g", number.real);
}
