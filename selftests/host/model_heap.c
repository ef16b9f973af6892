// SPDX-License-Identifier: GPL-2.0
// Random allocations, frees and reallocations leave the model in the same state as a simple list of blocks, even if
// most events change only the tally of one thread.

#include "kselftest_harness.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/rewind.h"
#include "model/stacks.h"
#include "model/tally.h"
#include "model/trie.h"
#include "selftests/lib/model_oracle.h"

#define ADDRESSES 3000

static struct mf_store store;
static struct oracle oracle;
/* the store's contexts, indexed by their numbers in the oracle, the simple model that the store is compared with */
static uint32_t contexts[ORACLE_CONTEXTS];

/*
 * n_tallies: number of tallies, one per simulated thread. in_tallies: number of events that changed only a tally.
 * n_delayed: number of frees that a tally delayed until its thread's next event.
 */
static uint32_t n_tallies, in_tallies, n_delayed;
static struct mf_tally_ctx desks[MF_SHARDS_MAX];

static void start_tallies(uint32_t n)
{
	n_tallies = n;
	in_tallies = n_delayed = 0;
	for (uint32_t i = 0; i < n; i++)
		mf_tally_begin(&store, i);
	for (uint32_t i = 0; i < n; i++)
		desks[i] = mf_tally_ctx_of(&store, i);
	mf_tally_grant(&store);
}

/* Before a thread's next event, carries out the free that the thread's tally deferred, if there is one. */
static void settle(uint32_t number)
{
	if (!n_tallies || mf_tally_settle(&desks[number], true))
		return;
	mf_tally_fold(&store);
	mf_tally_grant(&store);
}

static bool is_any_free_delayed(void)
{
	for (uint32_t i = 0; i < n_tallies; i++)
		if (desks[i].tally->delayed_free)
			return true;
	return false;
}

/*
 * Selects a random thread for the event at time @now and carries out the thread's delayed free, if there is one. If the
 * time unit is ms and a snapshot is due, first withdraws the allowances of all tallies, as massif-ctl does, so that the
 * model handles the next event and takes the snapshot. Returns the thread's number.
 */
static uint32_t turn(uint64_t *seed, int64_t now)
{
	const struct mf_model *model = mf_model_of(&store);
	uint32_t number;

	store.header->snapshot_due = 0;
	if (model->options.time_unit == MF_TIME_MS && now >= model->next_allowed)
		mf_tally_hurry(&store);
	number = n_tallies ? (uint32_t)oracle_below(seed, n_tallies) : 0;
	settle(number);
	/*
	 * A free may be delayed until the thread's next event only while the program has a single thread. Before a
	 * second thread starts, the shim adds all tallies to the totals and carries out the delayed free. Do the same
	 * here if a free is still delayed.
	 */
	if (is_any_free_delayed()) {
		mf_tally_fold(&store);
		mf_tally_grant(&store);
	}
	return number;
}

static void alloc_event(uint64_t *seed, uint64_t address, uint64_t size, uint32_t context,
			int64_t now)
{
	uint32_t number = turn(seed, now);

	if (n_tallies && mf_tally_alloc(&desks[number], address, size, context, true)) {
		in_tallies++;
		return;
	}
	mf_tally_fold(&store);
	mf_heap_alloc(&store, address, size, context, now);
	mf_tally_grant(&store);
}

static void free_event(uint64_t *seed, uint64_t address, int64_t now)
{
	uint32_t number = turn(seed, now);
	struct mf_block block;

	if (n_tallies && oracle_below(seed, 2) && mf_tally_delay_free(&desks[number], address)) {
		n_delayed++;
		return;
	}
	if (n_tallies && mf_tally_free(&desks[number], address, &block, true)) {
		in_tallies++;
		return;
	}
	mf_tally_fold(&store);
	mf_heap_free(&store, address, now);
	mf_tally_grant(&store);
}

static void stacks_event(uint64_t *seed, int64_t change, int64_t now)
{
	uint32_t number = turn(seed, now);

	if (n_tallies && mf_tally_stacks(&desks[number], change)) {
		in_tallies++;
		return;
	}
	mf_tally_fold(&store);
	mf_stacks_change(&store, change, now);
	mf_tally_grant(&store);
}

