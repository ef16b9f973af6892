/* SPDX-License-Identifier: GPL-2.0 */
/* Buffered output to a file or to memory, and the formats of the report. */
#ifndef MASSIF_MSPRINT_OUTPUT_H
#define MASSIF_MSPRINT_OUTPUT_H

#include <stddef.h>
#include <string.h>

#include "text.h"

struct mf_failure;

struct mf_output {
	int fd;			/* the descriptor to write to; -1 for output to memory */
	int error;		/* errno of the first failed write, after which nothing more is written; 0 if none
				 * failed */
	/* the output if it goes to memory, except for the last bytes, which are still in @data */
	struct mf_text memory;
	size_t limit;		/* maximum size of @memory in bytes; exceeding it sets @error to EFBIG */
	size_t len;
	char data[64 * 1024];
};

/* Initialises output to a descriptor, which the caller closes. */
void mf_output_init(struct mf_output *out, int fd);

/* Initialises output to memory, which holds at most @limit bytes plus the write that exceeds the limit. */
void mf_output_init_memory(struct mf_output *out, size_t limit);
void mf_output_deinit(struct mf_output *out);

/* Writes the buffered bytes. Returns 0, or -EINVAL with @failure set if this or an earlier write failed. */
int mf_output_flush(struct mf_output *out, struct mf_failure *failure);

/*
 * For output to memory: mf_output_tell() returns the size in bytes; mf_output_truncate() cuts the output to @len bytes
 * and clears any error.
 */
size_t mf_output_tell(const struct mf_output *out);
void mf_output_truncate(struct mf_output *out, size_t len);

/* Appends to @out everything that has been written to @memory. */
void mf_output_copy(struct mf_output *out, const struct mf_output *memory);

/* Slow path of mf_output_bytes(), used if the bytes do not fit into the buffer. */
void mf_output_more_bytes(struct mf_output *out, const void *bytes, size_t len);

/* Inline, because every line of a tree is written in several pieces. */
static inline void mf_output_bytes(struct mf_output *out, const void *bytes, size_t len)
{
	if (len > sizeof(out->data) - out->len) {
		mf_output_more_bytes(out, bytes, len);
	} else if (len) {
		memcpy(out->data + out->len, bytes, len);
		out->len += len;
	}
}

void mf_output_string(struct mf_output *out, const char *string);
void mf_output_repeat(struct mf_output *out, char c, size_t count);

/* Prints a text right-justified in @width columns (bytes). A longer text is not truncated. */
void mf_output_right(struct mf_output *out, const char *text, size_t len, size_t width);

/* Like mf_output_right(), but separates the leading digits into groups of three with commas. */
void mf_output_commas(struct mf_output *out, const char *text, size_t len, size_t width);

/* Prints a percentage in the format %05.2f, without the percent sign. */
void mf_output_percent(struct mf_output *out, double value);

/* Prints a line of 80 dashes. */
void mf_output_rule(struct mf_output *out);

#endif
