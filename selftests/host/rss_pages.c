// SPDX-License-Identifier: GPL-2.0
// What live blocks use of each page, and which contexts keep a page's free memory: random blocks, compared with a count of
// every single byte.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/blocks.h"
#include "model/model.h"
#include "model/own_ranges.h"
#include "model/trie.h"
#include "residency/heap_pages.h"
#include "residency/pagemap.h"

#define PAGE	 4096ull
#define START	 0x7f0000000000ull
#define PAGES	 64u
#define CONTEXTS 5u

FIXTURE(pages) {
	struct mf_store store;
	struct mf_heap_pages pages;
	uint32_t contexts[CONTEXTS];
	/* of each byte: the number of the context whose live block it is in, plus 1; USED: overhead of a block */
	uint8_t bytes[PAGES * PAGE];
	uint64_t live[CONTEXTS];
};

#define USED 0xff

FIXTURE_SETUP(pages)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10, .alignment = 16 };
	struct mf_error err;

	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	mf_model_init(&self->store, &options);
	mf_blocks_set_distance(&self->store, 32);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		self->contexts[i] = mf_trie_context(
			&self->store, mf_trie_child(&self->store, MF_NODE_ROOT, (struct mf_frame){ .pc = 0x1000 + i }));
	self->pages.page = PAGE;
	self->pages.is_glibc = true;
}

FIXTURE_TEARDOWN(pages)
{
	mf_heap_pages_deinit(&self->pages);
	mf_store_detach(&self->store);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Lays chunks of glibc's allocator side by side, about half of which hold a live block. */
static void lay_chunks(FIXTURE_DATA(pages) *self, uint64_t seed)
{
	uint64_t at = 0;

	for (;;) {
		uint64_t size = next(&seed) % (next(&seed) % 8 ? 200 : 20000);
		uint64_t chunk = ((size < 24 ? 24 : size) + 8 + 15) & ~15ull;
		uint32_t context = (uint32_t)(next(&seed) % CONTEXTS);
		struct mf_block block = {
			.address = START + at + 16,
			.size = size,
			.capacity = mf_blocks_capacity(size, 16),
			.context = self->contexts[context],
		};

		if (at + chunk + 8 > PAGES * PAGE)
			return;
		if (next(&seed) % 2 && mf_blocks_put(&self->store, &block)) {
			memset(self->bytes + at + 8, USED, chunk);
			memset(self->bytes + at + 16, (int)context + 1, size);
			self->live[context] += size;
		}
		at += chunk;
	}
}

TEST_F(pages, of_random_blocks)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		uint64_t pinned = 0, expected_pinned = 0, untouched = 0, expected_untouched = 0, live[CONTEXTS] = { 0 };
		struct mf_residency_site *sites;
		struct mf_heap_range *range;
		size_t n = 0;

		memset(self->bytes, 0, sizeof(self->bytes));
		memset(self->live, 0, sizeof(self->live));
		mf_heap_pages_deinit(&self->pages);
		self->pages.is_glibc = true;
		lay_chunks(self, seed);
		/* A range below, so that ranges must be told apart. */
		ASSERT_NE(NULL, mf_heap_pages_add(&self->pages, START - 8 * PAGE, START - 4 * PAGE));
		range = mf_heap_pages_add(&self->pages, START, START + PAGES * PAGE);
		ASSERT_NE(NULL, range);
		range->is_arena = true;
		for (uint32_t i = 0; i < PAGES; i++)
			range->states[i] = i % 3 == 0 ? 0 : MF_PAGE_PRESENT;
		mf_heap_pages_fill(&self->pages, &self->store);
		ASSERT_EQ(0, mf_heap_pages_list_sites(&self->pages, &self->store, &sites, &n));
		range = &self->pages.ranges[1];
		for (uint32_t i = 0; i < PAGES; i++) {
			uint64_t page_live = 0, used = 0;

			for (uint64_t k = i * PAGE; k < (i + 1) * PAGE; k++) {
				page_live += self->bytes[k] && self->bytes[k] != USED;
				used += self->bytes[k] != 0;
			}
			ASSERT_EQ(page_live, range->live[i]);
			ASSERT_EQ(used, range->used[i]);
			if (!range->states[i])
				expected_untouched += page_live;
			else if (page_live)
				expected_pinned += PAGE - used;
		}
		for (size_t i = 0; i < n; i++) {
			ASSERT_GT(CONTEXTS, sites[i].context);
			live[sites[i].context] += sites[i].live;
			pinned += sites[i].pinned;
			untouched += sites[i].untouched;
		}
		EXPECT_EQ(expected_pinned, pinned);
		EXPECT_EQ(expected_untouched, untouched);
		EXPECT_EQ(0, memcmp(live, self->live, sizeof(live)));
		EXPECT_EQ(0, self->pages.ranges[0].n_blocks);
		free(sites);
		for (uint64_t at = 0; at < PAGES * PAGE; at += 16) {
			struct mf_block block;

			mf_blocks_take(&self->store, START + at, &block);
		}
	}
}

