// SPDX-License-Identifier: GPL-2.0
// heap_bounds stacks N | blocks N | places N: creates more stacks, blocks or addresses than typical programs do.
//
// stacks: allocates N blocks, each with a different call stack. blocks: allocates N blocks, then frees every other one.
// places: announces N blocks through client requests, at addresses spread over the whole address space.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/valgrind.h>

#define FRAME	__attribute__((noipa, optimize("no-optimize-sibling-calls")))
#define BYTES	24
/* number of bits in the number that identifies a stack; each bit selects the function called at one level */
#define LEVELS	24
#define HIGHEST (1ull << 47)

struct block {
	struct block *next;
};

static struct block *blocks;
static void *volatile last;

static FRAME int go(unsigned long number, int levels);

static FRAME int allocate(void)
{
	struct block *block = malloc(BYTES);

	if (!block)
		exit(2);
	block->next = blocks;
	blocks = block;
	return 1;
}

static FRAME int left(unsigned long number, int levels)
{
	return go(number, levels) + 1;
}

static FRAME int right(unsigned long number, int levels)
{
	return go(number, levels) + 1;
}

static FRAME int go(unsigned long number, int levels)
{
	if (!levels)
		return allocate() + 1;
	return number >> (levels - 1) & 1 ? right(number, levels - 1) + 1 : left(number, levels - 1) + 1;
}

static void make_stacks(unsigned long n)
{
	int levels = 0;

	while (levels < LEVELS && 1ul << levels < n)
		levels++;
	for (unsigned long i = 0; i < n; i++)
		go(i, levels);
}

static void make_blocks(unsigned long n)
{
	struct block **link = &blocks;

	for (unsigned long i = 0; i < n; i++)
		allocate();
	while (*link) {
		struct block *block = *link;

		*link = block->next;
		free(block);
		if (*link)
			link = &(*link)->next;
	}
}

static void make_places(unsigned long n)
{
	uint64_t distance = HIGHEST / (n + 1) / 16 * 16;

	for (unsigned long i = 1; i <= n; i++)
		VALGRIND_MALLOCLIKE_BLOCK(i * distance, BYTES, 0, 0);
	for (unsigned long i = 2; i <= n; i += 2)
		VALGRIND_FREELIKE_BLOCK(i * distance, 0);
}

static const struct {
	const char *name;
	void (*make)(unsigned long n);
} ways[] = {
	{ "stacks", make_stacks },
	{ "blocks", make_blocks },
	{ "places", make_places },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].make(strtoul(argv[2], NULL, 10));
			/*
			 * Free a block, because massif checks whether there is a new peak before a free decreases the
			 * total.
			 */
			last = malloc(1);
			free(last);
			return 0;
		}
	}
	return 1;
}
