/* SPDX-License-Identifier: GPL-2.0 */
/* Notices that a process executes another program. */
#ifndef MASSIF_CTL_IMAGE_WATCH_H
#define MASSIF_CTL_IMAGE_WATCH_H

#include <sys/stat.h>
#include <sys/types.h>

struct mf_exec_watch {
	pid_t pid;
	struct stat image; /* the file that it was last seen to execute */
	int period_ms;	   /* until one should look again; -1: it cannot be seen */
	char *replaced_by; /* path of that file, if it was another before; NULL: none was. Owned */
};

/* @path is what @pid executed first: by now it may be another. NULL: what it executes now. */
void mf_exec_watch_init(struct mf_exec_watch *watch, pid_t pid, const char *path);
void mf_exec_watch_deinit(struct mf_exec_watch *watch);

/*
 * Looks. Often at first and then less so: a wrapper script executes its program soon. What does not
 * live as long again as before that is not noticed.
 */
void mf_exec_watch_look(struct mf_exec_watch *watch);

#endif
