// SPDX-License-Identifier: GPL-2.0
// Copies of the contexts' live bytes, in chains of chunks of one page.
//
// Contexts are only ever added, so a capture is the plain array of the bytes of those that existed:
// no numbers need be stored beside the values, and contexts that hold nothing any more are in it.

#include "model/capture.h"

#include <string.h>

#include "model/trie.h"

#define VALUES_PER_CHUNK 511u

struct mf_chunk {
	uint32_t next; /* 0: the last */
	uint32_t used;
	uint64_t values[VALUES_PER_CHUNK];
};

_Static_assert(sizeof(struct mf_chunk) == 4096, "a chunk is a page");

static struct mf_chunk *chunks_of(const struct mf_store *store)
{
	return store->regions[MF_REGION_CAPTURES];
}

static uint32_t take_chunk(struct mf_store *store)
{
	struct mf_store_header *header = store->header;
	uint32_t chunk = header->free_chunk;

	if (chunk) {
		header->free_chunk = chunks_of(store)[chunk].next;
		return chunk;
	}
	if (!mf_store_fits(store, MF_REGION_CAPTURES, header->n_chunks, sizeof(struct mf_chunk))) {
		mf_store_set_full(store, MF_STORE_FULL_CAPTURES);
		return 0;
	}
	return header->n_chunks++;
}

uint32_t mf_capture_take(struct mf_store *store)
{
	uint32_t context = MF_CONTEXT_FIRST, end = store->header->n_contexts;
	struct mf_chunk *chunks = chunks_of(store);
	uint32_t first = 0, last = 0;

	/* At least one chunk, also for no contexts: 0 means that there is no capture. */
	do {
		uint32_t chunk = take_chunk(store);
		uint32_t n = end - context < VALUES_PER_CHUNK ? end - context : VALUES_PER_CHUNK;

		if (!chunk) {
			mf_capture_release(store, first);
			return 0;
		}
		chunks[chunk].next = 0;
		chunks[chunk].used = n;
		mf_trie_sum(store, context, n, chunks[chunk].values);
		context += n;
		if (last)
			chunks[last].next = chunk;
		else
			first = chunk;
		last = chunk;
	} while (context < end);
	return first;
}

void mf_capture_release(struct mf_store *store, uint32_t capture)
{
	struct mf_chunk *chunks = chunks_of(store);
	uint32_t last = capture;

	if (!capture)
		return;
	while (chunks[last].next)
		last = chunks[last].next;
	chunks[last].next = store->header->free_chunk;
	store->header->free_chunk = capture;
}

uint32_t mf_capture_read(const struct mf_store *store, uint32_t capture, uint64_t *bytes,
			 uint32_t max)
{
	const struct mf_chunk *chunks = chunks_of(store);
	uint64_t total = 0, limit = store->sizes[MF_REGION_CAPTURES] / sizeof(struct mf_chunk);
	uint64_t contexts = mf_trie_contexts_max(store);

	while (capture && capture < limit && total < contexts) {
		const struct mf_chunk *chunk = &chunks[capture];
		uint32_t used = chunk->used <= VALUES_PER_CHUNK ? chunk->used : 0;

		if (total < max) {
			uint64_t n = used < max - total ? used : max - total;

			memcpy(bytes + total, chunk->values, n * sizeof(*bytes));
		}
		total += used;
		/* Only the last one is not full: damaged chains end here, too. */
		capture = used == VALUES_PER_CHUNK ? chunk->next : 0;
	}
	return (uint32_t)total;
}

uint32_t mf_capture_present(const struct mf_store *store, uint64_t *bytes, uint32_t max)
{
	uint32_t end = __atomic_load_n(&store->header->n_contexts, __ATOMIC_ACQUIRE), n;

	if (end <= MF_CONTEXT_FIRST || end > mf_trie_contexts_max(store))
		return 0;
	n = end - MF_CONTEXT_FIRST;
	mf_trie_sum(store, MF_CONTEXT_FIRST, n < max ? n : max, bytes);
	return n;
}
