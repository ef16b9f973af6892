// SPDX-License-Identifier: GPL-2.0
// Parses numbers with the syntax of Massif's options, which differs from that of strtoll() and strtod().

#include "number.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "report/percent.h"

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\n\v\f\r");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Skips an optional sign. Returns whether the sign is a minus. */
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
	double number;

	/* More than 308 digits are infinite. */
	if (!mf_percent_parse(p, &number) || number > DBL_MAX)
		return false;
	*value = negative ? -number : number;
	return true;
}

bool mf_number_parse_size(const char *text, uint64_t *value)
{
	static const char suffixes[] = "KMGT";
	uint64_t number = 0;
	const char *p = text, *suffix;

	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return false;
	}
	suffix = *p ? strchr(suffixes, *p) : NULL;
	if (suffix) {
		if (__builtin_mul_overflow(number, 1ull << 10 * (suffix - suffixes + 1), &number))
			return false;
		p++;
		/* As in our own output: 64 KB. */
		p += *p == 'B';
	}
	*value = number;
	return *p == '\0';
}
