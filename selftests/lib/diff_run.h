/* SPDX-License-Identifier: GPL-2.0 */
/* Runs one program under Valgrind's Massif and under ours, and compares what they wrote. */
#ifndef SELFTESTS_LIB_DIFF_RUN_H
#define SELFTESTS_LIB_DIFF_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define DIFF_WORDS_MAX 20

/*
 * Both profilers always get --time-unit=B. Valgrind also gets --run-libc-freeres=no and libdiff_end.so: the
 * memory that a library would free at the very end, if asked to, we leave as the program does without a
 * profiler. But we look for a peak there, and Valgrind, if nothing is freed, does not
 * (Documentation/differences.rst): so its file is compared with that of the end added, see diff_end.h.
 */
struct diff_scenario {
	const char *target;		     /* of selftests/targets */
	const char *args[DIFF_WORDS_MAX];    /* of the target */
	const char *options[DIFF_WORDS_MAX]; /* of both profilers */

	bool log; /* what both say of their work, with -v and --stats=yes, is the same, too */

	/*
	 * Where the two must differ: why, and at least one of the ways in which they do. Then the
	 * files must not be equal, but for what is said here they must.
	 */
	const char *why;
	const char *their_args[DIFF_WORDS_MAX];	   /* with these, Valgrind's file is as ours */
	const char *their_options[DIFF_WORDS_MAX]; /* the same, for options */
	const char *their_library;		   /* the same, for a shared object to preload */
	bool they_have_none; /* Valgrind leaves no file: there is nothing to differ from */
	bool options_are_new; /* Valgrind 3.19 has not got them: there is nothing to differ from */
	/* Valgrind counts up to that many more, or fewer, extra bytes, and times follow. */
	uint64_t more_extra, fewer_extra;
	uint64_t more_heap_at_end; /* bytes that Valgrind's last snapshot has more */
	const char *their_unnamed; /* what ours describes with these words, Valgrind calls ??? */
};

/* Whether there is something to compare with; if not, a test is to be skipped. */
bool diff_can_run(void);

/* Runs @scenario in the current directory. Returns false, with a text on stderr, if it fails. */
bool diff_run(const struct diff_scenario *scenario);

#endif
