// SPDX-License-Identifier: GPL-2.0
// Accounting whole mappings gives the same snapshots as applying Massif's rules page by page.

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "model/objects.h"
#include "model/trie.h"
#include "pages/accounting.h"
#include "pages/resync.h"

#define PAGE  4096ull
#define PAGES 1024u
#define BASE  0x7f0000000000ull

static const struct mf_model_options options = {
	.peak_inaccuracy = 1.0,
	.max_snapshots = 20,
	.detailed_freq = 3,
	.time_unit = MF_TIME_BYTES,
	.heap_admin = 8, /* --heap-admin, which must have no effect in pages mode */
	.alignment = 16,
};

FIXTURE(accounting)
{
	struct mf_files files;
	struct mf_accounting *ours;
	struct mf_store theirs;	 /* the oracle's model */
	uint32_t context[PAGES]; /* context of each page in the oracle; 0: unmapped */
	unsigned int asked;	 /* number of calls to the filter, which decides whether to count a context's pages */
	uint32_t ignored;	 /* a context whose pages are not counted; 0: none */
	uint64_t now;		 /* time in ns */
};

FIXTURE_SETUP(accounting)
{
	struct mf_model_options pages = options;

	memset(self, 0, sizeof(*self));
	mf_files_init(&self->files);
	ASSERT_EQ(mf_accounting_create(&options, &self->files, 0, &self->ours, NULL), 0);
	ASSERT_EQ(mf_store_create(&self->theirs, 2ull << 30, NULL, NULL), 0);
	pages.heap_admin = 0;
	mf_model_init(&self->theirs, &pages);
}

FIXTURE_TEARDOWN(accounting)
{
	mf_accounting_destroy(self->ours);
	mf_store_detach(&self->theirs);
	mf_files_deinit(&self->files);
}

typedef FIXTURE_DATA(accounting) oracle_t;

static void oracle_unmap(oracle_t *oracle, uint32_t first, uint32_t n)
{
	bool begun = false;

	for (uint32_t i = first; i < first + n; i++) {
		if (!oracle->context[i])
			continue;
		if (oracle->context[i] == oracle->ignored) {
			oracle->context[i] = 0;
			continue;
		}
		if (!begun)
			mf_model_check_peak(&oracle->theirs, 0);
		mf_model_change(mf_model_of(&oracle->theirs), -(int64_t)PAGE, 0);
		oracle->context[i] = 0;
		if (!begun)
			mf_model_attempt(&oracle->theirs, 0);
		begun = true;
	}
}

static void oracle_map(oracle_t *oracle, uint32_t first, uint32_t n, uint32_t context)
{
	oracle_unmap(oracle, first, n);
	for (uint32_t i = first; i < first + n; i++) {
		if (context != oracle->ignored)
			mf_model_change(mf_model_of(&oracle->theirs), (int64_t)PAGE, 0);
		oracle->context[i] = context;
	}
	if (context != oracle->ignored)
		mf_model_attempt(&oracle->theirs, 0);
}

static bool same_snapshots(oracle_t *oracle)
{
	static struct mf_snapshot_view ours[MF_SNAPSHOTS_MAX], theirs[MF_SNAPSHOTS_MAX];
	uint32_t n = mf_model_view(&oracle->ours->store, ours);

	if (n != mf_model_view(&oracle->theirs, theirs))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (ours[i].snapshot.time != theirs[i].snapshot.time ||
		    ours[i].snapshot.heap != theirs[i].snapshot.heap || ours[i].snapshot.extra ||
		    ours[i].tree != theirs[i].tree)
			return false;
	return true;
}

static bool same_contexts(oracle_t *oracle, const uint32_t *contexts, uint32_t n)
{
	for (uint32_t context = 0; context < n; context++) {
		uint64_t sum = 0, bytes;

		for (uint32_t i = 0; i < PAGES; i++)
			if (oracle->context[i] == contexts[context] &&
			    oracle->context[i] != oracle->ignored)
				sum += PAGE;
		mf_trie_sum(&oracle->ours->store, contexts[context], 1, &bytes);
		if (bytes != sum)
			return false;
	}
	return true;
}

static bool counts(void *data, uint32_t context)
{
	oracle_t *oracle = data;

	oracle->asked++;
	return context != oracle->ignored;
}