/* Two contexts share a page: its free bytes are divided in proportion to their live bytes. */
TEST_F(pages, that_are_shared)
{
	const struct mf_block blocks[] = {
		{ START + 16, 1000, 1008, self->contexts[0] }, { START + 2064, 500, 512, self->contexts[1] },
	};
	struct mf_residency_site *sites;
	struct mf_heap_range *range = mf_heap_pages_add(&self->pages, START, START + PAGE);
	uint64_t free_bytes = PAGE - 1008 - 512;
	size_t n = 0;

	ASSERT_NE(NULL, range);
	range->is_arena = true;
	range->states[0] = MF_PAGE_PRESENT;
	ASSERT_TRUE(mf_blocks_put(&self->store, &blocks[0]));
	ASSERT_TRUE(mf_blocks_put(&self->store, &blocks[1]));
	mf_heap_pages_fill(&self->pages, &self->store);
	ASSERT_EQ(0, mf_heap_pages_list_sites(&self->pages, &self->store, &sites, &n));
	ASSERT_EQ(2, n);
	EXPECT_EQ(free_bytes * 2 / 3, sites[0].pinned);
	EXPECT_EQ(free_bytes - free_bytes * 2 / 3, sites[1].pinned);
	free(sites);
}

/* A large block of glibc has pages of its own, which hold nothing else; other allocators' blocks have none. */
TEST_F(pages, of_a_large_block)
{
	const struct mf_block block = { START + 16, 5 * PAGE, 5 * PAGE, self->contexts[0] };
	const struct mf_heap_range *range;

	ASSERT_TRUE(mf_blocks_put(&self->store, &block));
	for (int i = 0; i < 2; i++) {
		mf_heap_pages_deinit(&self->pages);
		self->pages.is_glibc = !i;
		range = mf_heap_pages_add(&self->pages, START, START + 8 * PAGE);
		ASSERT_NE(NULL, range);
		mf_heap_pages_fill(&self->pages, &self->store);
		EXPECT_EQ(PAGE - 16, range->live[0]);
		EXPECT_EQ(i ? PAGE - 16 : PAGE, range->used[0]);
		EXPECT_EQ(16, range->live[5]);
		EXPECT_EQ(i ? 16 : PAGE, range->used[5]);
		EXPECT_EQ(0, range->used[6]);
	}
}

/* Parts without blocks are told from others: a block at the end of a part, and one that reaches into the next but one. */
TEST_F(pages, of_parts_without_blocks)
{
	const uint64_t part = MF_HEAP_PART * PAGE;
	const struct mf_block blocks[] = {
		{ START + part - 64, 48, 48, self->contexts[0] },
		{ START + 3 * part - 64, part + 128, part + 128, self->contexts[1] },
	};
	const uint8_t expected[] = { 1, 0, 1, 1, 1, 0 };
	const struct mf_heap_range *range;

	ASSERT_TRUE(mf_blocks_put(&self->store, &blocks[0]));
	ASSERT_TRUE(mf_blocks_put(&self->store, &blocks[1]));
	range = mf_heap_pages_add(&self->pages, START, START + 6 * part);
	ASSERT_NE(NULL, range);
	ASSERT_EQ(0, mf_heap_pages_fill(&self->pages, &self->store));
	EXPECT_EQ(0, memcmp(expected, range->has_blocks, sizeof(expected)));
	EXPECT_EQ(48, range->live[MF_HEAP_PART - 1]);
	EXPECT_EQ(64, range->live[4 * MF_HEAP_PART]);
}

