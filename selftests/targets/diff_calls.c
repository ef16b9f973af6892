// SPDX-License-Identifier: GPL-2.0
// diff_calls MODE: calls the allocation functions with boundary sizes. Each mode always makes the same calls.

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024 * 1024ul)

/* Volatile, so that no call can be optimised away. */
static void *volatile seen;
/* Set by `diff_calls MODE without`: omit calls that fail, and call realloc with size 1 instead of 0. */
static bool without;

static void *see(void *pointer)
{
	seen = pointer;
	return pointer;
}

/* Allocates all sizes up to 160, then sizes around larger multiples of 16. */
static void slop(void)
{
	static const size_t large[] = { 1000, 1008, 1009, 4095, 4096, 4097, 65520,
					65536, 131071, 131072, 131073, 1048575, 1048576 };

	for (size_t size = 0; size <= 160; size++)
		see(malloc(size));
	for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
		see(malloc(large[i]));
}

/*
 * Massif's allocator rounds blocks above 4 MiB (including the overhead) up to whole pages. 4194224 is left out, because
 * Massif's allocator would add the remaining 16 bytes to that block.
 */
static void large(void)
{
	static const size_t sizes[] = { 4194240, 4194241, 4194256, 4194304, 5000000, 4198336,
					4198337, 8 * MIB, 16 * MIB - 64, 16 * MIB + 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *block = see(malloc(sizes[i]));

		see(malloc(32));
		free(block);
	}
}

/* A block of size 0 has the same overhead as any other. */
static void zero(void)
{
	void *blocks[8];

	for (int i = 0; i < 8; i++)
		blocks[i] = see(i & 1 ? calloc(0, 16) : malloc(0));
	for (int i = 0; i < 8; i++)
		free(blocks[i]);
	see(realloc(NULL, 0));
}

static void free_null(void)
{
	void *block = see(malloc(1000));

	for (int i = 0; i < 10; i++)
		free(NULL);
	free(block);
	free(NULL);
	see(malloc(40));
}

/* Reallocs to the same size do not change the totals, but a snapshot may be taken. */
static void realloc_same(void)
{
	void *block = see(malloc(100));

	for (int i = 0; i < 12; i++)
		block = see(realloc(block, 100));
	free(block);
}

/* A block of 100 bytes occupies 112 bytes of the heap, so realloc leaves it in place for sizes up to 112. */
static void realloc_in_place(void)
{
	void *block = see(malloc(100));

	for (size_t size = 100; size <= 112; size++)
		block = see(realloc(block, size));
	for (size_t size = 112; size >= 90; size -= 2)
		block = see(realloc(block, size));
	/* The block has shrunk to 90 bytes, but its capacity is still 112 bytes, so it can grow again in place. */
	block = see(realloc(block, 110));
	see(malloc(10));
	free(block);
}

/* When a block shrinks, it keeps its capacity as extra bytes and can grow into them again. */
static void realloc_shrink(void)
{
	void *block = see(malloc(10000));

	see(malloc(100));
	for (size_t size = 9000; size; size -= 1000)
		block = see(realloc(block, size));
	block = see(realloc(block, 5000));
	block = see(realloc(block, 10000));
	see(malloc(300));
	free(block);
}

/*
 * With a header of 32 bytes, blocks of these sizes take multiples of 64 bytes, so all holes are multiples of 64, too.
 */
static void realloc_grow(void)
{
	void *block = see(malloc(32));

	for (size_t size = 96; size < 20000; size = size * 2 + 32) {
		block = see(realloc(block, size - 5));
		see(malloc(160));
	}
	free(block);
}

static void *resize_to_none(void *block)
{
	return realloc(block, without ? 1 : 0);
}

static void realloc_edges(void)
{
	void *block = see(realloc(NULL, 1000));

	block = see(resize_to_none(block));
	free(see(realloc(block, 2000)));
	block = see(malloc(0));
	block = see(realloc(block, 1));
	block = see(realloc(block, 16));
	block = see(realloc(block, 17));
	free(see(resize_to_none(block)));
	block = see(reallocarray(NULL, 10, 100));
	block = see(reallocarray(block, 20, 100));
	if (reallocarray(block, SIZE_MAX, 100))
		abort();
	free(block);
}

