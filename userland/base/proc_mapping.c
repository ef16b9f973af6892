// SPDX-License-Identifier: GPL-2.0
// Reads the mappings of a process from /proc/PID/maps.

#include "base/proc_mapping.h"

#include <ctype.h>
#include <errno.h>
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

/* Reads a number that is followed by @after, or ends the line. Returns what is behind it, or NULL. */
static char *parse_number(char *text, int base, char after, uint64_t *number)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return NULL;
	*number = strtoull(text, &end, base);
	return *end == after ? end + 1 : *end ? NULL : end;
}

/* This is not sscanf(), which takes several times as long: a process can have thousands of mappings. */
bool mf_proc_mapping_parse(char *line, struct mf_proc_mapping *mapping)
{
	uint64_t major, minor;

	line = parse_number(line, 16, '-', &mapping->start);
	line = line ? parse_number(line, 16, ' ', &mapping->end) : NULL;
	if (!line || strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	memcpy(mapping->rights, line, 4);
	mapping->rights[4] = '\0';
	line = parse_number(line + 5, 16, ' ', &mapping->offset);
	line = line ? parse_number(line, 16, ':', &major) : NULL;
	line = line ? parse_number(line, 16, ' ', &minor) : NULL;
	line = line ? parse_number(line, 10, ' ', &mapping->inode) : NULL;
	if (!line)
		return false;
	mapping->device = major << 32 | minor;
	mapping->path = line + strspn(line, " ");
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