/* So many blocks that they are copied, and so many that they are not: what is found is the same. */
static void have_many(struct __test_metadata *_metadata, FIXTURE_DATA(pages) *self, uint64_t n)
{
	struct mf_residency_site *sites;
	struct mf_heap_range *range;
	uint64_t pinned = 0, live = 0, expected = 0;
	struct mf_block block;
	size_t n_sites = 0;

	for (uint64_t i = 0; i < n; i++) {
		block = (struct mf_block){ START + 16 + 32 * i, 20, 32, self->contexts[i % CONTEXTS] };

		ASSERT_TRUE(mf_blocks_put(&self->store, &block));
	}
	range = mf_heap_pages_add(&self->pages, START, START + (32 * n / PAGE + 2) * PAGE);
	ASSERT_NE(NULL, range);
	range->is_arena = true;
	memset(range->states, MF_PAGE_PRESENT, 32 * n / PAGE + 2);
	mf_heap_pages_fill(&self->pages, &self->store);
	EXPECT_EQ(n > 1u << 20, self->pages.blocks.lacks_copy);
	ASSERT_EQ(0, mf_heap_pages_list_sites(&self->pages, &self->store, &sites, &n_sites));
	ASSERT_EQ(CONTEXTS, n_sites);
	for (size_t i = 0; i < n_sites; i++) {
		live += sites[i].live;
		pinned += sites[i].pinned;
	}
	range = &self->pages.ranges[0];
	for (uint64_t i = 0; i < 32 * n / PAGE + 2; i++)
		expected += range->live[i] ? PAGE - range->used[i] : 0;
	EXPECT_EQ(20 * n, live);
	EXPECT_EQ(expected, pinned);
	free(sites);
	/* Later, the blocks are few enough for a copy: the first sample that finds so has none yet, but the same blocks. */
	while (n > 1000)
		mf_blocks_take(&self->store, START + 16 + 32 * --n, &block);
	for (int i = 0; i < 2; i++) {
		bool lacked = self->pages.blocks.lacks_copy;

		mf_heap_pages_reset(&self->pages);
		range = mf_heap_pages_add(&self->pages, START, START + (32 * n / PAGE + 2) * PAGE);
		ASSERT_NE(NULL, range);
		mf_heap_pages_fill(&self->pages, &self->store);
		EXPECT_EQ(lacked && i == 0, self->pages.blocks.lacks_copy);
		EXPECT_EQ(1000, range->n_blocks);
	}
}

TEST_F_TIMEOUT(pages, of_many_blocks, 120)
{
	have_many(_metadata, self, 1u << 20);
}

TEST_F_TIMEOUT(pages, of_one_block_too_many, 120)
{
	have_many(_metadata, self, (1u << 20) + 1);
}

TEST_F_TIMEOUT(pages, of_ten_times_as_many_blocks, 120)
{
	have_many(_metadata, self, 10u << 20);
}

static int64_t blocks_of(int memory)
{
	struct stat st;

	return fstat(memory, &st) ? -1 : st.st_blocks;
}

