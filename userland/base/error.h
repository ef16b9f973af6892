/* SPDX-License-Identifier: GPL-2.0 */
/* An error as a value: a code for the caller and a message for the user. */
#ifndef MASSIF_BASE_ERROR_H
#define MASSIF_BASE_ERROR_H

struct mf_error {
	char text[1024]; /* message for the user: what is wrong, where, and what to do about it; no trailing newline */
};

/*
 * Fills @err (may be NULL) and returns @code, a negative errno, so that a caller can write
 * `return mf_error_set(err, -EINVAL, ...)`.
 */
int mf_error_set(struct mf_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
