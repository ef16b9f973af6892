// SPDX-License-Identifier: GPL-2.0
// Prints strings for JSON.

#include "report/json_text.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/utf8.h"

/* Returns whether the character of @n bytes at @at could end or confuse the HTML element that contains the text. */
static bool is_markup(const unsigned char *at, size_t n)
{
	/* U+2028 and U+2029 end lines in JavaScript. */
	return (n == 1 && (*at == '<' || *at == '>' || *at == '&')) ||
	       (n == 3 && *at == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9));
}

static void print_text(FILE *out, const char *text, bool inert)
{
	const unsigned char *at = (const unsigned char *)text;

	if (!text) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	while (*at) {
		size_t n = mf_utf8_length(at);

		if (!n)
			fputs("\\ufffd", out);
		else if (*at < ' ' || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else if (*at == 0xc2 && at[1] < 0xa0)
			fprintf(out, "\\u%04x", at[1]); /* control characters, too */
		else if (inert && is_markup(at, n))
			fprintf(out, "\\u%04x", n == 1 ? *at : 0x2000 + (at[2] & 0x3fu));
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
	putc('"', out);
}

void mf_json_print_text(FILE *out, const char *text)
{
	print_text(out, text, false);
}

void mf_json_print_inert(FILE *out, const char *text)
{
	print_text(out, text, true);
}
