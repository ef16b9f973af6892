/* SPDX-License-Identifier: GPL-2.0 */
/* Runs our ms_print and the one that Debian's valgrind package brings, for comparison. */
#ifndef MF_SELFTESTS_MSPRINT_ORACLE_H
#define MF_SELFTESTS_MSPRINT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#define MSPRINT_REFERENCE "/usr/bin/ms_print"

/* Why a test that compares cannot run here, or NULL if it can. */
const char *msprint_missing(void);

/* Absolute path of ours, in $MASSIF_BUILD. */
const char *msprint_ours(void);

struct msprint_run {
	int status;	/* exit status; 1000 + the signal that ended it; -1 if not started */
	char *out;	/* standard output, with a NUL after its out_len bytes */
	size_t out_len;
	char *err;	/* the same for standard error */
	size_t err_len;
};

/*
 * Runs a program with these arguments (NULL-terminated, without the name) in the current
 * directory. Both outputs go to memory. Its address space and its CPU time are limited, so that
 * the reference cannot take the machine with it. Standard input is /dev/null.
 */
struct msprint_run msprint_run(const char *program, const char *const *args);
void msprint_run_free(struct msprint_run *run);

#define MSPRINT_RUN_AUTO __attribute__((cleanup(msprint_run_free))) struct msprint_run

/*
 * Runs both and compares standard output, and whether the status is zero; a file that is refused must
 * have no output of ours, where the reference may have begun. Tells the first difference on standard
 * output, as a comment. *status, if not NULL, is our status.
 */
bool msprint_same(const char *const *args, int *status);

#endif
