// SPDX-License-Identifier: GPL-2.0
// Prints strings for JSON.

#include "report/json_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the UTF-8 sequence at @text, or 0 if there is no valid one. */
static size_t sequence(const unsigned char *text)
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

void mf_json_print_text(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (!text) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	while (*at) {
		size_t n = sequence(at);

		if (!n)
			fputs("\\ufffd", out);
		else if (*at < ' ' || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else if (*at == 0xc2 && at[1] < 0xa0)
			fprintf(out, "\\u%04x", at[1]); /* control characters, too */
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
	putc('"', out);
}