/* A sample reads only what was written into the session memory: other pages would be allocated by being read. */
TEST_F(pages, of_a_table_with_holes)
{
	struct mf_store store;
	struct mf_error err;
	int64_t before;
	int memory;

	ASSERT_EQ(0, mf_store_create(&store, 512ull << 20, &memory, &err));
	mf_blocks_set_distance(&store, 32);
	/* One block in each of three leaves; the third is at the very end of its leaf, and its size beyond it. */
	for (uint64_t i = 0; i < 3; i++) {
		const struct mf_block block = {
			START + (i << 23) + (i == 2 ? (1u << 23) - 16 : 4096 * i), 100, 112, self->contexts[0],
		};

		ASSERT_TRUE(mf_blocks_put(&store, &block));
		ASSERT_NE(NULL, mf_heap_pages_add(&self->pages, block.address & ~(PAGE - 1),
						  (block.address & ~(PAGE - 1)) + 2 * PAGE));
	}
	before = blocks_of(memory);
	self->pages.blocks.memory = memory;
	mf_heap_pages_fill(&self->pages, &store);
	EXPECT_EQ(before, blocks_of(memory));
	EXPECT_EQ(3, self->pages.blocks.n);
	for (size_t i = 0; i < 3; i++) {
		EXPECT_EQ(1, self->pages.ranges[i].n_blocks);
		EXPECT_EQ(100, self->pages.ranges[i].live[0] + self->pages.ranges[i].live[1]);
	}
	/* Reading everything allocates pages; otherwise this test would show nothing. */
	self->pages.blocks.memory = 0;
	mf_heap_pages_fill(&self->pages, &store);
	EXPECT_LT(before, blocks_of(memory));
	mf_store_detach(&store);
	close(memory);
}

/*
 * A large table is read by a thread, a small one is not. What is entered is the same, also if the thread's blocks have been
 * forgotten before.
 */
TEST_F_TIMEOUT(pages, of_a_table_that_a_thread_reads, 60)
{
	const uint64_t span = 256ull << 20;
	struct mf_heap_range *range;
	struct mf_store store;
	struct mf_error err;
	uint64_t live = 0, n = 0;
	int memory;

	ASSERT_EQ(0, mf_store_create(&store, 1ull << 30, &memory, &err));
	mf_blocks_set_distance(&store, 32);
	mf_live_blocks_change(&self->pages.blocks, memory);
	for (uint64_t at = 0; at < span; at += 1000 + at % 3000, n++) {
		const struct mf_block block = { START + (at & ~15ull) + 16, 100, 112, self->contexts[n % CONTEXTS] };

		ASSERT_TRUE(mf_blocks_put(&store, &block));
		if (n == 10) {
			ASSERT_EQ(0, mf_live_blocks_begin(&self->pages.blocks, &store));
			EXPECT_FALSE(self->pages.blocks.runs);
		}
	}
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, mf_live_blocks_begin(&self->pages.blocks, &store));
		EXPECT_TRUE(self->pages.blocks.runs);
		if (round < 2)
			mf_heap_pages_reset(&self->pages);
		EXPECT_EQ(round < 2, !self->pages.blocks.runs);
	}
	range = mf_heap_pages_add(&self->pages, START, START + span + 2 * PAGE);
	ASSERT_NE(NULL, range);
	range->is_arena = true;
	ASSERT_EQ(0, mf_heap_pages_fill(&self->pages, &store));
	EXPECT_FALSE(self->pages.blocks.runs);
	EXPECT_EQ(n, self->pages.blocks.n);
	EXPECT_EQ(n, self->pages.ranges[0].n_blocks);
	for (uint64_t i = 0; i < span / PAGE + 2; i++)
		live += self->pages.ranges[0].live[i];
	EXPECT_EQ(100 * n, live);
	mf_store_detach(&store);
	close(memory);
}

/*
 * A sample remembers which parts of the table of blocks have been written to. The next sample also finds blocks in
 * parts written since, wherever these lie relative to the remembered ones.
 */
TEST_F(pages, of_a_table_that_grows)
{
	/* In pages of the table: each has the blocks of 32 KiB. */
	static const uint64_t steps[][3] = { { 20, 60 }, { 20, 60, 200 }, { 19, 61, 5 }, { 40, 21, 22 }, { 0, 201, 255 } };
	bool is_written[256] = { false };
	struct mf_store store;
	struct mf_error err;
	int memory;

	ASSERT_EQ(0, mf_store_create(&store, 512ull << 20, &memory, &err));
	mf_blocks_set_distance(&store, 32);
	self->pages.blocks.memory = memory;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t n = 0;
		int64_t before;

		for (size_t k = 0; k < 3; k++) {
			const struct mf_block block = { START + (steps[i][k] << 15) + 16, 20, 32, self->contexts[0] };

			if (!is_written[steps[i][k]])
				ASSERT_TRUE(mf_blocks_put(&store, &block));
			is_written[steps[i][k]] = true;
		}
		for (size_t k = 0; k < 256; k++)
			n += is_written[k];
		before = blocks_of(memory);
		mf_heap_pages_reset(&self->pages);
		ASSERT_EQ(0, mf_heap_pages_fill(&self->pages, &store));
		EXPECT_EQ(n, self->pages.blocks.n) TH_LOG("step %zu", i);
		EXPECT_EQ(before, blocks_of(memory));
	}
	self->pages.blocks.memory = -1;
	EXPECT_EQ(-EBADF, mf_heap_pages_fill(&self->pages, &store));
	mf_store_detach(&store);
	close(memory);
}

