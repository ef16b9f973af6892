// SPDX-License-Identifier: GPL-2.0
// Damages a session as stray writes of its program would, and mends it afterwards.

#include "selftests/fuzz/session/damage.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PATCHES_MAX 64u
#define LENGTH_MAX  32u

/* The regions to which massif-ctl itself writes while it reads a session: they are restored after each input. */
static const enum mf_region_id written[] = {
	MF_REGION_HEADER,
	MF_REGION_MODEL,
	MF_REGION_TALLIES,
	MF_REGION_THREAD_TABLE,
};

/* The bytes that patches have overwritten. They are put back in the opposite order. */
static struct {
	uint8_t *place;
	uint8_t length, before[LENGTH_MAX];
} undo[PATCHES_MAX];
static size_t n_undo;

/* Returns the place that has number @offset among the bytes that @region uses, or NULL if it uses none. */
static uint8_t *place_of(const struct fuzz_session *session, int region, uint64_t offset, uint64_t length)
{
	const struct fuzz_part *part = session->parts[region];
	uint64_t used = session->used[region];

	if (!used)
		return NULL;
	/* A large region is reached everywhere, but not at every byte. */
	offset = (used >> 16 ? offset * (((used >> 16) + 8) & ~7ull) : offset) % used;
	for (; offset >= part->size; part++)
		offset -= part->size;
	offset += part->start;
	return offset + length <= session->store.sizes[region] ? (uint8_t *)session->store.regions[region] + offset : NULL;
}

void fuzz_damage(const struct fuzz_session *session, struct fuzz_input *input)
{
	while (input->left && n_undo < PATCHES_MAX) {
		int region = fuzz_u8(input) % MF_REGION_COUNT;
		uint8_t length = fuzz_u8(input) % LENGTH_MAX;
		uint8_t *place = place_of(session, region, fuzz_u16(input), length);

		if (!place)
			continue;
		undo[n_undo].place = place;
		undo[n_undo].length = length;
		memcpy(undo[n_undo++].before, place, length);
		fuzz_take(input, place, length);
	}
}

static void restore(const struct fuzz_session *session, int region)
{
	for (size_t i = 0; i < session->n_parts[region]; i++) {
		const struct fuzz_part *part = &session->parts[region][i];

		memcpy((char *)session->store.regions[region] + part->start, part->bytes, part->size);
	}
}

static void punch(const struct fuzz_session *session, off_t start, off_t end)
{
	if (start < end)
		fallocate(session->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, end - start);
}

/* Reading a page of the file that was never written to allocates it. Gives all of these pages back. */
static void drop_pages(const struct fuzz_session *session)
{
	const struct mf_store *store = &session->store;
	struct stat status;

	if (fstat(session->memory, &status) || status.st_blocks == session->blocks)
		return;
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		off_t at = (off_t)store->offsets[i], end = at + (off_t)store->sizes[i];

		for (size_t k = 0; k < session->n_parts[i]; k++) {
			const struct fuzz_part *part = &session->parts[i][k];

			punch(session, at, (off_t)(store->offsets[i] + part->start));
			at = (off_t)(store->offsets[i] + part->start + part->pages);
		}
		punch(session, at, end);
	}
}

void fuzz_mend(const struct fuzz_session *session)
{
	while (n_undo) {
		n_undo--;
		memcpy(undo[n_undo].place, undo[n_undo].before, undo[n_undo].length);
	}
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		restore(session, written[i]);
	drop_pages(session);
}
