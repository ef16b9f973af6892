// SPDX-License-Identifier: GPL-2.0
// Prints strings for JSON.

#include "report/json_text.h"

#include <stddef.h>

#include "base/utf8.h"

void mf_json_print_text(FILE *out, const char *text)
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
		else if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
	}
	putc('"', out);
}
