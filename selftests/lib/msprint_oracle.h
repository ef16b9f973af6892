/* SPDX-License-Identifier: GPL-2.0 */
/* Runs both our ms_print and the one from Debian's valgrind package, so that their output can be compared. */
#ifndef MASSIF_SELFTESTS_MSPRINT_ORACLE_H
#define MASSIF_SELFTESTS_MSPRINT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#define MSPRINT_REFERENCE "/usr/bin/ms_print"

/* Returns the reason why our ms_print cannot be compared with Valgrind's on this machine, or NULL if it can. */
const char *msprint_missing(void);

/* Returns the absolute path of our ms_print in $MASSIF_BUILD. */
const char *msprint_ours(void);

struct msprint_run {
	int status;	/* exit status; 1000 + the signal that ended it; -1 if not started */
	char *out;	/* standard output: out_len bytes and a terminating NUL */
	size_t out_len;
	char *err;	/* standard error: err_len bytes and a terminating NUL */
	size_t err_len;
};

/*
 * Runs a program in the current directory and collects its output in memory. @args is NULL-terminated and does not
 * include the program's name. Standard input is /dev/null. Address space and CPU time are limited, because Debian's
 * ms_print could otherwise exhaust the machine.
 */
struct msprint_run msprint_run(const char *program, const char *const *args);
void msprint_run_free(struct msprint_run *run);

#define MSPRINT_RUN_AUTO __attribute__((cleanup(msprint_run_free))) struct msprint_run

/*
 * Runs our ms_print and Debian's, and compares their standard output and whether they succeed. If both reject a file,
 * our ms_print must print nothing, but Debian's may already have printed something. The first difference is printed as
 * a comment. Unless @status is NULL, *@status is set to the exit status of our ms_print.
 */
bool msprint_same(const char *const *args, int *status);

#endif
