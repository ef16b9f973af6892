/* SPDX-License-Identifier: GPL-2.0 */
/* Detects when a process executes another program. */
#ifndef MASSIF_CTL_EXEC_WATCH_H
#define MASSIF_CTL_EXEC_WATCH_H

#include <sys/stat.h>
#include <sys/types.h>

struct mf_exec_watch {
	pid_t pid;
	struct stat image; /* the file that the process was executing when last checked */
	int period_ms;	   /* milliseconds until the next check, or -1 if the process cannot be checked */
	/* path of the program executed last; NULL if the process still executes its first program; owned */
	char *replaced_by;
};

/*
 * Starts watching @pid for execs. @path is the program with which the process was started, even if it has since
 * executed another one; NULL means the program that it is executing now.
 */
void mf_exec_watch_init(struct mf_exec_watch *watch, pid_t pid, const char *path);
void mf_exec_watch_deinit(struct mf_exec_watch *watch);

/*
 * Checks once whether the process has executed another program, and sets the interval until the next check. The
 * interval starts at 2 ms, because wrapper scripts call exec soon after they start, and grows to 500 ms. A program that
 * runs for less than one interval may be missed.
 */
void mf_exec_watch_look(struct mf_exec_watch *watch);

#endif