static void random_mappings(struct __test_metadata *_metadata, oracle_t *self,
			    const uint32_t contexts[4])
{
	srandom(3);
	for (int step = 0; step < 5000; step++) {
		uint32_t first = (uint32_t)random() % PAGES, n = 1 + (uint32_t)random() % 40;
		uint64_t start = BASE + first * PAGE;
		uint32_t context = contexts[random() % 4];

		if (n > PAGES - first)
			n = PAGES - first;
		if (random() % 2) {
			struct mf_interval interval = {
				.start = start, .end = start + n * PAGE, .context = context};

			ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);
			oracle_map(self, first, n, context);
		} else {
			ASSERT_EQ(mf_accounting_unmap(self->ours, start, start + n * PAGE, false, 0), 0);
			oracle_unmap(self, first, n);
		}
		ASSERT_EQ(mf_model_of(&self->ours->store)->heap, mf_model_of(&self->theirs)->heap);
		if (!self->ignored)
			ASSERT_EQ(mf_model_of(&self->ours->store)->heap, self->ours->space.total);
	}
	EXPECT_TRUE(same_snapshots(self));
	EXPECT_TRUE(same_contexts(self, contexts, 4));
	EXPECT_GT(mf_model_of(&self->theirs)->cullings, 0);
	EXPECT_GT(mf_model_of(&self->theirs)->peak_snapshots, 0);
}

TEST_F(accounting, random_mappings_equal_pages)
{
	static const char *const words[] = {"[a]", "[b]", "[c]", "[d]"};
	uint32_t contexts[4];

	for (int i = 0; i < 4; i++)
		contexts[i] = mf_accounting_note(self->ours, words[i]);
	random_mappings(_metadata, self, contexts);
}

/*
 * Pages of an ignored context are tracked, and replace the pages that were at the same addresses before. But they are
 * not part of any total or snapshot.
 */
TEST_F(accounting, ignored_pages_count_nowhere)
{
	static const char *const words[] = {"[a]", "[b]", "[c]", "[d]"};
	const struct mf_model *model = mf_model_of(&self->ours->store);
	uint32_t contexts[4];
	uint64_t hidden = 0;

	for (int i = 0; i < 4; i++)
		contexts[i] = mf_accounting_note(self->ours, words[i]);
	self->ignored = contexts[2];
	mf_accounting_ask(self->ours, counts, self);
	random_mappings(_metadata, self, contexts);
	EXPECT_EQ(self->asked, 4);
	for (uint32_t i = 0; i < PAGES; i++)
		if (self->context[i] == self->ignored)
			hidden += PAGE;
	EXPECT_GT(hidden, 0);
	EXPECT_EQ(model->heap + hidden, self->ours->space.total);
	EXPECT_EQ((uint64_t)(model->ignored_allocs - model->ignored_frees) * PAGE, hidden);
}

/*
 * As in Massif, a large unmapping is counted page by page, and a snapshot is attempted after the first page. So that
 * snapshot has a total that is only one page less than before, and the next snapshot shows the rest of the decrease.
 */
TEST_F(accounting, a_big_unmapping_shows_one_page_first)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
	struct mf_interval interval = {.start = BASE, .end = BASE + 100 * PAGE};

	interval.context = mf_accounting_note(self->ours, "[a]");
	ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);
	ASSERT_EQ(mf_accounting_unmap(self->ours, BASE, BASE + 100 * PAGE, false, 0), 0);
	ASSERT_EQ(mf_model_view(&self->ours->store, views), 3);
	EXPECT_EQ(views[0].snapshot.heap, 100 * PAGE);
	EXPECT_EQ(views[1].tree, MF_TREE_PEAK);
	EXPECT_EQ(views[1].snapshot.heap, 100 * PAGE);
	EXPECT_EQ(views[2].snapshot.heap, 99 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 0);
	EXPECT_EQ(mf_model_of(&self->ours->store)->clock_bytes, 200 * PAGE);
}

static struct mf_resync *list(enum mf_resync_reason reason, size_t n)
{
	struct mf_resync *resync = calloc(1, sizeof(*resync) + n * sizeof(resync->vmas[0]));

