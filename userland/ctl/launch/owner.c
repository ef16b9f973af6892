// SPDX-License-Identifier: GPL-2.0
// Compares the ids and namespaces of processes, which are in /proc.

#include "owner.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	REAL,
	KINDS = 4, /* real, effective, saved, file system */
};

struct ids {
	unsigned int uids[KINDS], gids[KINDS];
};

/* Reads the ids in @line of /proc/PID/status if it begins with @label. Returns whether it does. */
static bool read_line(const char *line, const char *label, unsigned int ids[KINDS])
{
	size_t length = strlen(label);

	return !strncmp(line, label, length) &&
	       sscanf(line + length, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == KINDS;
}

static bool read_ids(pid_t pid, struct ids *ids)
{
	mf_auto_fclose FILE *status = NULL;
	bool has_uids = false, has_gids = false;
	char line[256];

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	status = fopen(line, "re");
	/* The kernel escapes newlines in the process's name, so the name cannot look like one of these lines. */
	while (status && fgets(line, sizeof(line), status)) {
		has_uids |= read_line(line, "Uid:", ids->uids);
		has_gids |= read_line(line, "Gid:", ids->gids);
	}
	return has_uids && has_gids;
}

enum answer { NO, YES, UNKNOWN };

/* Finds out whether process @pid and process @other, or massif-ctl if it is 0, are in the same namespace of kind @name. */
static enum answer shares_namespace(pid_t pid, pid_t other, const char *name)
{
	struct stat one, two;
	char link[48];

	snprintf(link, sizeof(link), "/proc/%d/ns/%s", (int)pid, name);
	if (stat(link, &one))
		return UNKNOWN;
	snprintf(link, sizeof(link), "/proc/%d/ns/%s", (int)(other ? other : getpid()), name);
	if (stat(link, &two))
		return UNKNOWN;
	return one.st_dev == two.st_dev && one.st_ino == two.st_ino ? YES : NO;
}

bool mf_owner_is_ours(const struct mf_pidproc *process)
{
	unsigned int uid = geteuid(), gid = getegid();
	const struct ids ours = { { uid, uid, uid, uid }, { gid, gid, gid, gid } };
	struct ids theirs;

	return read_ids(process->pid, &theirs) && !memcmp(&theirs, &ours, sizeof(ours)) &&
	       shares_namespace(process->pid, 0, "user") == YES && shares_namespace(process->pid, 0, "mnt") == YES &&
	       mf_pidproc_is_alive(process);
}

bool mf_owner_is_same(pid_t pid, uid_t uid, gid_t gid, pid_t other)
{
	struct ids one, two;

	/* Since the message, process @pid may have executed a set-uid program, but that does not change its real ids. */
	return read_ids(pid, &one) && read_ids(other, &two) && !memcmp(&one, &two, sizeof(one)) &&
	       two.uids[REAL] == uid && two.gids[REAL] == gid && shares_namespace(pid, other, "user") != NO;
}
