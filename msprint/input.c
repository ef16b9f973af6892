// SPDX-License-Identifier: GPL-2.0
// Reads the input file line by line.

#include "input.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expand.h"
#include "failure.h"
#include "memory.h"

/* Small enough for the private cache of a core, large enough to make system calls rare. */
#define BUFFER (256 * 1024)

static int fail_read(const char *path, int error, struct mf_failure *failure)
{
	/*
	 * Valgrind's ms_print takes a failed read for the end of the file, so it may print part of a profile as though
	 * it were complete. If it does notice the error, its exit status is the same as ours.
	 */
	return mf_failure_set_in(failure, path, 0, error, "cannot be read: %s", strerror(error));
}

/* Copies the file to anonymous memory, decompressing it if necessary. From then on, reads the copy. */
static int copy_to_memory(struct mf_input *input, const char **why)
{
	int copy = memfd_create("ms_print", MFD_CLOEXEC);
	int ret;

	if (copy < 0)
		return -errno;
	ret = mf_expand(input->fd, copy, why);
	close(input->fd);
	input->fd = copy;
	if (!ret && lseek(copy, 0, SEEK_SET) < 0)
		ret = -errno;
	return ret;
}

/* File formats that users may mistake for massif.out files, with the first bytes of each. */
static const struct {
	const char *beginning, *what;
} others[] = {
	{ "# callgrind format", "this is a file for callgrind_annotate(1) and KCachegrind; an execution "
	  "tree that ms_print reads has .ms in its name (--xtree-memory-file=NAME.ms)" },
	{ "\177ELF", "this is a program or library, not a massif.out file" },
	{ "heaptrack", "this is a heaptrack file; use heaptrack_print(1)" },
};

/* Fails with an explanation if the beginning of the file shows that it is not a profile. */
static int recognise(const struct mf_input *input, struct mf_failure *failure)
{
	char start[64];
	ssize_t got = pread(input->fd, start, sizeof(start), 0);

	if (got < 0)
		return fail_read(input->path, errno, failure);
	if (!got)
		return mf_failure_set_in(failure, input->path, 0, MF_FAILURE_OTHER,
					 "the file is empty");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t length = strlen(others[i].beginning);

		if ((size_t)got >= length && !memcmp(start, others[i].beginning, length))
			return mf_failure_set_in(failure, input->path, 0, MF_FAILURE_FORMAT, "%s",
						 others[i].what);
	}
	return 0;
}

int mf_input_open(struct mf_input *input, const char *path, struct mf_failure *failure)
{
	const char *why = NULL;
	struct stat status;
	int ret = 0;

	*input = (struct mf_input){ .path = path };
	input->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (input->fd < 0)
		return mf_failure_set_in(failure, path, 0, errno, "cannot be opened: %s",
					 strerror(errno));
	mf_memory_grow((void **)&input->data, &input->room, BUFFER, 1);
	if (fstat(input->fd, &status))
		ret = -errno;
	else if (!S_ISREG(status.st_mode) || mf_expand_is_needed(input->fd))
		ret = copy_to_memory(input, &why);
	if (why)
		return mf_failure_set_in(failure, path, 0, MF_FAILURE_FORMAT, "%s", why);
	if (ret)
		return fail_read(path, -ret, failure);
	return recognise(input, failure);
}

void mf_input_close(struct mf_input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	free(input->data);
	*input = (struct mf_input){ .fd = -1 };
}

struct mf_place mf_input_tell(const struct mf_input *input)
{
	return (struct mf_place){ input->base + input->next, input->line };
}

int mf_input_seek(struct mf_input *input, struct mf_place place, struct mf_failure *failure)
{
	input->line = place.line;
	if (place.offset >= input->base && place.offset <= input->base + input->end) {
		input->next = place.offset - input->base;
		input->clean = input->next;
		return 0;
	}
	input->base = place.offset;
	input->next = 0;
	input->clean = 0;
	input->end = 0;
	input->at_end = false;
	if (lseek(input->fd, place.offset, SEEK_SET) < 0)
		return fail_read(input->path, errno, failure);
	return 0;
}

int mf_input_check(const struct mf_input *input, struct mf_failure *failure)
{
	return input->error ? fail_read(input->path, input->error, failure) : 0;
}

/* Appends more bytes to the buffer. May move unread bytes to its beginning. */
static void fill(struct mf_input *input)
{
	ssize_t got;

	if (input->next && input->end == input->room) {
		memmove(input->data, input->data + input->next, input->end - input->next);
		input->end -= input->next;
		input->base += input->next;
		input->clean -= input->clean < input->next ? input->clean : input->next;
		input->next = 0;
	}
	mf_memory_grow((void **)&input->data, &input->room, input->end + 1, 1);
	got = mf_expand_read(input->fd, input->data + input->end, input->room - input->end);
	if (got < 0)
		input->error = -got;
	if (got <= 0)
		input->at_end = true;
	else
		input->end += got;
}

/* Reads the next line, including its comment. Returns false at the end. */
static bool next_raw(struct mf_input *input, struct mf_line *line)
{
	const char *newline = NULL;
	size_t seen = 0;	/* number of bytes in this line already searched for a newline */

	for (;;) {
		if (input->end - input->next > seen)
			newline = memchr(input->data + input->next + seen, '\n',
					 input->end - input->next - seen);
		if (newline || input->at_end)
			break;
		seen = input->end - input->next;
		fill(input);
	}
	if (!newline && input->next == input->end)
		return false;
	line->data = input->data + input->next;
	line->newline = newline;
	line->len = newline ? (size_t)(newline - line->data) : input->end - input->next;
	input->next += line->len + line->newline;
	input->line++;
	return true;
}

/* Counts the whitespace characters at the beginning of the line. Most of them are tree indentation. */
static size_t count_blanks(const struct mf_line *line)
{
	const uint64_t spaces = UINT64_C(0x2020202020202020);
	size_t i = 0;
	uint64_t word;

	for (; line->len - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, line->data + i, sizeof(word));
		word = le64toh(word) ^ spaces;
		if (word) {
			i += __builtin_ctzll(word) / 8;
			break;
		}
	}
	/* The byte after the spaces may be another whitespace character, such as a tab. */
	while (i < line->len &&
	       (line->data[i] == ' ' || (line->data[i] >= '\t' && line->data[i] <= '\r')))
		i++;
	return i;
}

/* Removes a comment. Most lines have none, so many lines are searched for '#' at once. */
static void cut_comment(struct mf_input *input, struct mf_line *line)
{
	size_t start = line->data - input->data;
	const char *comment;

	if (input->clean >= start + line->len)
		return;
	if (input->clean < start)
		input->clean = start;
	comment = memchr(input->data + input->clean, '#', input->end - input->clean);
	input->clean = comment ? (size_t)(comment - input->data) : input->end;
	if (input->clean < start + line->len)
		line->len = input->clean - start;
}

bool mf_input_next(struct mf_input *input, struct mf_line *line)
{
	while (next_raw(input, line)) {
		cut_comment(input, line);
		line->blanks = count_blanks(line);
		if (line->blanks < line->len)
			return true;
	}
	return false;
}
