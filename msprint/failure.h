/* SPDX-License-Identifier: GPL-2.0 */
/* Why the program ends early: its exit status and its words. */
#ifndef MF_MSPRINT_FAILURE_H
#define MF_MSPRINT_FAILURE_H

#include <stdint.h>

#include "text.h"

/*
 * Exit statuses. The reference ends with whatever errno is left over; the values that callers
 * can have seen are kept: an errno for a file that cannot be opened or read, 25 for a line that
 * is wrong, 255 where nothing was left over. Only zero or not is a promise.
 */
enum mf_failure_status {
	MF_FAILURE_WRITE = 1,
	MF_FAILURE_FORMAT = 25,
	MF_FAILURE_OTHER = 255,
};

/* All zero is "no failure". */
struct mf_failure {
	int status;		/* exit status, never 0 once set */
	struct mf_text words;	/* complete, with newlines */
};

void mf_failure_deinit(struct mf_failure *failure);

/* Sets the status and replaces the words; returns -EINVAL, so that callers can return it. */
int mf_failure_set(struct mf_failure *failure, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same for something that is wrong with the file @path, in @line (0: in no line of its own). The
 * words begin with both, and a newline is added.
 */
int mf_failure_set_in(struct mf_failure *failure, const char *path, uint64_t line, int status,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds raw bytes of the input to the words. */
void mf_failure_quote(struct mf_failure *failure, const char *bytes, size_t len);

#endif
