// SPDX-License-Identifier: GPL-2.0
// What a process's memory has of ours, by /proc/PID/maps.

#include "ctl/sight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum mf_sight mf_sight_of(pid_t pid)
{
	mf_auto_fclose FILE *maps = NULL;
	mf_auto_free char *line = NULL;
	enum mf_sight sight = MF_SIGHT_ENDING;
	char path[32];
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return errno == ENOENT || errno == ESRCH ? MF_SIGHT_ENDING : MF_SIGHT_UNKNOWN;
	while (getline(&line, &room, maps) >= 0) {
		if (strstr(line, "/memfd:massif-session"))
			return MF_SIGHT_OURS;
		sight = MF_SIGHT_OTHER;
	}
	return ferror(maps) ? MF_SIGHT_UNKNOWN : sight;
}
