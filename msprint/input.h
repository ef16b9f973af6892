/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the input file line by line.
 *
 * Needs memory for only one line, not for the whole file. A reader can return to an earlier position; an input file
 * that does not support this, such as a pipe, is first copied to anonymous memory.
 */
#ifndef MASSIF_MSPRINT_INPUT_H
#define MASSIF_MSPRINT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_failure;

/* A line without its comment. Its bytes are valid until the next line is read. */
struct mf_line {
	const char *data;
	size_t len;		/* length of the line in bytes, without the newline */
	size_t blanks;		/* number of leading whitespace characters */
	bool newline;		/* the line ends with a newline; can be false only for the last line */
};

struct mf_input {
	const char *path;
	int fd;
	int error;		/* errno of a failed read, which ends the input; otherwise 0 */
	uint64_t line;		/* number of lines read so far, including comments and blank lines */
	char *data;
	size_t room;
	size_t next;		/* offset in @data of the first unread byte */
	size_t end;		/* offset in @data just past the last byte */
	size_t clean;		/* @data contains no '#' from @next up to this offset */
	uint64_t base;		/* offset of @data in the file */
	bool at_end;		/* the end of the file was reached */
};

/* A position in the input: the start of a line, or the end. */
struct mf_place {
	uint64_t offset;
	uint64_t line;		/* number of lines before this position */
};

#define MF_INPUT_AUTO __attribute__((cleanup(mf_input_close))) struct mf_input

int mf_input_open(struct mf_input *input, const char *path, struct mf_failure *failure);
void mf_input_close(struct mf_input *input);

/*
 * Reads the next line, without its comment. Skips lines that are blank or contain only a comment. Returns false at the
 * end of the file.
 */
bool mf_input_next(struct mf_input *input, struct mf_line *line);

struct mf_place mf_input_tell(const struct mf_input *input);

/* Goes back to a position returned by mf_input_tell(). Returns 0, or -EINVAL with @failure set. */
int mf_input_seek(struct mf_input *input, struct mf_place place, struct mf_failure *failure);

/* Returns 0, or -EINVAL with @failure set if the input ended because a read failed. */
int mf_input_check(const struct mf_input *input, struct mf_failure *failure);

#endif
