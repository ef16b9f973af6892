/* SPDX-License-Identifier: GPL-2.0 */
/* A fatal error, which ends the program: its exit status and its message. */
#ifndef MASSIF_MSPRINT_FAILURE_H
#define MASSIF_MSPRINT_FAILURE_H

#include <stdint.h>

#include "text.h"

/*
 * Exit statuses. Valgrind's ms_print exits with whatever value errno happens to have. These are the values that its
 * users may have seen: the errno of a failed open or read, 25 for a malformed line, 255 if errno was 0. Rely only on
 * whether the status is zero.
 */
enum mf_failure_status {
	MF_FAILURE_WRITE = 1,
	MF_FAILURE_FORMAT = 25,
	MF_FAILURE_OTHER = 255,
};

/* The error, if there was one; otherwise all members are zero. */
struct mf_failure {
	int status;		/* exit status; non-zero after an error */
	struct mf_text words;	/* the complete message, with newlines */
};

void mf_failure_deinit(struct mf_failure *failure);

/* Sets status and message. Always returns -EINVAL, so that the caller can return the result. */
int mf_failure_set(struct mf_failure *failure, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Like mf_failure_set(), for an error in the file @path at @line (0 for no particular line). Prefixes the message with
 * both and appends a newline.
 */
int mf_failure_set_in(struct mf_failure *failure, const char *path, uint64_t line, int status,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Appends raw bytes of the input to the message. */
void mf_failure_quote(struct mf_failure *failure, const char *bytes, size_t len);

#endif
