// SPDX-License-Identifier: GPL-2.0
// What massif-ctl reads of a session that the program has damaged with stray writes: how much it reads at most, and that it
// stays inside the regions. The damage is what the fuzzers store and samples have found, or would need luck to find.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/heap/replica.h"
#include "ctl/live/reader.h"
#include "model/heap.h"
#include "model/model.h"
#include "model/object_path.h"
#include "model/objects.h"
#include "model/tally.h"
#include "model/trie.h"
#include "report/collect.h"
#include "residency/live_blocks.h"

#define MIB	(1ull << 20)
#define LOWEST	0x10000ull
#define BLOCKS	100u
#define PAGE	4096u

FIXTURE(damage) {
	struct mf_store store;
	int memory;
	uint32_t context;
};

/* Blocks of 48 bytes, side by side; every second one is at an address for which the table needs a wide block. */
FIXTURE_SETUP(damage)
{
	const struct mf_model_options options = { .max_snapshots = 100, .detailed_freq = 10, .alignment = 16 };

	ASSERT_EQ(0, mf_store_create(&self->store, 0, &self->memory, NULL));
	mf_model_init(&self->store, &options);
	self->context = mf_trie_context(&self->store, mf_trie_child(&self->store, MF_NODE_ROOT, (struct mf_frame){ .pc = 1 }));
	for (uint64_t i = 0; i < BLOCKS; i++)
		mf_heap_alloc(&self->store, LOWEST + i * 64 + i % 2 * 4, 48, self->context, 0);
}

FIXTURE_TEARDOWN(damage)
{
	if (self->store.header)
		mf_store_detach(&self->store);
	close(self->memory);
}

static void count(const struct mf_block *block, void *data)
{
	++*(uint64_t *)data;
}

static uint64_t walk(const struct mf_store *store)
{
	uint64_t n = 0;

	mf_blocks_walk(store, count, &n);
	return n;
}

static uint64_t memory_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? 0 : (uint64_t)status.st_blocks * 512;
}

/* Reading pages that were never written would allocate them: here 128 MiB, and at most the whole 64 GiB of the region. */
TEST_F(damage, leaves_without_end)
{
	uint64_t before;

	EXPECT_EQ(BLOCKS, walk(&self->store));
	before = memory_of(self->memory);
	self->store.header->n_leaves = 128;
	EXPECT_EQ(BLOCKS, walk(&self->store));
	EXPECT_GT(before + MIB, memory_of(self->memory));
}

/* The slots of a whole leaf refer to the same chain, which leads back to its beginning. */
TEST_F(damage, one_chain_in_many_slots)
{
	uint32_t *slots = mf_blocks_leaf(&self->store, 1), *slot = mf_blocks_slot(&self->store, LOWEST + 64);
	uint32_t n_wide = self->store.header->n_wide, *chain = self->store.regions[MF_REGION_WIDE_BLOCKS];

	ASSERT_EQ(MF_BLOCKS_WIDE, *slot & MF_BLOCKS_KIND);
	/* The last word of the first wide block is the number of the next one. */
	chain[2 * 8 - 1] = 1;
	for (uint32_t i = 0; i < MF_BLOCKS_LEAF_GRANULES; i++)
		slots[i] = MF_BLOCKS_WIDE | 1;
	EXPECT_LT(n_wide, walk(&self->store));
	EXPECT_GE(2 * n_wide, walk(&self->store));
}

/* A shift by more bits than a number has means nothing in C. */
TEST_F(damage, size_of_granules)
{
	static const uint32_t bits[] = { 0, 3, 6, 63, 64, UINT32_MAX };

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		self->store.header->granule_bits = bits[i];
		EXPECT_EQ(0, walk(&self->store));
	}
}

/* A recording with such an object could not be read. */
TEST_F(damage, end_of_an_object)
{
	const struct mf_object object = { .kind = MF_OBJECT_FILE, .start = 0x2000, .end = 0x3000, .path = "/p" };
	uint32_t number = mf_objects_add(&self->store, &object);
	struct mf_object read;

	mf_objects_record(&self->store, number)->start = 0x5000;
	ASSERT_TRUE(mf_objects_read(&self->store, number, &read));
	EXPECT_EQ(0x5000, read.start);
	EXPECT_EQ(0x5000, read.end);
}

/* Nothing ends the path any more when it is copied. */
TEST_F(damage, path_without_end)
{
	const struct mf_object object = { .kind = MF_OBJECT_FILE, .end = 0x1000, .path = "/p" };
	uint64_t size = self->store.sizes[MF_REGION_STRINGS];
	struct mf_object read;
	char *path;

	ASSERT_TRUE(mf_objects_read(&self->store, mf_objects_add(&self->store, &object), &read));
	ASSERT_STREQ("/p", read.path);
	memset((char *)read.path, 'x', 20);
	/* As if the region ended after ten bytes of it. */
	self->store.sizes[MF_REGION_STRINGS] = (size_t)(read.path + 10 - (char *)self->store.regions[MF_REGION_STRINGS]);
	path = mf_object_path_copy(&self->store, &read);
	EXPECT_STREQ("xxxxxxxxxx", path);
	free(path);
	self->store.sizes[MF_REGION_STRINGS] = size;
}

