// SPDX-License-Identifier: GPL-2.0
// Runs a program with threads under the shim, while the allocator below the shim writes a log of all calls. The log is
// replayed into a simple model, which must end up with the same totals, snapshots, peak, trees and blocks.
//
// If the threads take turns, the log shows the only possible order of events, and everything must be equal. If they run
// concurrently, the order of independent calls may differ; then only what does not depend on the order is compared, at
// the end: totals, clock, bytes of each site, all live blocks. If the time unit is milliseconds, the times of the
// snapshots are unpredictable; the peak, however, is predictable if the threads take turns.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "model/model.h"
#include "model/rewind.h"
#include "model/tally.h"
#include "model/trie.h"
#include "selftests/lib/capture_read.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_log.h"
#include "selftests/lib/heap_session.h"
#include "selftests/lib/model_oracle.h"

#define CONTEXTS_MAX 4096u

static struct heap_session session;
static struct heap_log *book;
static struct oracle oracle;
static struct mf_model_options options;
static uint64_t codes[HEAP_LOG_SITES]; /* address of the code of each call site of the program; 0: unknown */
static uint32_t sites[CONTEXTS_MAX];   /* call site to which each context belongs */

static void prepare(struct mf_store *store)
{
	mf_model_init(store, &options);
}

static bool open_log(void)
{
	int fd = memfd_create("heap_log", 0);

	if (fd < 0 || ftruncate(fd, HEAP_LOG_BYTES) || dup2(fd, HEAP_LOG_FD) != HEAP_LOG_FD)
		return false;
	close(fd);
	book = mmap(NULL, HEAP_LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, HEAP_LOG_FD, 0);
	return book != MAP_FAILED;
}

/* Replays the log. Returns false if it contains an impossible call. */
static bool replay(void)
{
	static struct oracle_block pending[HEAP_LOG_THREADS];
	static bool known[HEAP_LOG_THREADS];
	uint64_t room = (HEAP_LOG_BYTES - sizeof(*book)) / sizeof(book->records[0]);

	oracle_init(&oracle, &options);
	oracle.n_contexts = HEAP_LOG_SITES;
	oracle_attempt(&oracle, 0);
	for (uint64_t i = 0; i < book->n && i < room; i++) {
		const struct heap_log_record *r = &book->records[i];
		uint32_t thread = r->thread;

		if (r->site >= HEAP_LOG_SITES || thread >= HEAP_LOG_THREADS ||
		    oracle.n_blocks > ORACLE_BLOCKS - 2)
			return false;
		switch (r->what) {
		case HEAP_LOG_SITE:
			codes[r->site] = r->address;
			break;
		case HEAP_LOG_ALLOC:
			if (oracle_find(&oracle, r->address))
				return false;
			oracle_alloc(&oracle, r->address, r->size, (int)r->site, 0);
			break;
		case HEAP_LOG_FREE:
			oracle_free(&oracle, r->address, 0);
			break;
		case HEAP_LOG_REALLOC:
			known[thread] = oracle_take(&oracle, r->address, &pending[thread]);
			break;
		case HEAP_LOG_MOVED:
			if (!r->address)
				return false;
			if (known[thread])
				oracle_realloc_end(&oracle, &pending[thread], r->address, r->size,
						   (int)r->site, 0);
			else
				oracle_alloc(&oracle, r->address, r->size, (int)r->site, 0);
			break;
		default:
			return false;
		}
	}
	return book->n <= room;
}

/* Returns the call site whose code contains the address of the innermost frame of @context; 0 if there is none. */
static uint32_t site_of(uint32_t context)
{
	struct mf_frame frame;

	if (mf_trie_frames(&session.store, context, &frame, 1))
		for (uint32_t site = 1; site < HEAP_LOG_SITES; site++)
			if (frame.pc - codes[site] < HEAP_LOG_SPAN)
				return site;
	return 0;
}

static void sum_sites(const uint64_t *bytes, uint32_t n, uint64_t *sums)
{
	memset(sums, 0, HEAP_LOG_SITES * sizeof(*sums));
	for (uint32_t i = 0; i < n; i++)
		sums[sites[i]] += bytes[i];
}

/*
 * Compares the session's snapshots with those of the simple model. Returns -1 if all are equal. If the simple model has
 * a different number of snapshots, returns the session's number of snapshots; otherwise, the index of the first
 * snapshot that differs. Adds the number of compared trees to *@trees.
 */
