/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Encodes and decodes numbers and strings: numbers as LEB128 (seven bits a byte, the low bits first), signed
 * numbers folded to unsigned ones (0, -1, 1, -2, ...), strings with their length.
 */
#ifndef MASSIF_BASE_BYTES_H
#define MASSIF_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are being written. Zero-initialise it. */
struct mf_bytes {
	uint8_t *data;
	size_t size, room;
	bool failed; /* out of memory: what was added since is missing */
};

void mf_bytes_deinit(struct mf_bytes *bytes);

void mf_bytes_add(struct mf_bytes *bytes, const void *data, size_t size);

/* Does the work of mf_bytes_add_unsigned() for numbers of several bytes, and if there is no room. */
void mf_bytes_add_long(struct mf_bytes *bytes, uint64_t number);

static inline void mf_bytes_add_unsigned(struct mf_bytes *bytes, uint64_t number)
{
	if (number < 0x80 && bytes->size < bytes->room && !bytes->failed)
		bytes->data[bytes->size++] = (uint8_t)number;
	else
		mf_bytes_add_long(bytes, number);
}

void mf_bytes_add_signed(struct mf_bytes *bytes, int64_t number);
/* Adds @text with its terminating NUL. @text may be NULL. */
void mf_bytes_add_text(struct mf_bytes *bytes, const char *text);

/*
 * A position in bytes that are being read. After the first mistake (the bytes end too early, or are not what they
 * should be), @bad is set, and everything read afterwards is 0 or NULL.
 */
struct mf_cursor {
	const uint8_t *at, *end;
	bool bad;
};

const void *mf_cursor_take(struct mf_cursor *cursor, size_t size);
uint64_t mf_cursor_unsigned(struct mf_cursor *cursor);
int64_t mf_cursor_signed(struct mf_cursor *cursor);

/* Reads a number; it is a mistake if it is greater than @max. */
uint64_t mf_cursor_at_most(struct mf_cursor *cursor, uint64_t max);

/* Reads the number of elements that follow, each of which is at least @least bytes long. */
size_t mf_cursor_count(struct mf_cursor *cursor, size_t least);

/* Returns a string inside the bytes, or NULL. */
const char *mf_cursor_text(struct mf_cursor *cursor);

#endif
