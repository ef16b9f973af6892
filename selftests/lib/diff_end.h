/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a file of Valgrind's Massif would be if it looked for a peak at the program's end, as we do: then the
 * end is an event like any other, and the rules are known (Documentation/model.rst). Shares no code with ours.
 */
#ifndef SELFTESTS_LIB_DIFF_END_H
#define SELFTESTS_LIB_DIFF_END_H

#include <stdbool.h>

/*
 * @theirs is a massif.out file of a program that was run with @options and libdiff_end.so preloaded, @end what
 * that wrote, or NULL if it was not called: the program was killed. Then the last of @theirs is taken for the
 * end, which it is unless snapshots were left out, and its tree, if it has none, from @ours. Returns a
 * text to be freed; *@added: it has a snapshot more.
 */
char *diff_end_add(const char *theirs, const char *end, const char *ours, const char *const *options,
		   bool *added);

/*
 * Takes out of @log, in place, what ours says of the snapshot of the end: its line, that of the attempts that were
 * skipped before, and a culling that followed. And from the sums.
 */
void diff_end_remove_from_log(char *log);

/* Takes what libdiff_end.so wrote out of the sums in @log: Massif counts it as a snapshot. */
void diff_end_uncount(char *log);

#endif
