/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The input file, line by line.
 *
 * Memory is needed for one line, not for the file. One can go back to a place where one was; a
 * file in which the system cannot do that (a pipe) is copied to anonymous memory first.
 */
#ifndef MF_MSPRINT_INPUT_H
#define MF_MSPRINT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_failure;

/* A line after its comment is cut off. The bytes are valid until the next line is read. */
struct mf_line {
	const char *data;
	size_t len;		/* without the newline */
	size_t blanks;		/* at the beginning */
	bool newline;		/* false only for a last line that has none */
};

struct mf_input {
	const char *path;
	int fd;
	int error;		/* errno of a failed read, after which the input ends; or 0 */
	uint64_t line;		/* lines read so far, comments and blank ones too */
	char *data;
	size_t room;
	size_t next;		/* offset in data of the first unread byte */
	size_t end;		/* offset in data after the last byte */
	size_t clean;		/* offset in data: no '#' from next to there, if it is beyond */
	uint64_t base;		/* offset in the file of data */
	bool at_end;		/* no more bytes after these */
};

/* A place between two lines. */
struct mf_place {
	uint64_t offset;
	uint64_t line;		/* lines before it */
};

#define MF_INPUT_AUTO __attribute__((cleanup(mf_input_close))) struct mf_input

int mf_input_open(struct mf_input *input, const char *path, struct mf_failure *failure);
void mf_input_close(struct mf_input *input);

/* Gets the next line that is not blank after its comment is cut off. False at the end. */
bool mf_input_next(struct mf_input *input, struct mf_line *line);

struct mf_place mf_input_tell(const struct mf_input *input);

/* Goes back to a place, so that the line after it is the next one again. */
int mf_input_seek(struct mf_input *input, struct mf_place place, struct mf_failure *failure);

/* 0, or sets the failure if the input ended because a read failed. */
int mf_input_check(const struct mf_input *input, struct mf_failure *failure);

#endif
