// SPDX-License-Identifier: GPL-2.0
// The members of the session: the processes that the module follows.

#include "pages/members.h"

#include <errno.h>
#include <stdlib.h>

/* A linear search suffices: there are few members, since processes that exit are removed. */
static size_t find(const struct mf_members *members, pid_t pid)
{
	size_t i = 0;

	while (i < members->count && members->pids[i] != pid)
		i++;
	return i;
}

void mf_members_deinit(struct mf_members *members)
{
	free(members->pids);
	*members = (struct mf_members){0};
}

int mf_members_add(struct mf_members *members, pid_t pid)
{
	size_t room = members->room ? 2 * members->room : 16;
	pid_t *pids;

	if (mf_members_has(members, pid))
		return 0;
	if (members->count == members->room) {
		pids = realloc(members->pids, room * sizeof(*pids));
		if (!pids)
			return -ENOMEM;
		members->pids = pids;
		members->room = room;
	}
	members->pids[members->count++] = pid;
	return 0;
}

void mf_members_remove(struct mf_members *members, pid_t pid)
{
	size_t i = find(members, pid);

	if (i < members->count)
		members->pids[i] = members->pids[--members->count];
}

bool mf_members_has(const struct mf_members *members, pid_t pid)
{
	return find(members, pid) < members->count;
}
