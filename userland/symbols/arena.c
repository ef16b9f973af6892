// SPDX-License-Identifier: GPL-2.0
// An arena: memory that is allocated piece by piece and freed all at once.

#include "symbols/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/*
 * Each chunk is twice as large as the previous one, up to CHUNK_LARGEST. The first chunk is small because a program may
 * have a thousand small libraries, each with an arena.
 */
#define CHUNK_FIRST   512u
#define CHUNK_LARGEST 65536u

struct mf_arena_chunk {
	struct mf_arena_chunk *next;
	size_t used, size; /* bytes used in @data, and its size */
	alignas(max_align_t) char data[];
};

void *mf_arena_alloc(struct mf_arena *arena, size_t size)
{
	struct mf_arena_chunk *chunk = arena->chunks;
	void *result;

	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = chunk ? chunk->size * 2 : CHUNK_FIRST;

		if (room > CHUNK_LARGEST)
			room = CHUNK_LARGEST;
		if (room < size)
			room = size;
		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}
	result = chunk->data + chunk->used;
	chunk->used += size;
	return result;
}

void mf_arena_deinit(struct mf_arena *arena)
{
	while (arena->chunks) {
		struct mf_arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
}
