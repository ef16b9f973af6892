/* SPDX-License-Identifier: GPL-2.0 */
/* Detects that a process executes another program. */
#ifndef MASSIF_CTL_EXEC_WATCH_H
#define MASSIF_CTL_EXEC_WATCH_H

#include <sys/stat.h>
#include <sys/types.h>

struct mf_exec_watch {
	pid_t pid;
	struct stat image; /* the file that the process was last seen to execute */
	int period_ms;	   /* milliseconds until the next check; -1: cannot be checked */
	char *replaced_by; /* path of that file if it is not the first program; otherwise NULL; owned */
};

/*
 * Starts watching @pid. @path is the program that it executed first and may have left since; NULL: the present
 * one.
 */
void mf_exec_watch_init(struct mf_exec_watch *watch, pid_t pid, const char *path);
void mf_exec_watch_deinit(struct mf_exec_watch *watch);

/*
 * Checks once. The interval grows from 2 ms to 500 ms, because wrapper scripts execute their program early. A
 * program that runs for less than one interval may be missed.
 */
void mf_exec_watch_look(struct mf_exec_watch *watch);

#endif