static bool realloc_begin_event(uint64_t address, struct mf_block *block)
{
	for (uint32_t i = 0; i < n_tallies; i++)
		settle(i);
	return (n_tallies && mf_tally_realloc_begin(&desks[0], address, block)) ||
	       mf_heap_realloc_begin(&store, address, block);
}

static void realloc_end_event(uint64_t *seed, const struct mf_block *old, uint64_t address,
			      uint64_t size, uint32_t context, int64_t now)
{
	uint32_t number = turn(seed, now);

	if (n_tallies && mf_tally_realloc_end(&desks[number], old, address, size, context)) {
		in_tallies++;
		return;
	}
	mf_tally_fold(&store);
	mf_heap_realloc_shrinks(&store, old, size, now);
	mf_heap_realloc_end(&store, old, address, size, context, now);
	mf_tally_grant(&store);
}

static int start(const struct mf_model_options *options)
{
	if (mf_store_create(&store, 0, NULL, NULL))
		return -1;
	mf_model_init(&store, options);
	oracle_init(&oracle, options);
	mf_model_attempt(&store, 0);
	oracle_attempt(&oracle, 0);
	return 0;
}

/* Returns the store's context for context @number of the simple model; creates it if @number is the next unused one. */
static uint32_t context_of(int number)
{
	struct mf_frame frames[2] = { { .pc = 0x401000 + (uint64_t)number }, { .pc = 0x400fff } };

	if (number == ORACLE_IGNORED)
		return MF_CONTEXT_IGNORED;
	if (number == oracle.n_contexts) {
		contexts[number] = mf_trie_insert(&store, frames, 2);
		oracle.n_contexts++;
	}
	return contexts[number];
}

/*
 * Returns an address of a random kind: close to others, as for small blocks; within 16 bytes of another; near a
 * multiple of 4 MiB; far from all others; or the highest one.
 */
static uint64_t random_address(uint64_t *seed)
{
	uint64_t i = oracle_below(seed, ADDRESSES);

	switch (i % 5) {
	case 0:
		return 0x555555000000 + i * 16;
	case 1:
		return 0x555555800000 + i; /* odd addresses, several in each granule of the table of blocks */
	case 2:
		return 0x7f0000400000 - 16 * 8 + i % 16 * 16;
	case 3:
		return 0x10000000 * (1 + i % 64) + i * 48;
	default:
		return 0x7ffffffff000 - i * 8;
	}
}

static uint64_t random_size(uint64_t *seed)
{
	switch (oracle_below(seed, 40)) {
	case 0:
		return 0;
	case 1: /* near 4 MiB - 64; the capacity of a larger block is rounded up to whole pages minus 64 bytes */
		return 4194240 - 40 + oracle_below(seed, 80);
	case 2: /* too large for the usual entries in the table of blocks */
		return (1ull << 40) - 5 + oracle_below(seed, 10);
	case 3:
		return (1ull << 41) + oracle_below(seed, 1000);
	case 4:
		return oracle_below(seed, 100000000);
	default:
		return oracle_below(seed, 300);
	}
}

static int random_context(uint64_t *seed)
{
	int limit = oracle.n_contexts < ORACLE_CONTEXTS ? oracle.n_contexts + 1 : ORACLE_CONTEXTS;

	if (!oracle_below(seed, 12))
		return ORACLE_IGNORED;
	return (int)oracle_below(seed, (uint64_t)limit);
}

static uint64_t a_live_address(uint64_t *seed)
{
	if (!oracle.n_blocks || !oracle_below(seed, 20))
		return random_address(seed); /* usually not the address of a block */
	return oracle.blocks[oracle_below(seed, (uint64_t)oracle.n_blocks)].address;
}

/*
 * Reallocates the block at a random address, if there is one. Returns whether the model and the oracle (a simple list
 * of blocks) agree on what is at that address: no block, or a block of a certain size and capacity.
 */
