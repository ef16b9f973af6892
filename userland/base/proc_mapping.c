// SPDX-License-Identifier: GPL-2.0
// Reads the mappings of a process from /proc/PID/maps.

#include "base/proc_mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int mf_proc_mappings_open(struct mf_proc_mappings *mappings, pid_t pid)
{
	char path[32];

	*mappings = (struct mf_proc_mappings){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)(pid ? pid : getpid()));
	mappings->file = fopen(path, "re");
	return mappings->file ? 0 : -errno;
}

bool mf_proc_mapping_parse(char *line, struct mf_proc_mapping *mapping)
{
	unsigned int major, minor;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
		   mapping->rights, &mapping->offset, &major, &minor, &mapping->inode, &at) != 7 || !at)
		return false;
	mapping->device = (uint64_t)major << 32 | minor;
	mapping->path = line + at;
	return true;
}

bool mf_proc_mappings_next(struct mf_proc_mappings *mappings, struct mf_proc_mapping *mapping)
{
	if (getline(&mappings->line, &mappings->room, mappings->file) < 0)
		return false;
	mappings->line[strcspn(mappings->line, "\n")] = '\0';
	return mf_proc_mapping_parse(mappings->line, mapping);
}

bool mf_proc_mappings_failed(const struct mf_proc_mappings *mappings)
{
	return ferror(mappings->file);
}

void mf_proc_mappings_close(struct mf_proc_mappings *mappings)
{
	if (mappings->file)
		fclose(mappings->file);
	free(mappings->line);
	*mappings = (struct mf_proc_mappings){ 0 };
}
