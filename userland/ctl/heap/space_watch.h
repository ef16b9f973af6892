/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports that a process's address space is gone: the process has ended or executed another program.
 *
 * Each watched process maps a page of an unnamed file that is not open anywhere else. When the last mapping goes away,
 * the kernel closes that file, and inotify reports it. A pidfd would not report an exec, and a socket or pipe would
 * need a descriptor in the process.
 */
#ifndef MASSIF_CTL_SPACE_WATCH_H
#define MASSIF_CTL_SPACE_WATCH_H

#include <stdbool.h>

#include "protocol/join.h"

/* A watched address space; zero-initialise it. */
struct mf_space {
	/*
	 * massif-ctl's mapping of the page that it shares with the process, or NULL; remains valid after the process's
	 * address space is gone
	 */
	struct mf_join_page *page;
	int number; /* the inotify watch descriptor; 0 if the address space is not watched, or is no longer watched */
};

/* Opens an inotify descriptor without watches. Returns it, or -errno; users have a limited number of them. */
int mf_space_watch_open(void);

/*
 * Starts to watch the address space of a process. The watch relies on a page that the process maps. Returns the page's
 * descriptor, which the caller passes to the process and closes; the process maps the page and closes its copy of the
 * descriptor. If the page or the watch cannot be created, returns -errno, and @space stays empty.
 */
int mf_space_watch_add(int inotify, struct mf_space *space);

/*
 * Returns the @number of a watched address space (struct mf_space) that no longer exists, or 0 if there is none at
 * present. Returns a negative number if some reports were lost, in which case any of the watched address spaces may be
 * gone.
 */
int mf_space_watch_next(int inotify);

/* Stops watching the address space, if it is watched, and unmaps the page that massif-ctl shares with the process. */
void mf_space_forget(struct mf_space *space);

/* Returns whether the process has announced that it is about to execute another program (or has done so). */
bool mf_space_executes(const struct mf_space *space);

/* Returns whether the process has announced that it will continue without a profile. */
bool mf_space_is_without(const struct mf_space *space);

#endif
