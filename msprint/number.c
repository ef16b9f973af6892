// SPDX-License-Identifier: GPL-2.0
// Numbers that behave like those of Valgrind's ms_print; number.h has the rules.

#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Below this value, doubles represent every integer. */
#define EXACT 9007199254740992.0	/* 2^53 */

static struct mf_number real(double value)
{
	return (struct mf_number){ .is_real = true, .real = value };
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
	if (number->stays_real || !(value < EXACT) || value != trunc(value))
		return false;
	*number = mf_number_of((uint64_t)value);
	return true;
}

static bool both_integers(struct mf_number *a, struct mf_number *b)
{
	return make_integer(a) && make_integer(b);
}

double mf_number_double(struct mf_number number)
{
	return number.is_real ? number.real : (double)number.integer;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct mf_number parse_real(const char *text, size_t len)
{
	struct mf_number number = { .is_real = true, .stays_real = true };
	char small[64];
	char *copy = small;
	size_t room = 0;

	if (len >= sizeof(small)) {
		copy = NULL;
		mf_memory_grow((void **)&copy, &room, len + 1, 1);
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	number.real = strtod(copy, NULL);
	if (copy != small)
		free(copy);
	return number;
}

struct mf_number mf_number_parse(const char *text, size_t len)
{
	uint64_t value = 0;
	size_t digits = 0, end;

	for (; digits < len && is_digit(text[digits]); digits++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, text[digits] - '0', &value))
			return parse_real(text, len);
	}
	for (end = digits; end < len && is_blank(text[end]); end++)
		;
	return digits && end == len ? mf_number_of(value) : parse_real(text, len);
}

struct mf_number mf_number_add(struct mf_number a, struct mf_number b)
{
	uint64_t sum;

	if (both_integers(&a, &b) && !__builtin_add_overflow(a.integer, b.integer, &sum))
		return mf_number_of(sum);
	return real(mf_number_double(a) + mf_number_double(b));
}

struct mf_number mf_number_multiply(struct mf_number a, struct mf_number b)
{
	uint64_t product;

	if (both_integers(&a, &b) && !__builtin_mul_overflow(a.integer, b.integer, &product))
		return mf_number_of(product);
	return real(mf_number_double(a) * mf_number_double(b));
}

struct mf_number mf_number_divide(struct mf_number a, struct mf_number b)
{
	if (both_integers(&a, &b) && a.integer >= b.integer && b.integer && a.integer > (uint64_t)EXACT &&
	    a.integer % b.integer == 0)
		return mf_number_of(a.integer / b.integer);
	return real(mf_number_double(a) / mf_number_double(b));
}

bool mf_number_less(struct mf_number a, struct mf_number b)
{
	return both_integers(&a, &b) ? a.integer < b.integer : mf_number_double(a) < mf_number_double(b);
}

bool mf_number_equal(struct mf_number a, struct mf_number b)
{
	return both_integers(&a, &b) ? a.integer == b.integer : mf_number_double(a) == mf_number_double(b);
}

bool mf_number_is_true(struct mf_number number)
{
	return number.is_real ? number.real != 0 : number.integer != 0;
}

/* Faster than printf(), which matters because most lines about hidden nodes contain two numbers. */
static size_t format_integer(uint64_t integer, char text[MF_NUMBER_TEXT])
{
	char digits[20];
	size_t first = sizeof(digits);
	size_t len;

	do {
		digits[--first] = '0' + integer % 10;
		integer /= 10;
	} while (integer);
	len = sizeof(digits) - first;
	memcpy(text, digits + first, len);
	text[len] = '\0';
	return len;
}

size_t mf_number_format(struct mf_number number, char text[MF_NUMBER_TEXT])
{
	if (!number.is_real)
		return format_integer(number.integer, text);
	return snprintf(text, MF_NUMBER_TEXT, "%.15g", number.real);
}
