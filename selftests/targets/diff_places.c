// SPDX-License-Identifier: GPL-2.0
// diff_places MODE [NUMBER]: call sites that allocate different amounts, to test how the entries of a tree are shown,
// merged, sorted and omitted.

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static void *volatile seen;
static void *blocks[4096];
static int n_blocks;
static int number;

static NOINLINE void keep(void *block)
{
	seen = block;
	if (n_blocks < 4096)
		blocks[n_blocks++] = block;
}

static NOINLINE void free_all(void)
{
	while (n_blocks)
		free(blocks[--n_blocks]);
}

/*
 * Allocates 160000 bytes in total. Individual call sites allocate 1%, slightly more or less than 1%, 33% and 0.995% of
 * this.
 */
static NOINLINE void sites(void)
{
	keep(malloc(1600));
	keep(malloc(1599));
	keep(malloc(1601));
	keep(malloc(1592));
	keep(malloc(1591));
	keep(malloc(53336));
	keep(malloc(53335));
	keep(malloc(16));
	keep(malloc(15));
	keep(malloc(1));
	keep(malloc(0));
	keep(malloc(45314));
}

/* Makes tree entries of equal size, including an entry that results from merging small ones. */
static NOINLINE void ties(void)
{
	keep(malloc(3200));
	keep(malloc(1600));
	keep(malloc(6400));
	keep(malloc(3200));
	keep(malloc(1600));
	keep(malloc(3200));
	keep(malloc(800));
	keep(malloc(800));
	keep(malloc(6400));
}

/* Allocates twice on one line, and at a call site that is reached by two paths. */
static NOINLINE void *one_place(size_t size)
{
	return malloc(size);
}

static NOINLINE void one_way(void)
{
	keep(one_place(100)), keep(one_place(200));
}

static NOINLINE void another_way(void)
{
	keep(one_place(300));
	one_way();
}

static void ways(void)
{
	one_way();
	another_way();
	one_way();
}

/* Call sites stay in the tree even if all their blocks have been freed. */
static void zero_places(void)
{
	sites();
	free_all();
	ties();
	free_all();
	keep(malloc(100));
	free_all();
	ways();
}

/* The trees of all snapshots have the same entries, until everything is freed and the total is 0. */
static void all_freed(void)
{
	for (int i = 0; i < 4; i++) {
		sites();
		free_all();
	}
}

static NOINLINE void recurse(int level)
{
	if (level % 10 == 0)
		keep(malloc(1000));
	if (level > 0)
		recurse(level - 1);
	if (level % 25 == 0)
		keep(malloc(500));
}

/* Two functions that call each other; one of them allocates each time it is called. */
static NOINLINE void even(int level);

static NOINLINE void odd(int level)
{
	keep(malloc(32));
	if (level > 0)
		even(level - 1);
	keep(NULL);
}

static NOINLINE void even(int level)
{
	if (level > 0)
		odd(level - 1);
	keep(NULL);
}

static void recursion(void)
{
	recurse(number);
}

static void mutual(void)
{
	even(number);
}

/* Allocation functions of this program; the test passes their names with --alloc-fn. */
static NOINLINE void *wrap(size_t size)
{
	void *block = malloc(size);

	keep(block);
	return block;
}

static NOINLINE void *wrap_more(size_t size)
{
	void *block = wrap(size + 1);

	keep(NULL);
	return block;
}

static NOINLINE void *wrap_most(size_t size)
{
	void *block = wrap_more(size + 1);

	wrap(size);
	return block;
}

static NOINLINE void use_wrap(void)
{
	wrap(100);
	wrap_more(1000);
	wrap_most(3000);
	keep(malloc(50));
}

/* A function that calls itself and another function. */
static NOINLINE void *wrap_deep(int level)
{
	void *block = level ? wrap_deep(level - 1) : wrap(700);

	keep(NULL);
	return block;
}

static void wraps(void)
{
	use_wrap();
	for (int i = 0; i < 5; i++)
		wrap_deep(i * 4);
	free_all();
	use_wrap();
}

/* A function named with --alloc-fn counts as an allocation function only at the top of a stack, not in the middle. */
static NOINLINE void *middle(size_t size)
{
	void *block = one_place(size);

	keep(NULL);
	return block;
}

static void middles(void)
{
	keep(middle(300));
	keep(middle(900));
	use_wrap();
}

/*
 * The modes "limit" and "posix_limit" allocate through chains of nested allocation functions: first through chains with
 * fewer functions than the number of frames that massif examines with --depth=1, then through chains with exactly that
 * number, and finally through longer ones. In mode posix_limit, is_posix is set, and the blocks come from
 * posix_memalign() instead of memalign().
 */
static bool is_posix;

static NOINLINE void *aligned(void)
{
	void *block = NULL;
	int ret = is_posix ? posix_memalign(&block, 16, 500) : !(block = memalign(16, 500));

	if (ret)
		abort();
	keep(NULL);
	return block;
}

static NOINLINE void *wrap_aligned(int level)
{
	void *block = level ? wrap_aligned(level - 1) : aligned();

	keep(NULL);
	return block;
}

static void limit(void)
{
	for (int i = 40; i < 60; i++)
		keep(wrap_aligned(i));
	use_wrap();
}

static void posix_limit(void)
{
	is_posix = true;
	limit();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "sites", sites },	  { "ties", ties },
	{ "ways", ways },		  { "zero_places", zero_places },
	{ "all_freed", all_freed }, { "recursion", recursion },
	{ "mutual", mutual },	  { "wraps", wraps },
	{ "middles", middles },	  { "limit", limit },
	{ "posix_limit", posix_limit },
};

int main(int argc, char **argv)
{
	number = argc > 2 ? atoi(argv[2]) : 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