static int different_snapshot(uint32_t *trees)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	static uint64_t bytes[CONTEXTS_MAX];
	int n = (int)mf_model_view(&session.store, views), different = -1;
	struct mf_rewind rewind;
	uint64_t *cells = calloc(mf_rewind_prepare(&rewind, &session.store), sizeof(*cells));

	if (n != oracle.n_snapshots || !cells)
		return n;
	mf_rewind_begin(&rewind, cells);
	for (int i = n - 1; i >= 0; i--) {
		const struct oracle_snapshot *s = &oracle.snapshots[i];
		const struct mf_snapshot *ours = &views[i].snapshot;
		uint64_t sums[HEAP_LOG_SITES];

		if (ours->time != s->time || ours->heap != s->heap || ours->extra != s->extra ||
		    (views[i].tree == MF_TREE_PEAK) != s->peak ||
		    (views[i].tree != MF_TREE_EMPTY) != s->detailed)
			different = i;
		if (views[i].tree == MF_TREE_EMPTY)
			continue;
		sum_sites(bytes, mf_rewind_to(&rewind, ours->capture, bytes, CONTEXTS_MAX), sums);
		if (memcmp(sums, s->leaves, sizeof(sums)))
			different = i;
		++*trees;
	}
	free(cells);
	return different;
}

/* Compares the totals and the tree of the peak with those in the simple model, but not the time of the peak. */
static bool is_same_peak(void)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	static uint64_t bytes[CONTEXTS_MAX];
	uint64_t sums[HEAP_LOG_SITES], capture = 0;
	const struct oracle_snapshot *peak = NULL;
	uint32_t n = mf_model_view(&session.store, views);

	for (int i = 0; i < oracle.n_snapshots; i++)
		if (oracle.snapshots[i].peak)
			peak = &oracle.snapshots[i];
	for (uint32_t i = 0; i < n && peak; i++)
		if (views[i].tree == MF_TREE_PEAK && views[i].snapshot.heap == peak->heap &&
		    views[i].snapshot.extra == peak->extra)
			capture = views[i].snapshot.capture;
	if (!capture)
		return false;
	sum_sites(bytes, capture_read(&session.store, capture, bytes, CONTEXTS_MAX), sums);
	return !memcmp(sums, peak->leaves, sizeof(sums));
}

struct matched {
	int n, wrong;
};

static void match(const struct mf_block *block, void *data)
{
	const struct oracle_block *known = oracle_find(&oracle, block->address);
	struct matched *matched = data;

	matched->n++;
	matched->wrong += !known || known->size != block->size ||
			  known->capacity != block->capacity ||
			  known->context != (int)sites[block->context - MF_CONTEXT_FIRST];
}

FIXTURE(replay)
{
};

FIXTURE_VARIANT(replay)
{
	double peak_inaccuracy;
	uint32_t max_snapshots, detailed_freq;
	const char *threads, *rounds, *how;
	/*
	 * true if the time unit is ms, in which case frees may be counted late and the times of snapshots are
	 * unpredictable
	 */
	bool milliseconds;
};

FIXTURE_VARIANT_ADD(replay, one_thread) { 1, 100, 10, "1", "60000", "one" };
FIXTURE_VARIANT_ADD(replay, one_thread_exact) { 0, 100, 10, "1", "60000", "one" };
FIXTURE_VARIANT_ADD(replay, two_in_turn) { 1, 100, 3, "2", "30000", "one" };
FIXTURE_VARIANT_ADD(replay, two_in_turn_exact) { 0, 100, 10, "2", "30000", "one" };
FIXTURE_VARIANT_ADD(replay, eight_in_turn) { 1, 200, 2, "8", "8000", "one" };
FIXTURE_VARIANT_ADD(replay, eight_in_turn_exact) { 0, 40, 2, "8", "8000", "one" };
FIXTURE_VARIANT_ADD(replay, hundred_in_turn) { 1, 100, 3, "100", "900", "one" };
FIXTURE_VARIANT_ADD(replay, hundred_in_turn_exact) { 0, 100, 10, "100", "900", "one" };
FIXTURE_VARIANT_ADD(replay, two_at_once) { 1, 100, 10, "2", "60000", "all" };
FIXTURE_VARIANT_ADD(replay, two_at_once_exact) { 0, 100, 10, "2", "60000", "all" };
FIXTURE_VARIANT_ADD(replay, eight_at_once) { 1, 100, 2, "8", "30000", "all" };
FIXTURE_VARIANT_ADD(replay, eight_at_once_exact) { 0, 100, 10, "8", "30000", "all" };
FIXTURE_VARIANT_ADD(replay, thousand_at_once) { 1, 100, 2, "1000", "300", "all" };
FIXTURE_VARIANT_ADD(replay, hundred_at_once_exact) { 0, 100, 10, "100", "2000", "all" };
FIXTURE_VARIANT_ADD(replay, one_thread_ms) { 1, 100, 10, "1", "60000", "one", true };
FIXTURE_VARIANT_ADD(replay, one_thread_exact_ms) { 0, 100, 10, "1", "60000", "one", true };
FIXTURE_VARIANT_ADD(replay, two_in_turn_ms) { 1, 100, 3, "2", "30000", "one", true };
FIXTURE_VARIANT_ADD(replay, hundred_at_once_ms) { 1, 100, 2, "100", "3000", "all", true };
FIXTURE_VARIANT_ADD(replay, eight_at_once_ms) { 1, 100, 2, "8", "30000", "all", true };

