// SPDX-License-Identifier: GPL-2.0
// Reads the session memory of a program that is running.

#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "model/model.h"
#include "model/tally.h"
#include "model/trie.h"

uint64_t mf_live_session_inode(int memory)
{
	struct stat status;

	return fstat(memory, &status) ? 0 : status.st_ino;
}

int mf_live_session_open(struct mf_live_session *session, int memory, uint64_t start_ns, bool pages,
			 struct mf_error *err)
{
	int ret;

	*session = (struct mf_live_session){ .memory = memory, .start_ns = start_ns, .pages = pages };
	session->inode = mf_live_session_inode(memory);
	ret = mf_store_attach_to_read(&session->store, memory, err);
	if (ret == -EINVAL)
		mf_error_set(err, ret, "the other massif-ctl has sent no session memory of this version of massif");
	if (ret)
		mf_live_session_close(session);
	return ret;
}

void mf_live_session_close(struct mf_live_session *session)
{
	if (session->store.header) {
		mf_store_detach(&session->store);
		close(session->memory);
	} else if (session->memory > 0) {
		close(session->memory);
	}
	free(session->contexts);
	*session = (struct mf_live_session){ .memory = -1 };
}

int64_t mf_live_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint32_t contexts_in(const struct mf_store *store)
{
	uint32_t n = __atomic_load_n(&store->header->n_contexts, __ATOMIC_ACQUIRE);

	return n <= mf_trie_contexts_max(store) ? n : 0;
}

/* Makes room for the counts of all contexts, and sets them to 0. */
static int prepare(struct mf_live_session *session, struct mf_error *err)
{
	uint32_t n = contexts_in(&session->store);

	if (n > session->room) {
		uint32_t room = n + n / 4 + 1024;
		struct mf_live_counts *contexts = reallocarray(session->contexts, room, sizeof(*contexts));

		if (!contexts)
			return mf_error_set(err, -ENOMEM, "not enough memory to read the profile");
		session->contexts = contexts;
		session->room = room;
	}
	session->n_contexts = n;
	if (n)
		memset(session->contexts, 0, n * sizeof(*session->contexts));
	return 0;
}

static void add_cells(struct mf_live_session *session, const struct mf_cell *cells, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct mf_live_counts *counts = &session->contexts[i];

		counts->bytes += __atomic_load_n(&cells[i].bytes, __ATOMIC_RELAXED);
		counts->allocations += __atomic_load_n(&cells[i].allocations, __ATOMIC_RELAXED);
		counts->allocated += __atomic_load_n(&cells[i].allocated, __ATOMIC_RELAXED);
	}
}

/*
 * Adds the counts of a shard. Most threads use few contexts. The pages of the others have never been touched, and reading
 * them would allocate them, so ask the file where its data is.
 */
static void add_shard(struct mf_live_session *session, uint32_t shard)
{
	const struct mf_store *store = &session->store;
	const struct mf_cell *cells = mf_trie_cell(store, shard, 0);
	off_t region = (off_t)store->offsets[MF_REGION_CONTEXT_BYTES];
	off_t start = region + ((const char *)cells - (const char *)store->regions[MF_REGION_CONTEXT_BYTES]);
	off_t end = start + (off_t)(session->n_contexts * sizeof(*cells)), size = sizeof(*cells);

	for (off_t at = start, hole; at < end; at = hole) {
		off_t data = lseek(session->memory, at, SEEK_DATA);

		if (data < at || data >= end)
			return;
		hole = lseek(session->memory, data, SEEK_HOLE);
		if (hole <= data)
			return;
		if (hole > end)
			hole = end;
		add_cells(session, cells, (uint32_t)((data - start) / size), (uint32_t)((hole - start) / size));
	}
}

/* A block whose free was delayed until the thread's next event; see tally.h. */
static void subtract_block(const struct mf_block *block, void *data)
{
	struct mf_live_session *session = data;

	if (block->context < session->n_contexts)
		session->contexts[block->context].bytes -= block->size;
}

int64_t mf_live_session_age_ms(const struct mf_live_session *session)
{
	uint64_t start = session->start_ns ? session->start_ns : session->store.header->first_time_ns;
	int64_t start_ms = (int64_t)(start / 1000000), now = mf_live_now_ms();

	if (session->end_ms)
		return session->end_ms;
	return start && now > start_ms ? now - start_ms : 0;
}

static void read_resident(const struct mf_store_header *header, struct mf_live_totals *to)
{
	uint32_t band = __atomic_load_n(&header->resident_band, __ATOMIC_RELAXED);

	to->resident = __atomic_load_n(&header->resident, __ATOMIC_ACQUIRE);
	to->resident_most = __atomic_load_n(&header->resident_most, __ATOMIC_RELAXED);
	/* The program can write any number there. */
	to->resident_band = band < MF_BANDS ? (enum mf_band)band : MF_BAND_OTHER;
}

static void read_totals(struct mf_live_session *session)
{
	struct mf_tally_totals totals = mf_tally_look(&session->store, 0);
	struct mf_live_totals *to = &session->totals;
	uint64_t recorded = mf_model_of(&session->store)->peak_total;

	*to = (struct mf_live_totals){
		.heap = totals.heap, .extra = totals.extra, .stacks = totals.stacks, .age_ms = mf_live_session_age_ms(session),
	};
	to->total = to->heap + to->extra + to->stacks;
	/* The parts of a sum can be of different moments, so it can be below 0 for a moment. */
	if ((int64_t)to->total < 0)
		to->total = 0;
	if (to->total > session->peak)
		session->peak = to->total;
	if (recorded > session->peak && (int64_t)recorded > 0)
		session->peak = recorded;
	to->peak = session->peak;
	read_resident(session->store.header, to);
}

int mf_live_session_read(struct mf_live_session *session, struct mf_error *err)
{
	uint32_t n_shards = __atomic_load_n(&session->store.header->n_tallies, __ATOMIC_ACQUIRE);
	int ret = prepare(session, err);

	if (ret)
		return ret;
	if (!n_shards || n_shards > MF_SHARDS_MAX)
		n_shards = n_shards ? MF_SHARDS_MAX : 1;
	for (uint32_t i = 0; i < n_shards; i++)
		add_shard(session, i);
	mf_tally_walk_delayed(&session->store, subtract_block, session);
	read_totals(session);
	for (uint32_t i = MF_CONTEXT_FIRST; i < session->n_contexts; i++) {
		struct mf_live_counts *counts = &session->contexts[i];

		if ((int64_t)counts->bytes < 0)
			counts->bytes = 0;
		session->totals.counts.bytes += counts->bytes;
		session->totals.counts.allocations += counts->allocations;
		session->totals.counts.allocated += counts->allocated;
	}
	return 0;
}