static bool realloc_somehow(uint64_t *seed, int64_t now)
{
	uint64_t address = a_live_address(seed), moved, size;
	struct oracle_block before;
	struct mf_block block;
	int context;

	if (!oracle_take(&oracle, address, &before))
		return !realloc_begin_event(address, &block);
	if (!realloc_begin_event(address, &block) || block.size != before.size ||
	    block.capacity != before.capacity)
		return false;
	/* Another thread may allocate a block at the old address before realloc() returns. */
	if (!oracle_below(seed, 8)) {
		context = random_context(seed);
		alloc_event(seed, address, 24, context_of(context), now);
		oracle_alloc(&oracle, address, 24, context, now);
	}
	if (!oracle_below(seed, 6)) {
		mf_heap_realloc_failed(&store, &block);
		oracle_realloc_failed(&oracle, &before);
		return true;
	}
	switch (oracle_below(seed, 4)) {
	case 0: /* a size within the block's capacity */
		size = oracle_below(seed, before.capacity + 1);
		break;
	case 1:
		size = before.size;
		break;
	default:
		size = random_size(seed);
	}
	moved = oracle_below(seed, 2) ? address : random_address(seed);
	context = random_context(seed);
	realloc_end_event(seed, &block, moved, size, context_of(context), now);
	oracle_realloc_end(&oracle, &before, moved, size, context, now);
	return true;
}

FIXTURE(heap)
{
};

FIXTURE_VARIANT(heap)
{
	struct mf_model_options options;
	uint64_t seed;
	uint32_t events;
	uint32_t tallies;  /* number of threads that have a tally */
	uint32_t distance; /* distance between the allocator's blocks in bytes; 0 means the usual distance, 16 */
	uint64_t stacks;   /* maximum size of the stacks; 0: stacks are not counted */
};

FIXTURE_VARIANT_ADD(heap, defaults)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 11, .events = 200000,
};
FIXTURE_VARIANT_ADD(heap, all_detailed)
{
	.options = { 0, 10, 1, MF_TIME_BYTES, 8, 16 }, .seed = 12, .events = 100000,
};
FIXTURE_VARIANT_ADD(heap, milliseconds)
{
	.options = { 10, 50, 3, MF_TIME_MS, 8, 16 }, .seed = 13, .events = 100000,
};
FIXTURE_VARIANT_ADD(heap, no_admin)
{
	.options = { 1, 64, 5, MF_TIME_BYTES, 0, 16 }, .seed = 14, .events = 100000,
};
FIXTURE_VARIANT_ADD(heap, aligned)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 128, 4096 }, .seed = 15, .events = 100000,
};