/*
 * Reallocs to sizes below and above 4 MiB - 64 bytes. Massif rounds the capacities of larger blocks up to whole pages,
 * less 64 bytes (Documentation/model.rst).
 */
static void realloc_large(void)
{
	void *block = see(malloc(5000000));

	block = see(realloc(block, 5001152));
	block = see(realloc(block, 5001153));
	block = see(realloc(block, 4194240));
	block = see(realloc(block, 100));
	see(malloc(32));
	block = see(realloc(block, 5000000));
	block = see(realloc(block, 20 * MIB));
	free(block);
}

static void failed(void)
{
	void *block = see(malloc(500));

	see(malloc(SIZE_MAX));
	see(malloc((size_t)1 << 63));
	see(malloc((size_t)1 << 60));
	see(calloc(SIZE_MAX / 2, 3));
	see(calloc((size_t)1 << 40, (size_t)1 << 20));
	see(realloc(NULL, (size_t)1 << 60));
	if (posix_memalign(&block, 24, 100) != EINVAL)
		see(malloc(1));
	free(block);
	see(malloc(700));
}

/* A realloc that fails leaves the block unchanged. */
static void failed_realloc(void)
{
	void *block = see(malloc(500));

	see(malloc(1000));
	if (!without && realloc(block, (size_t)1 << 60))
		abort();
	see(malloc(2000));
	free(block);
	see(malloc(3000));
	free(see(malloc(4000)));
}

/* Requests alignments that every block has anyway. */
static void align_narrow(void)
{
	void *block;

	see(memalign(1, 100));
	see(memalign(8, 101));
	see(memalign(16, 102));
	see(aligned_alloc(16, 112));
	for (size_t alignment = 8; alignment <= 16; alignment *= 2) {
		if (posix_memalign(&block, alignment, 200 + alignment))
			abort();
		free(see(block));
	}
	see(memalign(16, 0));
}

static void align_wide(void)
{
	void *block;

	see(memalign(32, 100));
	see(memalign(64, 100));
	see(memalign(100, 100));
	see(memalign(128, 1000));
	see(aligned_alloc(256, 512));
	see(aligned_alloc(64, 64));
	if (posix_memalign(&block, 64, 300) || posix_memalign(&block, 1024, 5))
		abort();
	see(block);
	see(valloc(40));
}

/* Allocates a block in a hole 16 bytes larger than the block. Massif's allocator uses the whole hole for the block. */
static void hole(void)
{
	void *block = see(malloc(96));

	see(malloc(1000));
	free(block);
	see(malloc(80));
	see(malloc(2000));
}

/* Allocates a block in a hole in the heap. The hole is large enough for two blocks. */
static void hole_split(void)
{
	void *block = see(malloc(96));

	see(malloc(1000));
	free(block);
	see(malloc(48));
	see(malloc(2000));
}

/* Checks that the usable sizes are the same as without a profiler. */
static void usable(void)
{
	void *block = see(malloc(100));

	if (malloc_usable_size(block) < 100 || malloc_usable_size(NULL) != 0)
		abort();
	memset(block, 1, malloc_usable_size(block));
	see(malloc(malloc_usable_size(block) >= 100 ? 200 : 300));
	free(block);
	malloc_trim(0);
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	see(malloc(100000));
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "slop", slop },
	{ "large", large },
	{ "zero", zero },
	{ "free_null", free_null },
	{ "realloc_same", realloc_same },
	{ "realloc_in_place", realloc_in_place },
	{ "realloc_shrink", realloc_shrink },
	{ "realloc_grow", realloc_grow },
	{ "realloc_edges", realloc_edges },
	{ "realloc_large", realloc_large },
	{ "failed", failed },
	{ "failed_realloc", failed_realloc },
	{ "align_narrow", align_narrow },
	{ "align_wide", align_wide },
	{ "hole", hole },
	{ "hole_split", hole_split },
	{ "usable", usable },
};

int main(int argc, char **argv)
{
	without = argc > 2 && strcmp(argv[2], "without") == 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
