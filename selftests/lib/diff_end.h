/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Computes what Valgrind's Massif would write if, like massif-ctl, it checked for a peak at the program's end. The end
 * is then an event like any other, and follows the rules in Documentation/model.rst. Shares no code with massif-ctl.
 */
#ifndef MASSIF_SELFTESTS_DIFF_END_H
#define MASSIF_SELFTESTS_DIFF_END_H

#include <stdbool.h>

/*
 * @theirs is the massif.out file of a program that ran with @options and with libdiff_end.so preloaded. Returns a copy
 * of it, which the caller must free. If a peak check at the program's end would have taken a snapshot, that snapshot is
 * added to the copy and *@added is set to true. @end is what libdiff_end.so wrote, or NULL if the library was not
 * called because the program was killed. If @end is NULL, the last snapshot of @theirs is assumed to show the end,
 * which is true unless snapshots were skipped. If that snapshot has no tree, the tree is taken from @ours.
 */
char *diff_end_add(const char *theirs, const char *end, const char *ours, const char *const *options,
		   bool *added);

/*
 * Removes everything about the snapshot at the program's end from massif-ctl's @log, in place: the snapshot's line, the
 * preceding line about skipped snapshots, and any lines about a culling after the snapshot. Also subtracts the snapshot
 * and this culling from the counters in the log.
 */
void diff_end_remove_from_log(char *log);

/*
 * Subtracts the detailed snapshot that libdiff_end.so requested at the program's end from the snapshot counts in
 * Massif's @log.
 */
void diff_end_uncount(char *log);

#endif
