// SPDX-License-Identifier: GPL-2.0
// Why the program ends early.

#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void mf_failure_deinit(struct mf_failure *failure)
{
	mf_text_deinit(&failure->words);
	failure->status = 0;
}

int mf_failure_set(struct mf_failure *failure, int status, const char *format, ...)
{
	char *words = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	va_end(args);
	failure->status = status;
	failure->words.len = 0;
	mf_text_append_string(&failure->words, words ?: "out of memory\n");
	free(words);
	return -EINVAL;
}

void mf_failure_quote(struct mf_failure *failure, const char *bytes, size_t len)
{
	mf_text_append(&failure->words, bytes, len);
}
