/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a program under Valgrind's Massif and under massif-ctl, and compares the files. */
#ifndef MASSIF_SELFTESTS_DIFF_RUN_H
#define MASSIF_SELFTESTS_DIFF_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define DIFF_WORDS_MAX 20

/*
 * Both profilers run with --time-unit=B. Valgrind also gets --run-libc-freeres=no, because libraries do not free their
 * memory at exit under massif-ctl either. At the end, massif-ctl always checks for a peak, whereas Valgrind does so
 * only if something is freed (Documentation/differences.rst). So, under Valgrind, libdiff_end.so is preloaded to record
 * the state at the end, and diff_end.h adds a snapshot of that state to Valgrind's file before the comparison.
 */
struct diff_scenario {
	const char *target;		     /* a program of selftests/targets */
	const char *args[DIFF_WORDS_MAX];    /* arguments of the target */
	const char *options[DIFF_WORDS_MAX]; /* options of both profilers */

	bool log; /* also compare the logs printed with -v and --stats=yes */

	/*
	 * For scenarios in which the files of the two profilers must differ: the reason. At least one of the following
	 * members must then be set; each describes a difference. The files must be equal if these differences are taken
	 * into account, and must differ otherwise.
	 */
	const char *why;
	/* arguments for the target under Valgrind, if they must differ so that Valgrind's file matches massif-ctl's */
	const char *their_args[DIFF_WORDS_MAX];
	/* options for Valgrind, if they must differ from massif-ctl's so that Valgrind's file matches massif-ctl's */
	const char *their_options[DIFF_WORDS_MAX];
	const char *their_library; /* library preloaded under Valgrind, so that Valgrind's file matches massif-ctl's */
	bool they_have_none; /* Valgrind writes no file, so there is nothing to compare with */
	bool options_are_new; /* Valgrind 3.19 does not know the scenario's options, so it is not run with them */
	/*
	 * In each snapshot, mem_heap_extra_B may be up to @more_extra higher in Valgrind's file than in massif-ctl's,
	 * or up to @fewer_extra lower. If one of the two is not 0, times are not compared, because times in bytes
	 * include the extra bytes.
	 */
	uint64_t more_extra, fewer_extra;
	uint64_t more_heap_at_end; /* Valgrind's last snapshot has this many more heap bytes than massif-ctl's */
	/* If massif-ctl's description of a frame contains this text, Valgrind prints ??? instead of a description. */
	const char *their_unnamed;
};

/* Returns whether Valgrind is installed. If it is not, tests that run it must be skipped. */
bool diff_can_run(void);

/* Runs @scenario in the current directory. Returns false, with a message on stderr, if it fails. */
bool diff_run(const struct diff_scenario *scenario);

#endif