FIXTURE_VARIANT_ADD(heap, glibc)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 16, .events = 100000,
	.distance = 32,
};
FIXTURE_VARIANT_ADD(heap, one_tally)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 17, .events = 200000,
	.tallies = 1, .distance = 32,
};
FIXTURE_VARIANT_ADD(heap, seven_tallies)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 18, .events = 200000,
	.tallies = 7,
};
FIXTURE_VARIANT_ADD(heap, tallies_of_exact_peaks)
{
	.options = { 0, 20, 1, MF_TIME_BYTES, 0, 16 }, .seed = 19, .events = 100000,
	.tallies = 3, .distance = 32,
};
FIXTURE_VARIANT_ADD(heap, exact_peaks)
{
	.options = { 0, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 22, .events = 200000,
};
FIXTURE_VARIANT_ADD(heap, one_tally_of_exact_peaks)
{
	.options = { 0, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 23, .events = 200000,
	.tallies = 1,
};
FIXTURE_VARIANT_ADD(heap, two_tallies_of_exact_peaks)
{
	.options = { 0, 1000, 1, MF_TIME_BYTES, 8, 16 }, .seed = 24, .events = 100000,
	.tallies = 2, .distance = 32,
};
FIXTURE_VARIANT_ADD(heap, seven_tallies_of_exact_peaks)
{
	.options = { 0, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 25, .events = 200000,
	.tallies = 7,
};
FIXTURE_VARIANT_ADD(heap, five_tallies_of_exact_peaks_in_milliseconds)
{
	.options = { 0, 30, 2, MF_TIME_MS, 8, 16 }, .seed = 26, .events = 100000,
	.tallies = 5,
};
FIXTURE_VARIANT_ADD(heap, tallies_of_rough_peaks)
{
	.options = { 25, 200, 3, MF_TIME_BYTES, 64, 64 }, .seed = 20, .events = 100000,
	.tallies = 2,
};
FIXTURE_VARIANT_ADD(heap, tallies_in_milliseconds)
{
	.options = { 10, 50, 3, MF_TIME_MS, 8, 16 }, .seed = 21, .events = 100000,
	.tallies = 4, .distance = 32,
};

FIXTURE_VARIANT_ADD(heap, stacks)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 27, .events = 100000,
	.stacks = 10000000,
};
FIXTURE_VARIANT_ADD(heap, stacks_of_exact_peaks)
{
	.options = { 0, 100, 1, MF_TIME_BYTES, 8, 16 }, .seed = 28, .events = 100000,
	.stacks = 100000000,
};
FIXTURE_VARIANT_ADD(heap, stacks_in_tallies)
{
	.options = { 1, 100, 10, MF_TIME_BYTES, 8, 16 }, .seed = 29, .events = 200000,
	.tallies = 3, .distance = 32, .stacks = 100000,
};
FIXTURE_VARIANT_ADD(heap, stacks_in_tallies_of_exact_peaks)
{
	.options = { 0, 20, 2, MF_TIME_BYTES, 8, 16 }, .seed = 30, .events = 100000,
	.tallies = 2, .stacks = 3000000,
};
FIXTURE_VARIANT_ADD(heap, stacks_in_tallies_in_milliseconds)
{
	.options = { 10, 50, 3, MF_TIME_MS, 8, 16 }, .seed = 31, .events = 100000,
	.tallies = 4, .stacks = 100000,
};

FIXTURE_SETUP(heap)
{
	ASSERT_EQ(0, start(&variant->options));
	if (variant->distance)
		mf_blocks_set_distance(&store, variant->distance);
	start_tallies(variant->tallies);
}

FIXTURE_TEARDOWN(heap)
{
	mf_store_detach(&store);
}

TEST_F(heap, equals_naive_list)
{
	uint64_t seed = variant->seed;
	const char *difference = NULL;
	struct mf_tally_totals look;
	int64_t now = 0;

	for (uint32_t i = 0; i < variant->events; i++) {
		uint64_t what = oracle_below(&seed, 100), address, size;
		/* The number of live blocks alternates between few and many. */
		uint64_t allocations = i / 4096 % 2 ? 25 : 45;
		int context;

		now += (int64_t)oracle_below(&seed, 3);
		if (oracle.n_blocks == ORACLE_BLOCKS - 2)
			what = 60;
		/*
		 * Change the stack bytes at the times when the shim does: right before another event, and in most cases
		 * by a small amount.
		 */
		if (variant->stacks && oracle_below(&seed, 4)) {
			uint64_t most = oracle_below(&seed, 16) ? 2000 : variant->stacks;
			int64_t change = (int64_t)oracle_below(&seed, most) - (int64_t)oracle.stacks;

			stacks_event(&seed, change ? change : 1, now);
			oracle_change_stacks(&oracle, change ? change : 1, now);
		}
		if (what < allocations) {
			address = random_address(&seed);
			size = random_size(&seed);
			context = random_context(&seed);
			alloc_event(&seed, address, size, context_of(context), now);
			oracle_alloc(&oracle, address, size, context, now);
		} else if (what < 75) {
			address = a_live_address(&seed);
			free_event(&seed, address, now);
			oracle_free(&oracle, address, now);
		} else {
			ASSERT_TRUE(realloc_somehow(&seed, now));
		}
		look = mf_tally_look(&store, now);
		ASSERT_EQ(oracle.heap, look.heap);
		ASSERT_EQ(oracle.extra, look.extra);
		/*
		 * Add the tallies to the totals only after some events, so that frees that the tallies have deferred
		 * often stay deferred.
		 */
		if (i % 64 && oracle_below(&seed, 4))
			continue;
		mf_tally_fold(&store);
		difference = oracle_totals_differ(&oracle, &store);
		if (!difference && i % 64 == 0)
			difference = oracle_snapshots_differ(&oracle, &store);
		if (!difference && i % 8192 == 0)
			difference = oracle_blocks_differ(&oracle, &store);
		ASSERT_EQ(NULL, difference)
		{
			TH_LOG("event %u: %s", i, difference);
		}
	}
	mf_tally_fold(&store);
	EXPECT_EQ(NULL, oracle_snapshots_differ(&oracle, &store));
	EXPECT_EQ(NULL, oracle_blocks_differ(&oracle, &store));
	EXPECT_EQ(0, store.header->events_lost);
	EXPECT_EQ(0, store.header->full);
	TH_LOG("%u of %u events were in tallies, %u were delayed", in_tallies, variant->events, n_delayed);
	EXPECT_LE(variant->tallies ? variant->events / 20 : 0, in_tallies);

	/* After all blocks have been freed, all totals are zero; only the clock is not. */
	while (oracle.n_blocks) {
		uint64_t last = oracle.blocks[oracle.n_blocks - 1].address;

		free_event(&seed, last, now);
		oracle_free(&oracle, last, now);
	}
	mf_tally_fold(&store);
	EXPECT_EQ(0, mf_model_of(&store)->heap);
	EXPECT_EQ(0, mf_model_of(&store)->extra);
	EXPECT_EQ(NULL, oracle_totals_differ(&oracle, &store));
	EXPECT_EQ(NULL, oracle_blocks_differ(&oracle, &store));
}

static const struct mf_model_options plain = { 1, 100, 10, MF_TIME_BYTES, 8, 16 };

/*
 * A tally may defer a free until the thread's next event. When the store is read or the program ends, a deferred free
 * counts as done.
 */
FIXTURE(delayed_free)
{
	uint32_t context;
};

FIXTURE_SETUP(delayed_free)
{
	static const struct mf_model_options slow = { 1, 100, 10, MF_TIME_MS, 8, 16 };

	ASSERT_EQ(0, start(&slow));
	self->context = context_of(0);
	/* A peak followed by a much lower total. */
	mf_heap_alloc(&store, 0x20000, 100000, self->context, 0);
	mf_heap_free(&store, 0x20000, 0);
	mf_heap_alloc(&store, 0x10000, 40, self->context, 0);
	mf_heap_alloc(&store, 0x10040, 8, self->context, 0);
	store.header->snapshot_due = 0;
	start_tallies(2);
	ASSERT_TRUE(mf_tally_delay_free(&desks[0], 0x10000));
}

FIXTURE_TEARDOWN(delayed_free)
{
	mf_store_detach(&store);
}

TEST_F(delayed_free, has_happened_for_who_looks)
{
	uint64_t bytes[1] = { 0 };

	EXPECT_EQ(8, mf_tally_look(&store, 0).heap);
	EXPECT_EQ(16, mf_tally_look(&store, 0).extra);
	ASSERT_EQ(1, mf_rewind_present(&store, bytes, 1));
	EXPECT_EQ(8, bytes[0]);
	EXPECT_EQ(48, mf_model_of(&store)->heap);
	mf_tally_fold(&store);
	EXPECT_EQ(8, mf_model_of(&store)->heap);
	EXPECT_EQ(2, mf_model_of(&store)->heap_frees);
	EXPECT_EQ(8, mf_tally_look(&store, 0).heap);
}

TEST_F(delayed_free, is_counted_at_the_end)
{
	mf_tally_close(&store);
	EXPECT_EQ(2, mf_model_of(&store)->heap_frees);
	EXPECT_EQ(1, store.header->events);
	EXPECT_EQ(8, mf_tally_look(&store, 0).heap);
}

/*
 * If a snapshot becomes due while a free is delayed, it is taken at the next event, not when the delayed free is
 * counted.
 */
TEST_F(delayed_free, leaves_the_snapshot_to_the_next_event)
{
	uint32_t before = mf_model_of(&store)->real_snapshots;

	mf_tally_hurry(&store);
	EXPECT_FALSE(mf_tally_settle(&desks[0], true));
	mf_tally_fold(&store);
	EXPECT_EQ(8, mf_model_of(&store)->heap);
	EXPECT_EQ(before, mf_model_of(&store)->real_snapshots);
}

TEST_F(delayed_free, not_where_time_is_bytes)
{
	mf_tally_fold(&store);
	mf_model_of(&store)->options.time_unit = MF_TIME_BYTES;
	mf_tally_grant(&store);
	EXPECT_FALSE(mf_tally_delay_free(&desks[0], 0x10040));
}

TEST_F(delayed_free, not_when_it_may_make_a_peak)
{
	ASSERT_TRUE(mf_tally_settle(&desks[0], true));
	mf_tally_fold(&store);
	mf_heap_alloc(&store, 0x30000, 200000, self->context, 0);
	mf_tally_grant(&store);
	EXPECT_FALSE(mf_tally_delay_free(&desks[0], 0x30000));
}

/*
 * If the program has overwritten the address of the block whose free is deferred, or the tables of blocks, invalid
 * values do no harm.
 */
TEST_F(delayed_free, takes_whatever_is_there)
{
	uint64_t seed = 77, bytes[1];

	for (int i = 0; i < 100000; i++) {
		uint64_t bits = oracle_below(&seed, 65);
		uint64_t wild = oracle_below(&seed, UINT64_MAX) & (bits ? ~0ull >> (64 - bits) : 0);
		uint32_t *slot = mf_blocks_slot(&store, 0x10000);
		uint32_t *directory = store.regions[MF_REGION_BLOCK_DIRECTORY];

		switch (i % 4) {
		case 0:
			desks[0].tally->delayed_free = wild;
			break;
		case 1:
			slot[0] = (uint32_t)wild;
			slot[1] = (uint32_t)(wild >> 32);
			break;
		case 2:
			*slot = MF_BLOCKS_WIDE | (uint32_t)wild;
			break;
		default:
			directory[0x10000 >> 4 >> MF_BLOCKS_LEAF_BITS] = (uint32_t)wild;
			break;
		}
		mf_tally_look(&store, 0);
		mf_rewind_present(&store, bytes, 1);
		mf_tally_close(&store);
		desks[0].tally->delayed_free = 0x10000;
		directory[0x10000 >> 4 >> MF_BLOCKS_LEAF_BITS] = mf_blocks_leaf_line(1);
		store.header->granule_bits = (uint32_t)oracle_below(&seed, 70);
		mf_tally_look(&store, 0);
		store.header->granule_bits = 4;
	}
}

static void count_blocks(const struct mf_block *block, void *data)
{
	uint32_t *counts = data;

	counts[0]++;
	counts[1] += block->address % 8 || block->size != (block->address % 16 ? 8 : 7);
}

/*
 * Blocks whose addresses are 8 bytes apart, as with some allocators: each block has its own slot in the table of
 * blocks, so no slot needs a chain of blocks.
 */
TEST(eight_bytes_apart)
{
	struct mf_block block = { .context = MF_CONTEXT_FIRST, .capacity = 16 };
	uint32_t counts[2] = { 0, 0 }, n_wide;

	ASSERT_EQ(0, start(&plain));
	n_wide = store.header->n_wide;
	for (uint64_t i = 0; i < 1000000; i++) {
		block.address = 0x7ffff0000000 + 8 * i;
		block.size = 7 + i % 2;
		ASSERT_TRUE(mf_blocks_put(&store, &block));
	}
#ifdef __x86_64__
	EXPECT_EQ(n_wide, store.header->n_wide);
#endif
	mf_blocks_walk(&store, count_blocks, counts);
	EXPECT_EQ(1000000, counts[0]);
	EXPECT_EQ(0, counts[1]);
	for (uint64_t i = 0; i < 1000000; i += 3) {
		ASSERT_TRUE(mf_blocks_find(&store, 0x7ffff0000000 + 8 * i, &block));
		ASSERT_TRUE(mf_blocks_take(&store, 0x7ffff0000000 + 8 * i, &block));
		ASSERT_EQ(0x7ffff0000000 + 8 * i, block.address);
		ASSERT_EQ(7 + i % 2, block.size);
		ASSERT_FALSE(mf_blocks_find(&store, 0x7ffff0000000 + 8 * i, &block));
	}
	/*
	 * A block at an address that no program can have is not entered in the table, so it cannot be mistaken for
	 * another block.
	 */
	block.address = 0x10000 + MF_BLOCKS_ODD;
	EXPECT_EQ(!MF_BLOCKS_ODD, mf_blocks_put(&store, &block));
	mf_store_detach(&store);
}

/* If there are two blocks at the same address, the later one is removed first. */
TEST(one_address_twice)
{
	struct mf_block block;

	ASSERT_EQ(0, start(&plain));
	mf_heap_alloc(&store, 0x10000, 10, context_of(0), 0);
	mf_heap_alloc(&store, 0x10000, 20, context_of(1), 0);
	EXPECT_EQ(30, mf_model_of(&store)->heap);
	ASSERT_TRUE(mf_blocks_take(&store, 0x10000, &block));
	EXPECT_EQ(20, block.size);
	ASSERT_TRUE(mf_blocks_take(&store, 0x10000, &block));
	EXPECT_EQ(10, block.size);
	EXPECT_FALSE(mf_blocks_take(&store, 0x10000, &block));
}

/*
 * Two blocks whose slots in the table of blocks are adjacent. Each block is found with its own values, regardless of
 * the order in which the two are added and removed. A block of 64 bytes or more uses two slots.
 *
 * The table has a slot for each granule of the address space, which is 16 or 32 bytes. It consists of leaves: a new
 * leaf begins at the address 0x400000 with granules of 16 bytes, and at 0x800000 with granules of 32 bytes.
 */
static const struct touching {
	const char *what;
	struct mf_block blocks[2];
} touching[] = {
	{ "neighbours", { { 0x10000, 63, 64, 5 }, { 0x10040, 64, 64, 6 } } },
	{ "two in 32 bytes", { { 0x10000, 8, 16, 5 }, { 0x10010, 8, 16, 6 } } },
	{ "a block's second granule", { { 0x10000, 64, 64, 5 }, { 0x10010, 200, 208, 6 } } },
	{ "a block's second granule of 32", { { 0x10010, 1000, 1008, 5 }, { 0x10020, 3, 16, 6 } } },
	{ "not aligned, within a block", { { 0x10000, 1000, 1008, 5 }, { 0x10018, 100, 112, 6 } } },
	{ "a leaf's last granule", { { 0x3ffff0, 5000, 5008, 5 }, { 0x400000, 200, 208, 6 } } },
	{ "the same of 32", { { 0x7ffff0, 5000, 5008, 5 }, { 0x800000, 20, 32, 6 } } },
	{ "shrunk", { { 0x10000, 20, 1024, 65535 }, { 0x10010, 100, 208, 6 } } },
	{ "shrunk, a context above", { { 0x10000, 20, 1024, 65536 }, { 0x10020, 0, 16, 65536 } } },
	{ "shrunk by more", { { 0x10000, 20, 2048, 5 }, { 0x10020, 100, 5000, 6 } } },
	{ "the last context", { { 0x10000, 1, 16, (1u << MF_BLOCKS_CONTEXT_BITS) - 1 },
				{ 0x10010, 64, 64, (1u << MF_BLOCKS_CONTEXT_BITS) - 1 } } },
	{ "large", { { 0x10000, MF_BLOCKS_ROUNDED_MAX, MF_BLOCKS_ROUNDED_MAX + 16, 5 },
		     { 0x10040, MF_BLOCKS_ROUNDED_MAX + 1, MF_BLOCKS_ROUNDED_MAX + 5000, 6 } } },
};

static bool blocks_differ(const struct mf_block *a, const struct mf_block *b)
{
	return a->address != b->address || a->size != b->size || a->capacity != b->capacity ||
	       a->context != b->context;
}

TEST(blocks_that_touch)
{
	for (unsigned int i = 0; i < 8 * ARRAY_SIZE(touching); i++) {
		const struct touching *row = &touching[i / 8];
		const struct mf_block *blocks = row->blocks;
		unsigned int first = i & 1, gone = i >> 1 & 1;
		struct mf_block block;

		ASSERT_EQ(0, start(&plain));
		mf_blocks_set_distance(&store, i & 4 ? 32 : 16);
		ASSERT_TRUE(mf_blocks_put(&store, &blocks[first]));
		ASSERT_TRUE(mf_blocks_put(&store, &blocks[!first]));
		for (unsigned int j = 0; j < 2; j++) {
			EXPECT_TRUE(mf_blocks_find(&store, blocks[j].address, &block));
			EXPECT_FALSE(blocks_differ(&blocks[j], &block))
			{
				TH_LOG("%s (%u): %lu bytes, %lu usable, context %u", row->what, i,
				       block.size, block.capacity, block.context);
			}
		}
		EXPECT_FALSE(mf_blocks_find(&store, blocks[0].address + 1, &block));
		EXPECT_TRUE(mf_blocks_take(&store, blocks[gone].address, &block));
		EXPECT_FALSE(blocks_differ(&blocks[gone], &block));
		EXPECT_FALSE(mf_blocks_take(&store, blocks[gone].address, &block));
		EXPECT_TRUE(mf_blocks_take(&store, blocks[!gone].address, &block));
		EXPECT_FALSE(blocks_differ(&blocks[!gone], &block));
		/* Both blocks have been removed: lookups no longer find either, and both slots are free again. */
		for (uint64_t address = blocks[0].address; address < blocks[0].address + 96; address += 16)
			EXPECT_FALSE(mf_blocks_take(&store, address, &block));
		EXPECT_EQ(0, *mf_blocks_slot(&store, blocks[0].address));
		EXPECT_EQ(0, *mf_blocks_slot(&store, blocks[1].address));
		mf_store_detach(&store);
	}
}

/*
 * The capacity of a block is its size plus padding, which counts as overhead. The values were observed with Massif
 * 3.19.
 */
TEST(capacity)
{
	static const struct {
		uint64_t size, capacity;
	} rows[] = {
		{ 0, 0 },	       { 1, 16 },	      { 16, 16 },
		{ 17, 32 },	       { 1000, 1008 },	      { 4194240, 4194240 },
		{ 4194256, 4198336 }, { 5000000, 5001152 },
	};

	ASSERT_EQ(0, start(&plain));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		mf_heap_alloc(&store, 0x10000, rows[i].size, context_of(0), 0);
		EXPECT_EQ(rows[i].capacity - rows[i].size + 8, mf_model_of(&store)->extra);
		mf_heap_free(&store, 0x10000, 0);
	}
}

/* A block that is resized within its capacity stays in place and keeps its capacity, even if it shrinks. */
TEST(sticky_capacity)
{
	static const uint64_t sizes[] = { 90, 10, 96, 0, 97 };
	static const uint64_t capacities[] = { 96, 96, 96, 96, 112 };
	struct mf_block block;

	ASSERT_EQ(0, start(&plain));
	mf_heap_alloc(&store, 0x10000, 90, context_of(0), 0);
	for (size_t i = 0; i < 5; i++) {
		ASSERT_TRUE(mf_heap_realloc_begin(&store, 0x10000, &block));
		mf_heap_realloc_end(&store, &block, 0x10000, sizes[i], context_of(0), 0);
		EXPECT_EQ(sizes[i], mf_model_of(&store)->heap);
		EXPECT_EQ(8 + capacities[i] - sizes[i], mf_model_of(&store)->extra);
		EXPECT_EQ(i < 4 ? 104 : 120, mf_model_of(&store)->clock_bytes);
	}
}

/*
 * Addresses with more than 48 bits cannot be stored: blocks at such addresses are not recorded, but are counted as
 * lost.
 */
TEST(beyond_the_table)
{
	ASSERT_EQ(0, start(&plain));
	mf_heap_alloc(&store, 1ull << 48, 10, context_of(0), 0);
	mf_heap_alloc(&store, UINT64_MAX, 10, context_of(0), 0);
	mf_heap_free(&store, 1ull << 48, 0);
	mf_heap_free(&store, UINT64_MAX, 0);
	EXPECT_EQ(2, store.header->events_lost);
	EXPECT_EQ(0, mf_model_of(&store)->heap);
	EXPECT_EQ(0, mf_model_of(&store)->clock_bytes);
}

TEST_HARNESS_MAIN
