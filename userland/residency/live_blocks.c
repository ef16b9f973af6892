// SPDX-License-Identifier: GPL-2.0
// A copy of the live blocks of a process that may be running.

#include "residency/live_blocks.h"

#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/tally.h"

/* 16 MB of copies. */
#define COPIED_MAX (1u << 20)

/* A table that takes much longer to read than a thread to start. */
#define LARGE_TABLE (8 << 20)

static off_t table_start(const struct mf_store *store)
{
	return (off_t)store->offsets[MF_REGION_BLOCK_LEAVES];
}

/*
 * Reads only those parts of the table that have been written to: reading a page of the mapped file that was never written
 * would allocate it.
 */
static void walk(const struct mf_live_blocks *blocks, const struct mf_store *store,
		 void (*visit)(const struct mf_block *block, void *data), void *data)
{
	const off_t start = table_start(store);

	if (!blocks->memory)
		mf_blocks_walk(store, visit, data);
	for (size_t i = 0; blocks->memory && i < blocks->written.n; i++)
		mf_blocks_walk_part(store, (uint64_t)(blocks->written.list[i].start - start),
				    (uint64_t)(blocks->written.list[i].end - start), visit, data);
}

static int look(struct mf_live_blocks *blocks, const struct mf_store *store)
{
	const off_t start = table_start(store);

	return blocks->memory ? mf_written_parts_look(&blocks->written, blocks->memory, start,
						      start + (off_t)store->sizes[MF_REGION_BLOCK_LEAVES]) : 0;
}

/* Drops the copy if there are too many blocks, too little memory, or a block whose size does not fit. */
static void copy(const struct mf_block *block, void *data)
{
	struct mf_live_blocks *blocks = data;

	if (blocks->lacks_copy || block->address == blocks->freed)
		return;
	if (blocks->n == blocks->room) {
		size_t room = blocks->room ? 2 * blocks->room : 1024;
		struct mf_live_block *more = blocks->n < COPIED_MAX ? reallocarray(blocks->list, room, sizeof(*more)) : NULL;

		blocks->lacks_copy = !more;
		if (!more)
			return;
		blocks->list = more;
		blocks->room = room;
	}
	blocks->lacks_copy = block->size > UINT32_MAX;
	blocks->list[blocks->n++] = (struct mf_live_block){ block->address, (uint32_t)block->size, block->context };
}

/* Only a program with one thread delays a free, and no more than one. */
static void note_freed(const struct mf_block *block, void *data)
{
	struct mf_live_blocks *blocks = data;

	blocks->freed = block->address;
}

static void copy_all(struct mf_live_blocks *blocks, const struct mf_store *store)
{
	blocks->n = 0;
	blocks->freed = 0;
	mf_tally_walk_delayed(store, note_freed, blocks);
	/* Blocks that were too many shortly before are not copied in vain again. */
	blocks->lacks_copy = blocks->n_visited > COPIED_MAX;
	if (!blocks->lacks_copy)
		walk(blocks, store, copy, blocks);
}

static int read_all(struct mf_live_blocks *blocks, const struct mf_store *store)
{
	int ret = look(blocks, store);

	if (!ret)
		copy_all(blocks, store);
	return ret;
}

static void *run(void *data)
{
	struct mf_live_blocks *blocks = data;

	blocks->error = read_all(blocks, blocks->store);
	return NULL;
}

/* Returns whether the table was large when it was last looked at. */
static bool is_large(const struct mf_live_blocks *blocks)
{
	off_t size = 0;

	for (size_t i = 0; i < blocks->written.n; i++)
		size += blocks->written.list[i].end - blocks->written.list[i].start;
	return size >= LARGE_TABLE;
}

int mf_live_blocks_begin(struct mf_live_blocks *blocks, const struct mf_store *store)
{
	sigset_t all, before;

	/* A table that was large is looked at by the thread alone: that takes milliseconds, and parts are only added. */
	if (!is_large(blocks)) {
		int ret = look(blocks, store);

		if (ret || !is_large(blocks))
			return ret;
	}
	blocks->store = store;
	/* Only the main thread handles signals, so block them in the new thread, which inherits the mask. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	blocks->runs = !pthread_create(&blocks->thread, NULL, run, blocks);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

int mf_live_blocks_read(struct mf_live_blocks *blocks, const struct mf_store *store)
{
	if (!mf_take(blocks->runs, false))
		return read_all(blocks, store);
	pthread_join(blocks->thread, NULL);
	return blocks->error;
}

struct visit {
	void (*visit)(const struct mf_block *block, void *data);
	void *data;
	uint64_t freed;
	size_t n;
};

static void visit_unless_freed(const struct mf_block *block, void *data)
{
	struct visit *visit = data;

	if (block->address == visit->freed)
		return;
	visit->n++;
	visit->visit(block, visit->data);
}

void mf_live_blocks_each(struct mf_live_blocks *blocks, const struct mf_store *store,
			 void (*visit)(const struct mf_block *block, void *data), void *data)
{
	struct visit of_table = { visit, data, blocks->freed, 0 };

	if (blocks->lacks_copy) {
		walk(blocks, store, visit_unless_freed, &of_table);
		blocks->n_visited = of_table.n;
		return;
	}
	blocks->n_visited = blocks->n;
	for (size_t i = 0; i < blocks->n; i++) {
		const struct mf_live_block *from = &blocks->list[i];
		const struct mf_block block = { .address = from->address, .size = from->size, .context = from->context };

		visit(&block, data);
	}
}

void mf_live_blocks_reset(struct mf_live_blocks *blocks)
{
	if (mf_take(blocks->runs, false))
		pthread_join(blocks->thread, NULL);
	blocks->n = 0;
	blocks->lacks_copy = false;
	blocks->freed = 0;
}

void mf_live_blocks_change(struct mf_live_blocks *blocks, int memory)
{
	mf_live_blocks_reset(blocks);
	if (blocks->memory == memory)
		return;
	mf_written_parts_deinit(&blocks->written);
	blocks->n_visited = 0;
	blocks->memory = memory;
}

void mf_live_blocks_deinit(struct mf_live_blocks *blocks)
{
	mf_live_blocks_reset(blocks);
	free(mf_take(blocks->list, NULL));
	blocks->room = 0;
	mf_written_parts_deinit(&blocks->written);
}
