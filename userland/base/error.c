// SPDX-License-Identifier: GPL-2.0
// An error as a value: a code for the caller and a message for the user.

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int mf_error_set(struct mf_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}
