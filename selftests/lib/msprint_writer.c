// SPDX-License-Identifier: GPL-2.0
// Writes massif.out files for the tests of ms_print.

#include "selftests/lib/msprint_writer.h"

#include <inttypes.h>

#define RULE "#-----------\n"

void msprint_write_header(FILE *file, const char *desc, const char *command, const char *unit)
{
	fprintf(file, "desc:%s\ncmd: %s\ntime_unit: %s\n", desc, command, unit);
}

void msprint_write_snapshot(FILE *file, unsigned int number, uint64_t time, uint64_t heap,
			    uint64_t extra, uint64_t stacks, const char *tree)
{
	fprintf(file, RULE "snapshot=%u\n" RULE "time=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=%" PRIu64 "\nheap_tree=%s\n",
		number, time, heap, extra, stacks, tree);
}

uint64_t msprint_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t msprint_random_below(uint64_t *state, uint64_t limit)
{
	return msprint_random(state) % limit;
}

static const char *const names[] = {
	"malloc (in /usr/lib/x.so)", "main (main.c:12)", "???", "f (in ?" "?" "?)",
	"main::{lambda(int)#1}::operator()(int) const (a.cc:7)", "100%s %d%% (p.c:1)",
	"std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&) (vector.tcc:440)",
};

static void write_tree(FILE *file, uint64_t *state, uint64_t bytes, unsigned int depth,
		       unsigned int indent)
{
	unsigned int children = depth ? msprint_random_below(state, 4) : 0;
	const char *name = names[msprint_random_below(state, sizeof(names) / sizeof(names[0]))];
	uint64_t part;
	unsigned int i;

	fprintf(file, "%*sn%u: %" PRIu64, indent, "", children, bytes);
	if (!indent)
		fprintf(file, " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n");
	else if (!children && msprint_random_below(state, 4) == 0)
		fprintf(file, " in 3 places, all below massif's threshold (1.00%%)\n");
	else
		fprintf(file, " 0x%" PRIX64 ": %s\n", msprint_random_below(state, 1 << 30), name);
	for (i = 0; i < children; i++) {
		part = msprint_random_below(state, bytes + 1);
		/* Some sizes are very small or 0, like those of contexts whose blocks have all been freed. */
		if (msprint_random_below(state, 3) == 0)
			part = part >> msprint_random_below(state, 20);
		bytes -= part;
		write_tree(file, state, part, depth - 1, indent + 1);
	}
}

void msprint_write_random(FILE *file, uint64_t *state)
{
	static const char *const units[] = { "i", "ms", "B" };
	uint64_t size = UINT64_C(1) << (1 + msprint_random_below(state, 61));
	uint64_t step = UINT64_C(1) << msprint_random_below(state, 56);
	unsigned int count = 1 + msprint_random_below(state, 20);
	unsigned int peak = msprint_random_below(state, count);
	uint64_t time = 0;
	const char *tree;
	unsigned int i;
	uint64_t heap;

	msprint_write_header(file, " --detailed-freq=3 --time-unit=B", "./prog -a  'b c' #1",
			     units[msprint_random_below(state, 3)]);
	for (i = 0; i < count; i++) {
		heap = msprint_random_below(state, size);
		tree = i == peak ? "peak" : msprint_random_below(state, 3) ? "empty" : "detailed";
		msprint_write_snapshot(file, i, time, heap,
				       msprint_random_below(state, heap / 8 + 1),
				       msprint_random_below(state, 3) ? 0 : heap / 16, tree);
		if (tree[0] != 'e')
			write_tree(file, state, heap, msprint_random_below(state, 7), 0);
		if (msprint_random_below(state, 5))
			time += msprint_random_below(state, step);
	}
}
