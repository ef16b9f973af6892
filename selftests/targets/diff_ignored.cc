// SPDX-License-Identifier: GPL-2.0
// diff_ignored MODE: allocates in functions that --ignore-fn names. Sizes are chosen as in diff_shapes.c.

#include <cstdlib>
#include <cstring>

#define NOINLINE __attribute__((noinline))

static void *volatile seen;

static NOINLINE void *see(void *block)
{
	seen = block;
	return block;
}

static NOINLINE void *visible(size_t size)
{
	return see(malloc(size));
}

extern "C" NOINLINE void *hidden(size_t size)
{
	return see(malloc(size));
}

static NOINLINE void *visible_resize(void *block, size_t size)
{
	return see(realloc(block, size));
}

extern "C" NOINLINE void *hidden_resize(void *block, size_t size)
{
	return see(realloc(block, size));
}

/*
 * Calls a visible function, that is, one that --ignore-fn does not name. Only the innermost function decides whether a
 * block is ignored; its callers do not.
 */
extern "C" NOINLINE void *hidden_caller(size_t size)
{
	return see(visible(size));
}

namespace cache
{
template <typename T> struct table {
	NOINLINE T *add(int n)
	{
		return static_cast<T *>(see(new T[n]));
	}
};
} // end of namespace cache

static inline __attribute__((always_inline)) void *hidden_inline(size_t size)
{
	return see(malloc(size));
}

/*
 * diff_ignored inlined WITHOUT: omits the allocations made in the inlined calls (if WITHOUT is "inner") or those made
 * in their caller (if WITHOUT is "outer").
 */
static const char *without = "";

static NOINLINE void has_inline(size_t size)
{
	if (strcmp(without, "inner") != 0)
		hidden_inline(size);
	if (strcmp(without, "outer") != 0)
		see(malloc(64));
}

static void blocks()
{
	void *list[12];

	for (int i = 0; i < 12; i++)
		list[i] = i % 3 ? visible(96 + 64 * i) : hidden(160);
	for (int i = 12; i-- > 2;)
		free(list[i]);
	hidden_caller(352);
	cache::table<long>().add(20);
	hidden(0);
	visible(0);
}

/* Allocates and frees many ignored blocks, but few visible ones. */
static void churn()
{
	void *list[16] = {};

	for (int i = 0; i < 400; i++) {
		int slot = i * 7 % 16;

		free(list[slot]);
		list[slot] = i % 5 ? hidden(96 - i % 16) : visible(224 - i % 16);
	}
}

/*
 * An ignored function resizes a block allocated by an ignored function, and a visible function resizes a block
 * allocated by a visible function. Ignored blocks stay ignored, and visible blocks stay visible.
 */
static void resizes()
{
	void *ours = visible(96), *theirs = hidden(96);

	for (int i = 1; i < 12; i++) {
		ours = visible_resize(ours, 96 + 64 * i);
		theirs = hidden_resize(theirs, 96 + 64 * i);
	}
	ours = visible_resize(ours, 100);
	theirs = hidden_resize(theirs, 100);
	free(ours);
	free(theirs);
	theirs = hidden_resize(nullptr, 300);
	hidden_resize(theirs, 0);
}

/* A function that is not ignored allocates a block, and an ignored function resizes it. */
static void lost()
{
	void *block = visible(1000);

	visible(500);
	block = hidden_resize(block, 2000);
	visible(600);
	free(block);
	visible(700);
}

/* An ignored function allocates a block, and a function that is not ignored resizes it. */
static void found()
{
	void *block = hidden(1000);

	visible(500);
	block = visible_resize(block, 2000);
	visible(600);
	free(block);
	visible(700);
}

static void inlined()
{
	has_inline(300);
	hidden(100);
	has_inline(200);
}

static NOINLINE void recurse(int level)
{
	if (level % 8 == 0)
		see(malloc(160));
	if (level > 0)
		recurse(level - 1);
	see(nullptr);
}

static void deep()
{
	recurse(120);
}

static const struct {
	const char *name;
	void (*run)();
} modes[] = {
	{ "blocks", blocks }, { "churn", churn },	  { "resizes", resizes }, { "lost", lost },
	{ "found", found },   { "inlined", inlined }, { "deep", deep },
};

int main(int argc, char **argv)
{
	if (argc > 2)
		without = argv[2];
	for (const auto &mode : modes) {
		if (argc > 1 && strcmp(argv[1], mode.name) == 0) {
			mode.run();
			return 0;
		}
	}
	return 2;
}
