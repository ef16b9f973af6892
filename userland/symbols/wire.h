/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers about names as bytes, from the process that reads files to the one that asks. Who takes them apart trusts
 * none of them.
 */
#ifndef MASSIF_SYMBOLS_WIRE_H
#define MASSIF_SYMBOLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/reader.h"

/* Of one message; a longer answer has no names. Longer than any of a compiler's. */
#define MF_WIRE_BYTES_MAX (16u << 20)

enum mf_wire_kind {
	MF_WIRE_OPENED = 1, /* struct mf_wire_opened: the object's files were looked at */
	MF_WIRE_ANSWER,	    /* mf_wire_put_answer() */
	MF_WIRE_REQUEST,    /* struct mf_opener_request, as far as it is filled; a descriptor is awaited */
};

/* What every message begins with. */
struct mf_wire_head {
	uint32_t kind;
	uint32_t size; /* of what follows */
};

struct mf_wire_opened {
	uint32_t confined; /* MF_CONFINED_* */
	uint32_t readable; /* 0: there is no such file, or it is another */
	uint32_t shares;   /* as of struct mf_image */
	char why[116];	   /* its names are lost; empty: they are not */
};

/* The reply to a request, with a descriptor if @code is 0. */
struct mf_wire_reply {
	int32_t code; /* 0 or -errno */
	uint32_t reserved;
};

/* Bytes in the making. All zeros are none. */
struct mf_wire_buffer {
	uint8_t *bytes;
	size_t size, room;
	bool failed; /* memory was short, or there were too many: what is there is of no use */
};

void mf_wire_put(struct mf_wire_buffer *buffer, const void *bytes, size_t size);
void mf_wire_deinit(struct mf_wire_buffer *buffer);

void mf_wire_put_answer(struct mf_wire_buffer *buffer, const struct mf_reader_answer *answer);

/* Takes @size bytes apart; the strings of @answer are in them. False: they are no answer. */
bool mf_wire_get_answer(const uint8_t *bytes, size_t size, struct mf_reader_answer *answer);

#endif