static size_t count_own(const struct mf_store_header *header)
{
	size_t n = 0;

	for (size_t i = 0; i < MF_STORE_OWN_MAX; i++)
		n += header->own[i].start && header->own[i].end == header->own[i].start + PAGE;
	return n;
}

/* The list of the shim's mappings: at its limit, one more, ten times as many; and what is removed leaves room. */
TEST_F(pages, of_massif)
{
	struct mf_store_header *header = self->store.header;

	for (uint64_t i = 1; i <= 10 * 512; i++) {
		mf_own_ranges_note(header, i * 2 * PAGE, i * 2 * PAGE + PAGE);
		EXPECT_EQ(i < 512 ? i : 512, count_own(header));
	}
	mf_own_ranges_forget(header, 77 * 2 * PAGE);
	mf_own_ranges_forget(header, 513 * 2 * PAGE);
	EXPECT_EQ(511, count_own(header));
	mf_own_ranges_note(header, START, START + PAGE);
	EXPECT_EQ(512, count_own(header));
	EXPECT_EQ(START, header->own[76].start);
}

/* A mapping that begins where an arena could is one if it has blocks, but for a large one at its start. */
TEST_F(pages, of_what_may_be_an_arena)
{
	const struct mf_block large = { START + 16, 5 * PAGE, 5 * PAGE, self->contexts[0] };
	const struct mf_block small = { START + 48, 5 * PAGE, 5 * PAGE, self->contexts[0] };
	const struct mf_block *const blocks[] = { NULL, &large, &small };
	struct mf_block taken;

	for (int i = 0; i < 3; i++) {
		struct mf_heap_range *range;

		mf_heap_pages_deinit(&self->pages);
		self->pages.is_glibc = true;
		range = mf_heap_pages_add(&self->pages, START, START + 8 * PAGE);
		ASSERT_NE(NULL, range);
		range->may_be_arena = true;
		if (blocks[i])
			ASSERT_TRUE(mf_blocks_put(&self->store, blocks[i]));
		mf_heap_pages_fill(&self->pages, &self->store);
		EXPECT_EQ(i == 2, mf_heap_pages_are_free(&self->pages, range));
		if (blocks[i])
			EXPECT_TRUE(mf_blocks_take(&self->store, blocks[i]->address, &taken));
	}
}

/* What the program writes into its table must not lead outside the pages. */
TEST_F(pages, of_blocks_that_cannot_be)
{
	const struct mf_block blocks[] = {
		{ START + 16, 1ull << 62, 1ull << 62, self->contexts[0] }, { START + 2 * PAGE - 32, PAGE, PAGE, 1u << 21 },
		{ START + 10 * PAGE, 100, 112, self->contexts[1] },
	};
	const struct mf_heap_range *range = mf_heap_pages_add(&self->pages, START, START + 2 * PAGE);
	struct mf_residency_site *sites;
	size_t n = 0;

	ASSERT_NE(NULL, range);
	for (size_t i = 0; i < 3; i++)
		ASSERT_TRUE(mf_blocks_put(&self->store, &blocks[i]));
	mf_heap_pages_fill(&self->pages, &self->store);
	EXPECT_EQ(100, self->pages.outside);
	EXPECT_EQ(PAGE, range->live[1]);
	self->store.header->n_contexts = UINT32_MAX;
	ASSERT_EQ(0, mf_heap_pages_list_sites(&self->pages, &self->store, &sites, &n));
	EXPECT_EQ(0, n);
	free(sites);
}

TEST_HARNESS_MAIN