/* The list is a circle, of which the number of objects would be the only end. */
TEST_F(damage, objects_in_a_circle)
{
	const struct mf_object object = { .kind = MF_OBJECT_FILE, .start = 0x2000, .end = 0x3000, .path = "/p" };
	uint32_t number = mf_objects_add(&self->store, &object);
	clock_t begun = clock();

	mf_objects_record(&self->store, number)->next = number;
	self->store.header->first_object = number;
	self->store.header->n_objects = UINT32_MAX;
	EXPECT_EQ(MF_OBJECT_NONE, mf_objects_find(&self->store, 0x5000));
	/* Four billion steps take several seconds of CPU time. */
	EXPECT_GT(CLOCKS_PER_SEC, clock() - begun);
}

/* If the address space is limited, there are more numbers for contexts than there is room for their counts. */
TEST_F(damage, contexts_without_counts)
{
	struct mf_collection collection;
	struct mf_store store;
	struct mf_error err;

	ASSERT_EQ(0, mf_store_create(&store, 375 * MIB, NULL, &err));
	ASSERT_GT(store.sizes[MF_REGION_CONTEXT_NODES] / sizeof(uint32_t), mf_trie_contexts_max(&store));
	store.header->n_contexts = (uint32_t)mf_trie_contexts_max(&store);
	ASSERT_EQ(0, mf_collect(&store, (struct mf_end){ 0 }, &collection, &err));
	EXPECT_EQ(store.header->n_contexts - MF_CONTEXT_FIRST, collection.profile.n_contexts);
	mf_collection_release(&collection);
	store.header->n_contexts++;
	ASSERT_EQ(0, mf_collect(&store, (struct mf_end){ 0 }, &collection, &err));
	EXPECT_EQ(0, collection.profile.n_contexts);
	mf_collection_release(&collection);
	mf_store_detach(&store);
}

/* The arrays have an element for each context in each shard. */
TEST_F(damage, arrays_that_differ)
{
	struct mf_region *regions = self->store.header->regions;
	struct mf_store other;

	regions[MF_REGION_TEMPORARIES].size -= PAGE;
	EXPECT_EQ(-EINVAL, mf_store_attach(&other, self->memory, NULL));
	regions[MF_REGION_CONTEXT_BYTES].size -= 4 * PAGE;
	ASSERT_EQ(0, mf_store_attach(&other, self->memory, NULL));
	mf_store_detach(&other);
}

/* What the program writes into the table of regions after massif-ctl has attached to the session. */
TEST_F(damage, offsets_while_attached)
{
	struct mf_live_blocks blocks = { .memory = self->memory };
	struct mf_live_session live;
	uint64_t n = 0;

	ASSERT_EQ(0, mf_live_session_open(&live, dup(self->memory), 1, false, NULL));
	for (int i = 0; i < MF_REGION_COUNT; i++)
		self->store.header->regions[i] = (struct mf_region){ UINT64_MAX / 2, UINT64_MAX };
	ASSERT_EQ(0, mf_live_blocks_read(&blocks, &self->store));
	mf_live_blocks_each(&blocks, &self->store, count, &n);
	EXPECT_EQ(BLOCKS, n);
	ASSERT_EQ(0, mf_live_session_read(&live, NULL));
	EXPECT_EQ(BLOCKS * 48, live.totals.counts.bytes);
	mf_live_blocks_deinit(&blocks);
	mf_live_session_close(&live);
}

/* massif-ctl rescue as another user than root reads the session through the program's memory. */
TEST_F(damage, sizes_of_a_replica)
{
	struct mf_mappings mappings;
	struct mf_store replica;
	struct mf_error err;

	self->store.header->regions[MF_REGION_MODEL].size = PAGE;
	ASSERT_EQ(0, mf_mappings_find(getpid(), &mappings, &err));
	EXPECT_EQ(-EINVAL, mf_replica_open(&replica, getpid(), &mappings, &err));
	self->store.header->regions[MF_REGION_MODEL].size = self->store.sizes[MF_REGION_MODEL];
	ASSERT_EQ(0, mf_replica_open(&replica, getpid(), &mappings, &err));
	EXPECT_EQ(BLOCKS * 48, mf_model_of(&replica)->heap);
	mf_replica_close(&replica);
	mf_mappings_free(&mappings);
}

TEST_HARNESS_MAIN
