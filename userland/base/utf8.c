// SPDX-License-Identifier: GPL-2.0
// Validates UTF-8.

#include "base/utf8.h"

#include <stdint.h>

size_t mf_utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} kinds[] = { { 0x80, 0, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };

	for (size_t n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		uint32_t point = *text & (unsigned char)~kinds[n].mask;
		size_t i;

		if ((*text & kinds[n].mask) != kinds[n].lead)
			continue;
		/* The terminating NUL is no continuation byte, so this does not read beyond it. */
		for (i = 1; i <= n && (text[i] & 0xc0) == 0x80; i++)
			point = point << 6 | (text[i] & 0x3f);
		if (i <= n || point < kinds[n].least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
			return 0;
		return n + 1;
	}
	return 0;
}
