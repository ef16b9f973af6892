/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Computes what Valgrind's Massif would write if, like massif-ctl, it looked for a peak at the program's end.
 * The end is then an event like any other, whose rules are known (Documentation/model.rst). Shares no code with
 * massif-ctl.
 */
#ifndef MASSIF_SELFTESTS_DIFF_END_H
#define MASSIF_SELFTESTS_DIFF_END_H

#include <stdbool.h>

/*
 * Returns a copy of @theirs, which the caller must free, with a snapshot of the end added if one is due; *@added is set
 * to whether one was added. @theirs is the massif.out file of a program run with @options and with libdiff_end.so
 * preloaded. @end is what that library wrote; NULL if it was not called because the program was killed. In that case,
 * the last snapshot of @theirs is assumed to show the end (which is true unless snapshots were skipped); if it has no
 * tree, the tree is taken from @ours.
 */
char *diff_end_add(const char *theirs, const char *end, const char *ours, const char *const *options,
		   bool *added);

/*
 * Removes from massif-ctl's @log, in place, everything about the snapshot of the end: its line, the line of the skipped
 * snapshots before it, the culling after it, and its part of the counters.
 */
void diff_end_remove_from_log(char *log);

/* Subtracts from the counters in @log the allocation that libdiff_end.so made, which Massif counted as a snapshot. */
void diff_end_uncount(char *log);

#endif
