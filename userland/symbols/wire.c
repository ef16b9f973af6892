// SPDX-License-Identifier: GPL-2.0
// The format of messages between the process that reads files and the process that asks it for names.

#include "symbols/wire.h"

#include <stdlib.h>
#include <string.h>

/* The header of an answer. The symbol and its printed form follow, then the positions. */
struct answer_head {
	uint64_t offset;
	uint32_t split, n;
};

enum { NO_TEXT = 0 }; /* the encoded size of a NULL text; the size of any other text includes its terminating NUL */

/* The encoded bytes that have not been decoded yet, and whether decoding has failed. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

void mf_wire_put(struct mf_wire_buffer *buffer, const void *bytes, size_t size)
{
	if (size > MF_WIRE_BYTES_MAX || buffer->size > MF_WIRE_BYTES_MAX - size)
		buffer->failed = true;
	if (buffer->failed || !size)
		return;
	if (buffer->room - buffer->size < size) {
		size_t room = (buffer->size + size) * 2;
		uint8_t *more = realloc(buffer->bytes, room);

		if (!more) {
			buffer->failed = true;
			return;
		}
		buffer->bytes = more;
		buffer->room = room;
	}
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

void mf_wire_deinit(struct mf_wire_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct mf_wire_buffer){ 0 };
}

static void put_text(struct mf_wire_buffer *buffer, const char *text)
{
	size_t length = text ? strlen(text) + 1 : NO_TEXT;
	uint32_t size = (uint32_t)length;

	if (length > MF_WIRE_BYTES_MAX) {
		buffer->failed = true;
		return;
	}
	mf_wire_put(buffer, &size, sizeof(size));
	mf_wire_put(buffer, text, size);
}

void mf_wire_put_answer(struct mf_wire_buffer *buffer, const struct mf_reader_answer *answer)
{
	const struct answer_head head = { .offset = answer->offset, .split = answer->split, .n = answer->n };

	mf_wire_put(buffer, &head, sizeof(head));
	put_text(buffer, answer->symbol);
	/* The printed form is omitted if it is the same as the symbol, which it usually is. */
	put_text(buffer, answer->shown == answer->symbol ? NULL : answer->shown);
	for (uint32_t i = 0; i < answer->n; i++) {
		const struct mf_position *position = &answer->positions[i];
		uint32_t line = position->line;

		mf_wire_put(buffer, &line, sizeof(line));
		put_text(buffer, position->function);
		put_text(buffer, position->path);
		put_text(buffer, position->base);
	}
}

static const uint8_t *get(struct cursor *cursor, size_t size)
{
	const uint8_t *at = cursor->at;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += size;
	return at;
}

static uint32_t get_number(struct cursor *cursor)
{
	const uint8_t *at = get(cursor, sizeof(uint32_t));
	uint32_t number = 0;

	if (at)
		memcpy(&number, at, sizeof(number));
	return number;
}

static const char *get_text(struct cursor *cursor)
{
	uint32_t size = get_number(cursor);
	const uint8_t *at = size == NO_TEXT ? NULL : get(cursor, size);

	if (at && at[size - 1]) {
		cursor->bad = true;
		return NULL;
	}
	return (const char *)at;
}

bool mf_wire_get_answer(const uint8_t *bytes, size_t size, struct mf_reader_answer *answer)
{
	struct cursor cursor = { .at = bytes, .end = bytes + size };
	struct answer_head head = { 0 };
	const uint8_t *at = get(&cursor, sizeof(head));

	if (at)
		memcpy(&head, at, sizeof(head));
	answer->offset = head.offset;
	answer->split = head.split;
	answer->symbol = get_text(&cursor);
	answer->shown = get_text(&cursor);
	if (!answer->shown)
		answer->shown = answer->symbol;
	answer->n = head.n;
	if (head.n > MF_POSITIONS_MAX)
		return false;
	for (uint32_t i = 0; i < head.n && !cursor.bad; i++) {
		struct mf_position *position = &answer->positions[i];

		position->line = get_number(&cursor);
		position->function = get_text(&cursor);
		position->path = get_text(&cursor);
		position->base = get_text(&cursor);
	}
	return !cursor.bad && cursor.at == cursor.end;
}