FIXTURE_SETUP(replay)
{
	options = (struct mf_model_options){
		.peak_inaccuracy = variant->peak_inaccuracy,
		.max_snapshots = variant->max_snapshots,
		.detailed_freq = variant->detailed_freq,
		.time_unit = variant->milliseconds ? MF_TIME_MS : MF_TIME_BYTES,
		.least_interval = variant->milliseconds,
		.heap_admin = 8,
		.alignment = 16,
	};
	memset(&session, 0, sizeof(session));
	session.prepare = prepare;
	session.meanwhile = variant->milliseconds ? mf_tally_hurry : NULL;
	session.preload = strdup(ctl_target("libheap_log.so"));
	ASSERT_TRUE(open_log());
}

FIXTURE_TEARDOWN(replay)
{
	heap_session_end(&session);
	munmap(book, HEAP_LOG_BYTES);
	free((char *)session.preload);
	close(HEAP_LOG_FD);
}

TEST_F_TIMEOUT(replay, equals_the_log, 120)
{
	struct matched matched = { 0, 0 };
	uint64_t bytes[CONTEXTS_MAX], sums[HEAP_LOG_SITES];
	const struct mf_model *model;
	uint32_t n, trees = 0, unequal;

	ASSERT_TRUE(heap_session_run(&session, (const char *[]){ ctl_target("heap_replay"),
								 variant->threads, variant->rounds,
								 variant->how, NULL }));
	ASSERT_EQ(0, session.status);
	EXPECT_EQ(0, session.store.header->events_lost);
	EXPECT_EQ(0, session.store.header->full);
	ASSERT_TRUE(replay());
	n = session.store.header->n_contexts - MF_CONTEXT_FIRST;
	ASSERT_GT(CONTEXTS_MAX, n);
	for (uint32_t i = 0; i < n; i++)
		sites[i] = site_of(MF_CONTEXT_FIRST + i);

	/* The totals at the end of the run do not depend on the order of events. */
	model = mf_model_of(&session.store);
	EXPECT_EQ(oracle.heap, model->heap);
	EXPECT_EQ(oracle.extra, model->extra);
	if (!variant->milliseconds)
		EXPECT_EQ(oracle.clock, model->clock_bytes);
	mf_trie_sum(&session.store, MF_CONTEXT_FIRST, n, bytes);
	sum_sites(bytes, n, sums);
	for (uint32_t i = 0; i < HEAP_LOG_SITES; i++)
		EXPECT_EQ(oracle.bytes[i], sums[i]);
	mf_blocks_walk(&session.store, match, &matched);
	EXPECT_EQ(oracle.n_blocks, matched.n);
	EXPECT_LT(500, matched.n);
	EXPECT_EQ(0, matched.wrong);
	unequal = heap_session_unequal_trees(&session, &trees);
	EXPECT_EQ(0, unequal);
	/*
	 * If there are many threads, the order of their events decides how many snapshots with trees survive culling.
	 */
	EXPECT_LT(variant->milliseconds ? 0 : atoi(variant->threads) > 8 ? 1 : 5, trees);

	if (strcmp(variant->how, "one"))
		return;
	EXPECT_EQ(oracle.peak_total, model->peak_total);
	EXPECT_TRUE(is_same_peak());
	if (variant->milliseconds)
		return;
	trees = 0;
	EXPECT_EQ(-1, different_snapshot(&trees))
	{
		TH_LOG("%d snapshots", oracle.n_snapshots);
	}
	EXPECT_EQ(oracle.cullings, model->cullings);
	TH_LOG("%lu calls, %u peaks, %u trees equal", book->n, model->peak_snapshots, trees);
	EXPECT_LT(variant->peak_inaccuracy ? 20 : 200, model->peak_snapshots);
}

TEST_HARNESS_MAIN
