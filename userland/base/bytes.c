// SPDX-License-Identifier: GPL-2.0
// Encodes and decodes numbers and strings.

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

void mf_bytes_deinit(struct mf_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct mf_bytes){ 0 };
}

static bool make_room(struct mf_bytes *bytes, size_t more)
{
	size_t room = bytes->room ? bytes->room : 4096;
	uint8_t *data;

	if (bytes->failed)
		return false;
	if (more <= bytes->room - bytes->size)
		return true;
	while (room - bytes->size < more)
		room *= 2;
	data = realloc(bytes->data, room);
	bytes->failed = !data;
	if (!data)
		return false;
	bytes->data = data;
	bytes->room = room;
	return true;
}

void mf_bytes_add(struct mf_bytes *bytes, const void *data, size_t size)
{
	if (!size || !make_room(bytes, size))
		return;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void mf_bytes_add_long(struct mf_bytes *bytes, uint64_t number)
{
	uint8_t *at;

	if (!make_room(bytes, 10))
		return;
	at = bytes->data + bytes->size;
	for (; number >= 0x80; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	bytes->size = (size_t)(at - bytes->data);
}

void mf_bytes_add_signed(struct mf_bytes *bytes, int64_t number)
{
	mf_bytes_add_unsigned(bytes, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

void mf_bytes_add_text(struct mf_bytes *bytes, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;

	mf_bytes_add_unsigned(bytes, size);
	mf_bytes_add(bytes, text, size);
}

static void *mistake(struct mf_cursor *cursor)
{
	cursor->bad = true;
	cursor->at = cursor->end;
	return NULL;
}

const void *mf_cursor_take(struct mf_cursor *cursor, size_t size)
{
	const void *taken = cursor->at;

	if (size > (size_t)(cursor->end - cursor->at))
		return mistake(cursor);
	cursor->at += size;
	return taken;
}

uint64_t mf_cursor_unsigned(struct mf_cursor *cursor)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
		uint8_t byte = *cursor->at++;

		/* The tenth byte has room for one bit. */
		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	mistake(cursor);
	return 0;
}

int64_t mf_cursor_signed(struct mf_cursor *cursor)
{
	uint64_t folded = mf_cursor_unsigned(cursor);

	return (int64_t)(folded >> 1 ^ -(folded & 1));
}

uint64_t mf_cursor_at_most(struct mf_cursor *cursor, uint64_t max)
{
	uint64_t number = mf_cursor_unsigned(cursor);

	if (number <= max)
		return number;
	mistake(cursor);
	return 0;
}

size_t mf_cursor_count(struct mf_cursor *cursor, size_t least)
{
	size_t left = (size_t)(cursor->end - cursor->at);

	return mf_cursor_at_most(cursor, least ? left / least : left);
}

const char *mf_cursor_text(struct mf_cursor *cursor)
{
	size_t size = mf_cursor_count(cursor, 1);
	const char *text = size ? mf_cursor_take(cursor, size) : NULL;

	if (text && strnlen(text, size) != size - 1)
		return mistake(cursor);
	return text;
}
