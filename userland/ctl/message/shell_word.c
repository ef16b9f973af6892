// SPDX-License-Identifier: GPL-2.0
// Quotes words of commands that a message proposes.

#include "shell_word.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of other alphabets, which are 0x80 and above, mean nothing to a shell. */
static bool is_plain(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("_./+-,:@%", c));
}

static bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

char *mf_shell_word(const char *path)
{
	bool plain = *path, control = false;
	char *word = NULL;
	size_t size;
	FILE *out;

	for (const char *at = path; *at; at++) {
		plain = plain && is_plain((unsigned char)*at);
		control = control || is_control((unsigned char)*at);
	}
	out = open_memstream(&word, &size);
	if (!out)
		return NULL;
	if (!plain)
		fputs(control ? "$'" : "'", out);
	if (*path == '-')
		fputs("./", out);
	for (const char *at = path; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (is_control(c))
			fprintf(out, "\\%03o", c);
		else if (control && (c == '\'' || c == '\\'))
			fprintf(out, "\\%c", c);
		else if (c == '\'')
			fputs("'\\''", out);
		else
			putc(c, out);
	}
	if (!plain)
		putc('\'', out);
	if (fclose(out)) {
		free(word);
		return NULL;
	}
	return word;
}
