/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program under Valgrind's Massif and under massif-ctl, and compares the files. */
#ifndef MASSIF_SELFTESTS_DIFF_RUN_H
#define MASSIF_SELFTESTS_DIFF_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define DIFF_WORDS_MAX 20

/*
 * Both profilers run with --time-unit=B. Valgrind also gets --run-libc-freeres=no, because massif-ctl does not have
 * libraries free their memory at the end either, and libdiff_end.so. That library records the state at the end, where
 * massif-ctl looks for a peak, but Valgrind does so only if something is freed (Documentation/differences.rst).
 * Valgrind's file is compared after that end was added, see diff_end.h.
 */
struct diff_scenario {
	const char *target;		     /* a program of selftests/targets */
	const char *args[DIFF_WORDS_MAX];    /* arguments of the target */
	const char *options[DIFF_WORDS_MAX]; /* options of both profilers */

	bool log; /* also compare the logs printed with -v and --stats=yes */

	/*
	 * For scenarios where the two must differ: the reason, and at least one of the following differences. If the
	 * differences are ignored, the files must differ; if they are taken into account, the files must be equal.
	 */
	const char *why;
	const char *their_args[DIFF_WORDS_MAX];	   /* Valgrind's file equals ours if run with these arguments */
	const char *their_options[DIFF_WORDS_MAX]; /* Valgrind's file equals ours if run with these options */
	const char *their_library;		   /* Valgrind's file equals ours if this library is preloaded */
	bool they_have_none; /* Valgrind writes no file to compare with */
	bool options_are_new; /* Valgrind 3.19 does not have these options */
	/* Valgrind counts up to this many more or fewer extra bytes; times differ accordingly. */
	uint64_t more_extra, fewer_extra;
	uint64_t more_heap_at_end; /* Valgrind's last snapshot has this many more heap bytes than ours */
	const char *their_unnamed; /* Valgrind prints ??? where our description contains these words */
};

/* Returns whether Valgrind is available; if not, tests are skipped. */
bool diff_can_run(void);

/* Runs @scenario in the current directory. Returns false, with a message on stderr, if it fails. */
bool diff_run(const struct diff_scenario *scenario);

#endif