	resync->reason = reason;
	resync->last = true;
	resync->end = UINT64_MAX;
	resync->n_vmas = n;
	return resync;
}

static uint64_t bytes_of(struct mf_accounting *a, const char *words)
{
	uint64_t bytes;

	mf_trie_sum(&a->store, mf_accounting_note(a, words), 1, &bytes);
	return bytes;
}

TEST_F(accounting, the_start_has_words)
{
	struct mf_resync *resync = list(MF_RESYNC_EXEC, 5);

	resync->vmas[0] = (struct mf_resync_vma){.start = BASE, .end = BASE + 3 * PAGE};
	resync->vmas[0].file = mf_files_intern(&self->files, "/usr/bin/python3.11", 1, 2);
	resync->vmas[0].name = resync->vmas[0].file;
	resync->vmas[1] = (struct mf_resync_vma){.start = BASE + 3 * PAGE, .end = BASE + 4 * PAGE};
	resync->vmas[2] = (struct mf_resync_vma){.start = BASE + 9 * PAGE, .end = BASE + 10 * PAGE};
	resync->vmas[2].name = mf_files_intern(&self->files, "[heap]", 0, 0);
	resync->vmas[3] =
		(struct mf_resync_vma){.start = BASE + 12 * PAGE, .end = BASE + 14 * PAGE};
	resync->vmas[3].name = mf_files_intern(&self->files, "[stack]", 0, 0);
	resync->vmas[4] =
		(struct mf_resync_vma){.start = BASE + 20 * PAGE, .end = BASE + 25 * PAGE};
	ASSERT_EQ(mf_resync_apply(self->ours, resync, 0), 0);
	free(resync);

	EXPECT_EQ(self->ours->space.total, 12 * PAGE);
	/* A program's BSS counts as part of the data segment that it follows. */
	EXPECT_EQ(bytes_of(self->ours, "[exec] (in /usr/bin/python3.11)"), 4 * PAGE);
	EXPECT_EQ(bytes_of(self->ours, "[anon]"), 5 * PAGE);
	EXPECT_EQ(bytes_of(self->ours, "[heap]"), PAGE);
	EXPECT_EQ(bytes_of(self->ours, "[stack]"), 2 * PAGE);
	EXPECT_EQ(mf_space_find(&self->ours->space, BASE + PAGE)->offset, 0);
	EXPECT_EQ(mf_space_find(&self->ours->space, BASE + 12 * PAGE)->file, 0);
}

/* The first snapshot contains everything that was already mapped, even if the resync arrives in several parts. */
TEST_F(accounting, the_first_snapshot_is_whole)
{
	static struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];

	for (unsigned int part = 0; part < 3; part++) {
		uint64_t start = BASE + part * 100 * PAGE;
		struct mf_resync *resync = list(MF_RESYNC_ATTACH, 2);

		resync->start = start;
		resync->end = part < 2 ? start + 100 * PAGE : UINT64_MAX;
		resync->last = part == 2;
		resync->vmas[0] = (struct mf_resync_vma){.start = start, .end = start + 3 * PAGE};
		resync->vmas[1] = (struct mf_resync_vma){.start = start + 50 * PAGE,
							 .end = start + 60 * PAGE};
		ASSERT_EQ(mf_resync_apply(self->ours, resync, 0), 0);
		free(resync);
		EXPECT_EQ(mf_model_view(&self->ours->store, views), part == 2);
	}
	EXPECT_EQ(views[0].snapshot.heap, 39 * PAGE);
	EXPECT_TRUE(views[0].tree);
}

TEST_F(accounting, a_resync_keeps_what_stayed)
{
	struct mf_interval interval = {.start = BASE, .end = BASE + 10 * PAGE};
	struct mf_resync *resync = list(MF_RESYNC_LOST, 2);

	interval.context = mf_accounting_note(self->ours, "[a]");
	ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);
	/* While records were lost, pages 2 and 3 were unmapped, and pages 10 and 11 were mapped. */
	resync->vmas[0] = (struct mf_resync_vma){.start = BASE, .end = BASE + 2 * PAGE};
	resync->vmas[1] = (struct mf_resync_vma){.start = BASE + 4 * PAGE, .end = BASE + 12 * PAGE};
	ASSERT_EQ(mf_resync_apply(self->ours, resync, 0), 0);
	free(resync);
	EXPECT_EQ(bytes_of(self->ours, "[a]"), 8 * PAGE);
	EXPECT_EQ(bytes_of(self->ours, "[lost]"), 2 * PAGE);
	EXPECT_EQ(self->ours->space.total, 10 * PAGE);
	EXPECT_EQ(mf_model_of(&self->ours->store)->heap, 10 * PAGE);
}

