// SPDX-License-Identifier: GPL-2.0
// Reads from /proc/PID/smaps how much of each mapping of a process is resident.

#include "residency/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lines of a mapping that are read. Several lines can count towards one size. */
static const struct {
	const char *name;
	size_t length; /* of the name */
	size_t size;   /* offset of the size in struct mf_smaps_sizes */
} lines[] = {
#define LINE(name, member) { name, sizeof(name) - 1, offsetof(struct mf_smaps_sizes, member) }
	LINE("Rss:", rss),
	LINE("Pss:", pss),
	LINE("Anonymous:", anonymous),
	LINE("Shared_Clean:", shared),
	LINE("Shared_Dirty:", shared),
	LINE("Swap:", swap),
	LINE("AnonHugePages:", huge),
	LINE("ShmemPmdMapped:", huge),
	LINE("FilePmdMapped:", huge),
#undef LINE
};

/*
 * Number of bytes per read(2). For each read, the kernel fills a buffer of one page with the texts of whole mappings, until it
 * has as many bytes as were asked for. If the text of a mapping does not fit into the rest of the buffer, the kernel discards
 * the text, and examines all pages of the mapping again for the next read. To avoid this, ask for so few bytes that there is
 * room for one more mapping, whose text has about 900 bytes and its path.
 */
#define READ_BYTES 2560u

int mf_smaps_open(struct mf_smaps *smaps, pid_t pid)
{
	char path[32];

	*smaps = (struct mf_smaps){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	smaps->fd = open(path, O_RDONLY | O_CLOEXEC);
	return smaps->fd < 0 ? -errno : 0;
}

/* Reads more text. Moves the beginning of a line to the front. Returns false at the end, or if reading fails. */
static bool read_more(struct mf_smaps *smaps)
{
	ssize_t n;

	if (smaps->at)
		memmove(smaps->text, smaps->text + smaps->at, smaps->n - smaps->at);
	smaps->n -= smaps->at;
	smaps->at = 0;
	if (smaps->room - smaps->n < READ_BYTES) {
		size_t room = 2 * (smaps->room + READ_BYTES);
		char *more = realloc(smaps->text, room);

		if (!more)
			return false;
		smaps->text = more;
		smaps->room = room;
	}
	do
		n = read(smaps->fd, smaps->text + smaps->n, READ_BYTES);
	while (n < 0 && errno == EINTR);
	smaps->n += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/*
 * Returns the next line without using it up, or NULL at the end. A newline ends it. The line is valid until more is read, that
 * is, until the next line is peeked at.
 */
static const char *peek(struct mf_smaps *smaps, size_t *length)
{
	size_t seen = 0;

	for (;;) {
		size_t n = smaps->n - smaps->at;
		const char *line = n ? smaps->text + smaps->at : "";
		const char *end = n > seen ? memchr(line + seen, '\n', n - seen) : NULL;

		if (end) {
			*length = (size_t)(end - line);
			return line;
		}
		seen = n;
		if (!read_more(smaps))
			return NULL;
	}
}

/* Uses up the line that peek() has returned. */
static void skip(struct mf_smaps *smaps, size_t length)
{
	smaps->at += length + 1;
}

static uint64_t parse_kib(const char *text)
{
	uint64_t kib = 0;

	while (*text == ' ')
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		kib = 10 * kib + (uint64_t)(*text - '0');
	return kib * 1024;
}

static void take(const char *line, struct mf_smaps_sizes *sizes)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (*line == *lines[i].name && strncmp(line, lines[i].name, lines[i].length) == 0) {
			*(uint64_t *)((char *)sizes + lines[i].size) += parse_kib(line + lines[i].length);
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

/* Keeps the head of a mapping, to which its path points. */
static bool keep_head(struct mf_smaps *smaps, const char *line, size_t length)
{
	if (length >= smaps->head_room) {
		char *more = realloc(smaps->head, 2 * length + 1);

		if (!more)
			return false;
		smaps->head = more;
		smaps->head_room = 2 * length + 1;
	}
	memcpy(smaps->head, line, length);
	smaps->head[length] = '\0';
	return true;
}

/* Reads a mapping. Returns false at the end, or if reading fails. */
static bool read_mapping(struct mf_smaps *smaps, struct mf_smaps_mapping *mapping)
{
	size_t length;
	const char *line = peek(smaps, &length);

	*mapping = (struct mf_smaps_mapping){ 0 };
	if (!line || !keep_head(smaps, line, length) || !mf_proc_mapping_parse(smaps->head, &mapping->map))
		return false;
	skip(smaps, length);
	while ((line = peek(smaps, &length)) && !is_head(line)) {
		take(line, &mapping->sizes);
		skip(smaps, length);
	}
	return true;
}

/* Returns whether there is another mapping, and it begins before @end. */
static bool next_begins_before(struct mf_smaps *smaps, uint64_t end)
{
	size_t length;
	const char *line = peek(smaps, &length);

	return line && strtoull(line, NULL, 16) < end;
}

bool mf_smaps_next(struct mf_smaps *smaps, struct mf_smaps_mapping *mapping)
{
	bool ok = read_mapping(smaps, mapping);

	/* The kernel lists a mapping twice if it grows while it is read: the second time as it is then. */
	while (ok && next_begins_before(smaps, mapping->map.end))
		ok = read_mapping(smaps, mapping);
	return ok;
}

void mf_smaps_close(struct mf_smaps *smaps)
{
	if (smaps->fd >= 0)
		close(smaps->fd);
	free(smaps->text);
	free(smaps->head);
	*smaps = (struct mf_smaps){ .fd = -1 };
}
