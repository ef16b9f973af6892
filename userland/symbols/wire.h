/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The format of messages between the process that reads files and the process that asks it for names. The decoder does
 * not trust its input.
 */
#ifndef MASSIF_SYMBOLS_WIRE_H
#define MASSIF_SYMBOLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/reader.h"

/* Maximum size of a message in bytes; compiler-generated names are shorter. A longer answer is sent without names. */
#define MF_WIRE_BYTES_MAX (16u << 20)

enum mf_wire_kind {
	MF_WIRE_OPENED = 1, /* struct mf_wire_opened: the result of opening the object's files */
	MF_WIRE_ANSWER,	    /* an answer about one address, encoded by mf_wire_put_answer() */
	MF_WIRE_REQUEST,    /* struct mf_opener_request, without the unused part of @name; the child waits for a
			     * descriptor */
};

/* The header of every message. */
struct mf_wire_head {
	uint32_t kind;
	uint32_t size; /* size of the contents in bytes */
};

struct mf_wire_opened {
	uint32_t confined; /* privileges that the child dropped, MF_CONFINED_* */
	uint32_t readable; /* 0 if there is no file of the object, or only one that is not what was mapped */
	uint32_t found;	   /* MF_IMAGE_*: what the files have */
	/*
	 * some names are neither in the object's file nor in its separate debug file, but in a file that several
	 * objects share (made by dwz)
	 */
	uint32_t shares;
	char why[112];	   /* the reason why names are missing; empty if no names are missing */
};

/* The reply to a child's request to open a file; if @code is 0, the message carries the file's descriptor. */
struct mf_wire_reply {
	int32_t code; /* 0 if the file was opened, or -errno */
	uint32_t reserved;
};

/* A message under construction; zero-initialise it. */
struct mf_wire_buffer {
	uint8_t *bytes;
	size_t size, room;
	bool failed; /* out of memory, or the message is too long; the bytes must not be used */
};

/* Appends @size bytes. On failure @buffer->failed is set. */
void mf_wire_put(struct mf_wire_buffer *buffer, const void *bytes, size_t size);
void mf_wire_deinit(struct mf_wire_buffer *buffer);

/* Appends the encoded @answer. On failure @buffer->failed is set. */
void mf_wire_put_answer(struct mf_wire_buffer *buffer, const struct mf_reader_answer *answer);

/*
 * Decodes the @size bytes at @bytes into @answer, whose strings point into those bytes. Returns false if the bytes are
 * not a valid answer.
 */
bool mf_wire_get_answer(const uint8_t *bytes, size_t size, struct mf_reader_answer *answer);

#endif
