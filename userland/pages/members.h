/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The members of the session: the processes that the module follows, by process id. A process remains a member when it
 * executes another program.
 */
#ifndef MASSIF_PAGES_MEMBERS_H
#define MASSIF_PAGES_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The process ids of all members. Zero-initialise the structure. */
struct mf_members {
	pid_t *pids;
	size_t count, room;
};

void mf_members_deinit(struct mf_members *members);

/* Adds @pid. Returns 0, even if it was already a member, or -ENOMEM. */
int mf_members_add(struct mf_members *members, pid_t pid);
void mf_members_remove(struct mf_members *members, pid_t pid);

/* Returns whether @pid is a member. */
bool mf_members_has(const struct mf_members *members, pid_t pid);

#endif
