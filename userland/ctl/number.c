// SPDX-License-Identifier: GPL-2.0
// Numbers as Massif's options read them: strtoll() and strtod() accept other things.

#include "ctl/number.h"

#include <stddef.h>
#include <string.h>

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\n\v\f\r");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Steps over a sign. Returns whether the number is negative. */
static bool read_sign(const char **text)
{
	bool negative = **text == '-';

	if (**text == '-' || **text == '+')
		(*text)++;
	return negative;
}

bool mf_number_parse_integer(const char *text, int64_t *value)
{
	const char *p = skip_blanks(text);
	bool negative = read_sign(&p);
	int64_t number = 0;

	if (!is_digit(*p) && *text)
		return false;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, *p - '0', &number))
			return false;
	}
	*value = negative ? -number : number;
	return *p == '\0';
}

bool mf_number_parse_decimal(const char *text, double *value)
{
	const char *p = skip_blanks(text);
	bool negative = read_sign(&p);
	double number = 0.0;

	for (; is_digit(*p); p++)
		number = number * 10.0 + (*p - '0');
	if (*p == '.') {
		double weight = 0.1;

		/* Summed digit by digit, so that borderline thresholds fall on Massif's side. */
		for (p++; is_digit(*p); p++, weight /= 10.0)
			number += (*p - '0') * weight;
	}
	*value = negative ? -number : number;
	return *p == '\0';
}
