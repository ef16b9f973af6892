// SPDX-License-Identifier: GPL-2.0
// Reads and prints percentages as Massif does.

#include "report/percent.h"

#include <inttypes.h>
#include <stdint.h>

void mf_percent_print(FILE *out, double value)
{
	uint64_t whole = (uint64_t)value;
	/*
	 * Subtract the integer part before multiplying. The double closest to 33.335 is slightly greater than 33.335,
	 * so it must be rounded up to 33.34. But 33.335 * 100 would be rounded to 3333.5, which is exactly one half and
	 * is not rounded up.
	 */
	double hundredths = (value - (double)whole) * 100;
	uint64_t fraction = (uint64_t)hundredths;

	if (hundredths - (double)fraction > 0.5)
		fraction++;
	if (fraction == 100) {
		fraction = 0;
		whole++;
	}
	fprintf(out, "%" PRIu64 ".%02" PRIu64, whole, fraction);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool mf_percent_parse(const char *text, double *value)
{
	double whole = 0, fraction = 0, place = 0.1;

	for (; is_digit(*text); text++)
		whole = whole * 10 + (*text - '0');
	if (*text == '.') {
		for (text++; is_digit(*text); text++) {
			fraction += (*text - '0') * place;
			place /= 10;
		}
	}
	*value = whole + fraction;
	return *text == '\0';
}
