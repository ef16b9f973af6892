// SPDX-License-Identifier: GPL-2.0
// The private memory of a store is made one that another process can read.

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "model/store.h"
#include "model/trie.h"
#include "pages/share.h"

#define STORE_BUDGET (2ull << 30)

FIXTURE(share) {
	struct mf_store store, other;
	int memory;
};

FIXTURE_SETUP(share)
{
	ASSERT_EQ(0, mf_store_create(&self->store, STORE_BUDGET, NULL, NULL));
	self->memory = -1;
}

FIXTURE_TEARDOWN(share)
{
	if (self->other.header)
		mf_store_detach(&self->other);
	mf_store_detach(&self->store);
	if (self->memory >= 0)
		close(self->memory);
}

/* Adds a context with @depth frames, and @bytes for it. */
static uint32_t add(struct mf_store *store, uint32_t depth, int64_t bytes)
{
	struct mf_frame frames[64];
	uint32_t context;

	for (uint32_t i = 0; i < depth; i++)
		frames[i] = (struct mf_frame){ .pc = 0x1000 * depth + i };
	context = mf_trie_insert(store, frames, depth);
	mf_trie_charge(store, context, bytes);
	return context;
}

/* Whatever was in the memory is in the file, and changes are seen by both. */
TEST_F(share, has_everything)
{
	struct mf_frame frames[64];
	struct mf_error err;
	uint64_t bytes;

	for (uint32_t depth = 1; depth <= 60; depth++)
		add(&self->store, depth, depth * 4096);
	mf_model_of(&self->store)->heap = 77;
	ASSERT_EQ(0, mf_share_store(&self->store, &self->memory, &err));
	EXPECT_TRUE(self->store.has_file);
	ASSERT_EQ(0, mf_store_attach_to_read(&self->other, self->memory, &err));
	for (int i = 0; i < MF_REGION_COUNT; i++) {
		if (!self->store.regions[i])
			continue;
		/* Larger regions are mostly untouched; reading all of them would take long. */
		size_t size = self->store.sizes[i] < (1 << 20) ? self->store.sizes[i] : 1 << 20;

		EXPECT_EQ(self->store.sizes[i], self->other.sizes[i]);
		EXPECT_EQ(0, memcmp(self->store.regions[i], self->other.regions[i], size));
	}
	EXPECT_EQ(77, mf_model_of(&self->other)->heap);
	for (uint32_t depth = 1; depth <= 60; depth++) {
		uint32_t context = MF_CONTEXT_FIRST + depth - 1;

		mf_trie_sum(&self->other, context, 1, &bytes);
		EXPECT_EQ(depth * 4096, bytes);
		EXPECT_EQ(depth, mf_trie_frames(&self->other, context, frames, 64));
		EXPECT_EQ(0x1000 * depth, frames[0].pc);
	}
	mf_trie_sum(&self->other, add(&self->store, 61, 5), 1, &bytes);
	EXPECT_EQ(5, bytes);
}

/* The file is not larger than what was touched. */
TEST_F(share, takes_no_more_memory)
{
	struct mf_error err;
	uint64_t used = 0;

	add(&self->store, 30, 4096);
	ASSERT_EQ(0, mf_share_store(&self->store, &self->memory, &err));
	for (off_t at = 0, hole; (at = lseek(self->memory, at, SEEK_DATA)) >= 0; at = hole) {
		hole = lseek(self->memory, at, SEEK_HOLE);
		used += (uint64_t)(hole - at);
	}
	EXPECT_GT(1 << 20, used);
	EXPECT_LT(4096, used);
}

/* Another process can neither change nor shrink it. */
TEST_F(share, is_only_for_reading)
{
	struct mf_error err;
	char path[64];
	int fd;

	ASSERT_EQ(0, mf_share_store(&self->store, &self->memory, &err));
	EXPECT_EQ(-1, ftruncate(self->memory, 0));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->memory);
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mf_store_attach_to_read(&self->other, fd, &err));
	/* The program of a heap profile needs the threads' states, which this one does not have. */
	mf_store_detach(&self->other);
	EXPECT_EQ(-EINVAL, mf_store_attach(&self->other, self->memory, &err));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	EXPECT_EQ(-1, write(fd, "", 1));
	close(fd);
}

TEST_HARNESS_MAIN
