// SPDX-License-Identifier: GPL-2.0
// Records a fatal error, which ends the program.

#include "failure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void mf_failure_deinit(struct mf_failure *failure)
{
	mf_text_deinit(&failure->words);
	failure->status = 0;
}

/* Sets the message to @words and frees @words. NULL means that there was no memory for a message. */
static int set(struct mf_failure *failure, int status, char *words)
{
	failure->status = status;
	failure->words.len = 0;
	mf_text_append_string(&failure->words, words ?: "ms_print: out of memory\n");
	free(words);
	return -EINVAL;
}

int mf_failure_set(struct mf_failure *failure, int status, const char *format, ...)
{
	char *words = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	va_end(args);
	return set(failure, status, words);
}

int mf_failure_set_in(struct mf_failure *failure, const char *path, uint64_t line, int status,
		      const char *format, ...)
{
	char *words = NULL, *what = NULL, place[32] = "";
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	if (line)
		snprintf(place, sizeof(place), "line %" PRIu64 ": ", line);
	if (what && asprintf(&words, "ms_print: %s: %s%s\n", path, place, what) < 0)
		words = NULL;
	free(what);
	return set(failure, status, words);
}

void mf_failure_quote(struct mf_failure *failure, const char *bytes, size_t len)
{
	mf_text_append(&failure->words, bytes, len);
}
