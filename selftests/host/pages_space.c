// SPDX-License-Identifier: GPL-2.0
// After any sequence of operations, the tree of mappings equals a plain array of pages.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "pages/space.h"

#define PAGE  4096ull
#define PAGES 512u

/* The oracle: the state of each page. */
struct page {
	bool mapped;
	uint32_t context, file;
	uint64_t offset; /* offset of the page in the file */
};

static struct page pages[PAGES];
static uint64_t left_bytes[8]; /* for each context, the number of removed bytes that were reported to on_left() */
static uint64_t last_left;
static bool left_in_order;

static void on_left(const struct mf_interval *part, void *data)
{
	left_bytes[part->context] += part->end - part->start;
	left_in_order &= part->start >= last_left;
	last_left = part->end;
}

static uint64_t pages_left(uint32_t context, uint32_t first, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = first; i < first + n; i++)
		if (pages[i].mapped && pages[i].context == context)
			bytes += PAGE;
	return bytes;
}

static bool same(const struct page *page, const struct mf_interval *interval, uint64_t address)
{
	return page->context == interval->context && page->file == interval->file &&
	       (!page->file || page->offset == interval->offset + (address - interval->start));
}

/*
 * Returns whether @space equals the test's array of pages: each page and both sums are equal, and the intervals are in
 * order.
 */
static bool equal(const struct mf_space *space)
{
	const struct mf_interval *interval, *before = NULL;
	uint64_t total = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < PAGES; i++) {
		interval = mf_space_find(space, i * PAGE + 8);
		if (!interval != !pages[i].mapped)
			return false;
		if (interval && !same(&pages[i], interval, i * PAGE))
			return false;
	}
	for (interval = mf_space_next(space, 0); interval;
	     interval = mf_space_next(space, interval->end)) {
		if (interval->start >= interval->end || (before && before->end > interval->start))
			return false;
		total += interval->end - interval->start;
		count++;
		before = interval;
	}
	return total == space->total && count == space->count;
}

static bool equal_hole(const struct mf_space *space, uint32_t first, uint32_t n)
{
	uint32_t start = first, end;
	uint64_t hole_start, hole_end;
	bool hole = mf_space_hole(space, first * PAGE, (first + n) * PAGE, &hole_start, &hole_end);

	while (start < first + n && pages[start].mapped)
		start++;
	for (end = start; end < first + n && !pages[end].mapped;)
		end++;
	if (start == first + n)
		return !hole;
	return hole && hole_start == start * PAGE && hole_end == end * PAGE;
}

FIXTURE(space)
{
	struct mf_space space;
};

FIXTURE_SETUP(space)
{
	mf_space_init(&self->space);
	memset(pages, 0, sizeof(pages));
}

FIXTURE_TEARDOWN(space)
{
	mf_space_deinit(&self->space);
}

TEST_F(space, random_operations_equal_an_array)
{
	srandom(20);
	for (int step = 0; step < 20000; step++) {
		uint32_t first = (uint32_t)random() % PAGES, n, operation = (uint32_t)random() % 8;
		struct mf_interval interval = {.start = first * PAGE};
		uint64_t expected[8];
		int code;

		n = 1 + (uint32_t)random() % (random() % 4 ? 8 : PAGES);
		if (n > PAGES - first)
			n = PAGES - first;
		interval.end = (first + n) * PAGE;
		interval.context = (uint32_t)random() % 8;
		if (random() % 2) {
			interval.file = 1 + (uint32_t)random() % 2;
			/*
			 * The file offset of each mapping equals its address. Mappings of a file that are adjacent in
			 * memory are therefore adjacent in the file as well, so mf_space_add() can merge them.
			 */
			interval.offset = first * PAGE;
		}
		for (uint32_t context = 0; context < 8; context++)
			expected[context] = pages_left(context, first, n);
		memset(left_bytes, 0, sizeof(left_bytes));
		last_left = 0;
		left_in_order = true;

		if (operation == 7) {
			memset(expected, 0, sizeof(expected));
			code = mf_space_set_file(&self->space, interval.start, interval.end,
						 interval.file, interval.offset);
		} else if (operation >= 4) {
			code = mf_space_remove(&self->space, interval.start, interval.end, on_left,
					       NULL);
		} else {
			code = mf_space_add(&self->space, &interval, on_left, NULL);
		}
		ASSERT_EQ(code, 0);
		ASSERT_TRUE(left_in_order);
		ASSERT_EQ(memcmp(expected, left_bytes, sizeof(expected)), 0);

		for (uint32_t i = first; i < first + n; i++) {
			if (operation == 7) {
				pages[i].file = interval.file;
				pages[i].offset = i * PAGE;
				continue;
			}
			pages[i] = (struct page){.mapped = operation < 4,
						 .context = interval.context,
						 .file = interval.file,
						 .offset = i * PAGE};
		}
		if (step % 16 == 0)
			ASSERT_TRUE(equal(&self->space));
		ASSERT_TRUE(equal_hole(&self->space, first / 2, n));
	}
	ASSERT_TRUE(equal(&self->space));
}

/* brk() extends the heap page by page with the same call stack: the result is a single mapping. */
TEST_F(space, neighbours_of_one_context_are_one)
{
	for (uint64_t i = 0; i < 1000; i++) {
		struct mf_interval page = {.start = i * PAGE, .end = i * PAGE + PAGE, .context = 5};

		ASSERT_EQ(mf_space_add(&self->space, &page, NULL, NULL), 0);
	}
	EXPECT_EQ(self->space.count, 1);
	EXPECT_EQ(self->space.total, 1000 * PAGE);
}

TEST_F(space, refuses_what_is_no_range)
{
	struct mf_interval odd = {.start = 1, .end = PAGE}, empty = {.start = PAGE, .end = PAGE};

	EXPECT_EQ(mf_space_add(&self->space, &odd, NULL, NULL), -EINVAL);
	EXPECT_EQ(mf_space_add(&self->space, &empty, NULL, NULL), -EINVAL);
	EXPECT_EQ(mf_space_remove(&self->space, PAGE, 0, NULL, NULL), -EINVAL);
	EXPECT_EQ(self->space.count, 0);
}

/* A hundred thousand mappings, in an order that would make a plain tree degenerate into a list. */
TEST_F(space, stays_fast_when_large)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct mf_interval page = {
			.start = 2 * i * PAGE, .end = (2 * i + 1) * PAGE, .context = (uint32_t)i};

		ASSERT_EQ(mf_space_add(&self->space, &page, NULL, NULL), 0);
	}
	EXPECT_EQ(self->space.count, 100000);
	for (uint64_t i = 0; i < 1000000; i++)
		ASSERT_NE(mf_space_find(&self->space, i % 100000 * 2 * PAGE), NULL);
	ASSERT_EQ(mf_space_remove(&self->space, PAGE, 200000 * PAGE, NULL, NULL), 0);
	EXPECT_EQ(self->space.count, 1);
	/* The tree reuses the nodes of removed mappings. */
	EXPECT_LT(self->space.n_nodes, 100010);
}

TEST_HARNESS_MAIN