/* Each part of a resync is authoritative only for its own range. */
TEST_F(accounting, a_part_of_a_resync_leaves_the_rest)
{
	struct mf_interval interval = {.start = BASE, .end = BASE + 10 * PAGE};
	struct mf_resync *resync = list(MF_RESYNC_LOST, 1);

	interval.context = mf_accounting_note(self->ours, "[a]");
	ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);
	resync->start = BASE + 2 * PAGE;
	resync->end = BASE + 6 * PAGE;
	resync->last = false;
	resync->vmas[0] = (struct mf_resync_vma){.start = BASE, .end = BASE + 4 * PAGE};
	ASSERT_EQ(mf_resync_apply(self->ours, resync, 0), 0);
	free(resync);
	EXPECT_EQ(bytes_of(self->ours, "[a]"), 8 * PAGE);
	EXPECT_EQ(mf_space_find(&self->ours->space, BASE + 4 * PAGE), NULL);
	EXPECT_NE(mf_space_find(&self->ours->space, BASE + 6 * PAGE), NULL);
}

TEST_F(accounting, a_fork_inherits_who_mapped_what)
{
	struct mf_resync *resync = list(MF_RESYNC_FORK, 2);
	struct mf_accounting *child;
	struct mf_interval interval;
	struct mf_walk walk = {.n = 2, .end = MF_UNWIND_CUT, .addresses = {0x1000, 0x2000}};
	struct mf_frame frames[4];
	uint32_t stack, inherited;

	/*
	 * The parent has a context that the child does not need, so that the child's context numbers differ from the
	 * parent's.
	 */
	mf_accounting_note(self->ours, "[unused]");
	stack = mf_accounting_stack(self->ours, &walk);
	interval = (struct mf_interval){.start = BASE, .end = BASE + 4 * PAGE, .context = stack};
	ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);
	interval = (struct mf_interval){.start = BASE + 4 * PAGE, .end = BASE + 6 * PAGE};
	interval.context = mf_accounting_note(self->ours, "[a]");
	ASSERT_EQ(mf_accounting_map(self->ours, &interval, 0), 0);

	ASSERT_EQ(mf_accounting_create(&options, &self->files, 0, &child, NULL), 0);
	ASSERT_EQ(mf_accounting_inherit(child, self->ours, NULL), 0);
	EXPECT_EQ(child->space.total, 0);
	/*
	 * The parent's page 0 was not copied to the child (MADV_DONTFORK), and the child's page 8 is unknown to the
	 * parent.
	 */
	resync->vmas[0] = (struct mf_resync_vma){.start = BASE + PAGE, .end = BASE + 6 * PAGE};
	resync->vmas[1] = (struct mf_resync_vma){.start = BASE + 8 * PAGE, .end = BASE + 9 * PAGE};
	ASSERT_EQ(mf_resync_apply(child, resync, 0), 0);
	free(resync);

	EXPECT_EQ(child->space.total, 6 * PAGE);
	EXPECT_EQ(bytes_of(child, "[a]"), 2 * PAGE);
	EXPECT_EQ(bytes_of(child, "[lost]"), PAGE);
	inherited = mf_space_find(&child->space, BASE + PAGE)->context;
	EXPECT_EQ(mf_trie_frames(&child->store, inherited, frames, 4), 3);
	EXPECT_EQ(frames[0].pc, 0x1000);
	EXPECT_EQ(frames[1].pc, 0x2000);
	EXPECT_EQ(mf_objects_record(&child->store, frames[2].object)->kind, MF_OBJECT_NOTE);
	/*
	 * No page was mapped and unmapped again, so the clock, which counts bytes, equals the number of mapped bytes.
	 */
	EXPECT_EQ(mf_model_of(&child->store)->clock_bytes, 6 * PAGE);
	mf_accounting_destroy(child);
}

TEST_HARNESS_MAIN
