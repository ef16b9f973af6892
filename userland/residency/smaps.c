// SPDX-License-Identifier: GPL-2.0
// Reads from /proc/PID/smaps how much of each mapping of a process is resident.

#include "residency/smaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The lines of a mapping that are read. Several lines can count towards one size. */
static const struct {
	const char *name;
	size_t size; /* offset of the size in struct mf_smaps_sizes */
} lines[] = {
	{ "Rss:", offsetof(struct mf_smaps_sizes, rss) },
	{ "Pss:", offsetof(struct mf_smaps_sizes, pss) },
	{ "Anonymous:", offsetof(struct mf_smaps_sizes, anonymous) },
	{ "Shared_Clean:", offsetof(struct mf_smaps_sizes, shared) },
	{ "Shared_Dirty:", offsetof(struct mf_smaps_sizes, shared) },
	{ "Swap:", offsetof(struct mf_smaps_sizes, swap) },
	{ "AnonHugePages:", offsetof(struct mf_smaps_sizes, huge) },
	{ "ShmemPmdMapped:", offsetof(struct mf_smaps_sizes, huge) },
	{ "FilePmdMapped:", offsetof(struct mf_smaps_sizes, huge) },
};

int mf_smaps_open(struct mf_smaps *smaps, pid_t pid)
{
	char path[32];

	*smaps = (struct mf_smaps){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	smaps->file = fopen(path, "re");
	return smaps->file ? 0 : -errno;
}

static bool read_line(struct mf_smaps *smaps)
{
	if (getline(&smaps->line, &smaps->line_room, smaps->file) < 0)
		return false;
	smaps->line[strcspn(smaps->line, "\n")] = '\0';
	return true;
}

static void take(const char *line, struct mf_smaps_sizes *sizes)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t length = strlen(lines[i].name);

		if (strncmp(line, lines[i].name, length) == 0) {
			*(uint64_t *)((char *)sizes + lines[i].size) += strtoull(line + length, NULL, 10) * 1024;
			return;
		}
	}
}

/*
 * Only the head of a mapping begins with an address, in lower-case hexadecimal digits; the other lines begin with a word
 * in capitals.
 */
static bool is_head(const char *line)
{
	return (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
}

/*
 * Reads a mapping. Sets @smaps->ahead if the head of the next one has been read. Returns false at the end, or if reading
 * fails.
 */
static bool read_mapping(struct mf_smaps *smaps, struct mf_smaps_mapping *mapping)
{
	size_t room;
	char *line;

	*mapping = (struct mf_smaps_mapping){ 0 };
	if (!smaps->ahead && !read_line(smaps))
		return false;
	smaps->ahead = false;
	/* Keep the head, to which the path of the mapping points, and read the other lines into the other buffer. */
	line = smaps->line;
	room = smaps->line_room;
	smaps->line = smaps->head;
	smaps->line_room = smaps->head_room;
	smaps->head = line;
	smaps->head_room = room;
	if (!mf_proc_mapping_parse(smaps->head, &mapping->map))
		return false;
	while (read_line(smaps)) {
		if (is_head(smaps->line)) {
			smaps->ahead = true;
			break;
		}
		take(smaps->line, &mapping->sizes);
	}
	return true;
}

/* Returns whether the head that has been read is that of a mapping which begins before @end. */
static bool begins_before(const struct mf_smaps *smaps, uint64_t end)
{
	return smaps->ahead && strtoull(smaps->line, NULL, 16) < end;
}

bool mf_smaps_next(struct mf_smaps *smaps, struct mf_smaps_mapping *mapping)
{
	bool ok = read_mapping(smaps, mapping);

	/* The kernel lists a mapping twice if it grows while it is read: the second time as it is then. */
	while (ok && begins_before(smaps, mapping->map.end))
		ok = read_mapping(smaps, mapping);
	return ok;
}

void mf_smaps_close(struct mf_smaps *smaps)
{
	if (smaps->file)
		fclose(smaps->file);
	free(smaps->line);
	free(smaps->head);
	*smaps = (struct mf_smaps){ 0 };
}
