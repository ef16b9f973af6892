/* SPDX-License-Identifier: GPL-2.0 */
/* Buffered output to a file or to memory, with the formats of the reports. */
#ifndef MF_MSPRINT_OUTPUT_H
#define MF_MSPRINT_OUTPUT_H

#include <stddef.h>
#include <string.h>

#include "text.h"

struct mf_failure;

struct mf_output {
	int fd;			/* -1: to memory */
	int error;		/* errno of the first failed write, the last one, too; or 0 */
	struct mf_text memory;	/* what was written to memory */
	size_t limit;		/* of memory, bytes; beyond it no more writes, and EFBIG */
	size_t len;
	char data[64 * 1024];
};

/* Output to a descriptor, which stays the caller's. */
void mf_output_init(struct mf_output *out, int fd);

/* Output to memory, up to that many bytes and one write. */
void mf_output_init_memory(struct mf_output *out, size_t limit);
void mf_output_deinit(struct mf_output *out);

/* Writes what is buffered. Sets the failure if this or any write before it failed. */
int mf_output_flush(struct mf_output *out, struct mf_failure *failure);

/* For output to memory: how many bytes there are, and taking back all but so many, also errors. */
size_t mf_output_tell(const struct mf_output *out);
void mf_output_truncate(struct mf_output *out, size_t len);

/* Writes to out what was written to memory. */
void mf_output_copy(struct mf_output *out, const struct mf_output *memory);

/* For those that do not fit into the buffer. */
void mf_output_more_bytes(struct mf_output *out, const void *bytes, size_t len);

/* Inline, because every line of a tree is made of a handful of pieces. */
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

/* A text right-justified in width columns, that is bytes; it is not cut if it is longer. */
void mf_output_right(struct mf_output *out, const char *text, size_t len, size_t width);

/* The same, with commas between every three of the digits that the text begins with. */
void mf_output_commas(struct mf_output *out, const char *text, size_t len, size_t width);

/* A percentage as %05.2f, without the sign. */
void mf_output_percent(struct mf_output *out, double value);

/* The rule of 80 dashes, with its newline. */
void mf_output_rule(struct mf_output *out);

#endif
