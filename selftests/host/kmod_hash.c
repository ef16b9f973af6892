// SPDX-License-Identifier: GPL-2.0
// The hash tables of the module (kmod/hash.h): their size follows the machine's memory, and chains stay short however many
// processes the memory has room for.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "kmod/hash.h"

#define PAGE	4096ul
#define MIB	(1ul << 20)
#define GIB	(1ul << 30)

/* Memory that a process needs, at least; measured on 6.12, for the child of a small static program: 110 KiB. */
#define PER_PROCESS	(100ul << 10)

/* Limits of the length of a chain, if the memory is full of processes: on average, as a look-up sees it, and at most. */
#define USUAL	24
#define LONGEST	72

TEST(size)
{
	static const struct {
		unsigned long memory;
		unsigned int bits;
	} cases[] = {
		{ 0, 8 }, { PAGE, 8 }, { 512 * MIB - PAGE, 8 }, { 512 * MIB, 9 }, { 512 * MIB + PAGE, 9 }, { GIB - PAGE, 9 },
		{ GIB, 10 }, { 16 * GIB, 14 }, { 256 * GIB, 18 }, { 1024 * GIB - PAGE, 19 }, { 1024 * GIB, 20 },
		{ 10240 * GIB, 20 }, { ~0ul, 20 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(cases[i].bits, massif_hash_bits(cases[i].memory / PAGE)) {
			TH_LOG("%lu bytes", cases[i].memory);
		}
	}
}

/* How the kernel allocates the objects whose addresses are keys: in slabs, which may be anywhere. */
static const struct slab {
	const char *what;
	unsigned int object, bytes;
} slabs[] = {
	{ "mm_struct of 5.10", 1088, 32 << 10 },
	{ "mm_struct of 6.12", 1408, 32 << 10 },
	{ "mm_struct of 2 KiB", 2048, 32 << 10 },
	{ "pid", 128, 4 << 10 },
	{ "pid of a nested namespace", 192, 8 << 10 },
	/* Every other object belongs to something else. */
	{ "sparse pid", 256, 4 << 10 },
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct chains {
	double usual;		/* average number of entries in the chain of an entry */
	unsigned int longest;
};

/* Enters @count objects. The slabs follow one another, or are scattered over @memory. */
static struct chains fill(const struct slab *slab, unsigned long memory, unsigned long count, bool scattered)
{
	unsigned int bits = massif_hash_bits(memory / PAGE), each = slab->bytes / slab->object, *lengths;
	uint64_t state = 88172645463325252ull, base = 0xffff888000000000ull, at = base;
	struct chains found = {};

	lengths = calloc(1ul << bits, sizeof(*lengths));
	for (unsigned long i = 0; i < count; i++) {
		unsigned int *length;

		if (i % each == 0)
			at = base + (scattered ? next_random(&state) % (memory / slab->bytes) : i / each) * slab->bytes;
		length = &lengths[massif_hash_of((void *)(at + i % each * slab->object), bits)];
		found.usual += 2 * (*length)++ + 1;
		if (*length > found.longest)
			found.longest = *length;
	}
	found.usual /= count;
	free(lengths);
	return found;
}

TEST(chains_are_short_when_the_memory_is_full)
{
	static const unsigned long memories[] = { GIB / 2, GIB, 3 * GIB / 2, 2 * GIB - PAGE, 16 * GIB, 64 * GIB };

	for (unsigned int i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		for (unsigned int j = 0; j < 2 * sizeof(slabs) / sizeof(slabs[0]); j++) {
			const struct slab *slab = &slabs[j / 2];
			struct chains found = fill(slab, memories[i], memories[i] / PER_PROCESS, j % 2);

			EXPECT_TRUE(found.usual <= USUAL && found.longest <= LONGEST) {
				TH_LOG("%lu MiB, %s, %s: %.1f entries, at most %u", memories[i] / MIB, slab->what,
				       j % 2 ? "scattered" : "in a row", found.usual, found.longest);
			}
		}
	}
}

/* A few targets are each alone in their chain. */
TEST(chains_of_a_few_have_one_entry)
{
	for (unsigned int j = 0; j < 2 * sizeof(slabs) / sizeof(slabs[0]); j++) {
		struct chains found = fill(&slabs[j / 2], 16 * GIB, 64, j % 2);

		EXPECT_TRUE(found.usual <= 1.1 && found.longest <= 2) {
			TH_LOG("%s: %.2f entries, at most %u", slabs[j / 2].what, found.usual, found.longest);
		}
	}
}

TEST_HARNESS_MAIN
