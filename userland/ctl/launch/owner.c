// SPDX-License-Identifier: GPL-2.0
// Decides whether a process belongs to a user, from its ids and namespaces in /proc.

#include "owner.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { IDS = 4 }; /* real, effective, saved, file system */

/* Returns whether all ids in @line of /proc/PID/status, which begins with @label, are @id. */
static bool all_are(const char *line, const char *label, unsigned int id)
{
	unsigned int ids[IDS];
	size_t length = strlen(label);

	return !strncmp(line, label, length) &&
	       sscanf(line + length, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == IDS &&
	       ids[0] == id && ids[1] == id && ids[2] == id && ids[3] == id;
}

bool mf_owner_is(pid_t pid, uid_t uid, gid_t gid)
{
	mf_auto_fclose FILE *status = NULL;
	bool has_uid = false, has_gid = false;
	char line[256];

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	status = fopen(line, "re");
	/* The kernel escapes newlines in the process's name, so the name cannot look like one of these lines. */
	while (status && fgets(line, sizeof(line), status)) {
		has_uid |= all_are(line, "Uid:", uid);
		has_gid |= all_are(line, "Gid:", gid);
	}
	return has_uid && has_gid;
}

/* Returns whether process @pid and massif-ctl are in the same namespace of kind @name; false if unknown. */
static bool shares_namespace(pid_t pid, const char *name)
{
	struct stat theirs, ours;
	char link[48];

	snprintf(link, sizeof(link), "/proc/%d/ns/%s", (int)pid, name);
	if (stat(link, &theirs))
		return false;
	snprintf(link, sizeof(link), "/proc/self/ns/%s", name);
	return !stat(link, &ours) && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

bool mf_owner_is_ours(const struct mf_pidproc *process)
{
	return mf_owner_is(process->pid, geteuid(), getegid()) && shares_namespace(process->pid, "user") &&
	       shares_namespace(process->pid, "mnt") && mf_pidproc_is_alive(process);
}
