// SPDX-License-Identifier: GPL-2.0
// Errors in the shim carry only a code, because formatting a message needs the C library's printf().

#include "base/error.h"

int mf_error_set(struct mf_error *err, int code, const char *format, ...)
{
	return code;
}
