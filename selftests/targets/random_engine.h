/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that allocates, resizes and frees blocks at random: the blocks' sizes, the order of the calls and the call
 * chains are all random.
 *
 * The program is interpreted, not compiled. Its command line is PROGRAM SEED EVENTS RULES. The same arguments always
 * produce the same program; a smaller EVENTS produces only the first part of it. RULES are letters: r, no realloc; p,
 * no call of posix_memalign and no realloc of NULL; s, no call chain of more than SHORT_CHAIN functions; f, free
 * everything at the end; a digit, end many call chains with recursive calls of the function that has this number; -, no
 * rule.
 *
 * The file that includes this one defines the functions that the chains consist of, in a table named functions. Each
 * calls the next function of the chain, or the allocator if it is the last.
 *
 * Block sizes are restricted, because in one case the number of extra bytes that Massif counts depends on its
 * allocator's free lists: if splitting a free block would leave less than 32 bytes, the whole block is handed out.
 * Massif's allocator adds 32 bytes to each block and rounds the result up to a multiple of 16, and it cuts blocks from
 * spaces whose size is a multiple of 32. So if every block size, rounded up to 16, is a multiple of 32, then every
 * hole, every sum of adjacent holes and every remainder of a hole is a multiple of 32 as well, and none lies between 0
 * and 32. Sizes modulo 32 can therefore be 0 or anything from 17 to 31; there is no other restriction. Alignments above
 * 16 are not used, because blocks would then be cut at other addresses. Nor are threads, because their libraries
 * allocate memory of their own.
 */
#ifndef MASSIF_SELFTESTS_RANDOM_ENGINE_H
#define MASSIF_SELFTESTS_RANDOM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

#define SLOTS	    256
#define CHAINS	    64
#define CHAIN_MAX   300
#define SHORT_CHAIN 30
#define RECURSIONS  90
#define UNIT	    32
#define MIB	    (1024 * 1024)
/* maximum length of generated texts */
#define TEXT_MAX    4096

/* Families of calls; a block must be freed by a call of the family that allocated it. */
enum family { FAMILY_C, FAMILY_NEW, FAMILY_NEW_ARRAY };

enum call {
	/* How a block is allocated. */
	CALL_MALLOC,
	CALL_MALLOC_AGAIN,
	CALL_CALLOC,
	CALL_MEMALIGN,
	CALL_ALIGNED_ALLOC,
	CALL_POSIX_MEMALIGN,
	CALL_STRDUP,
	CALL_REALLOC,
	CALL_NEW,
	CALL_NEW_NOTHROW,
	CALL_NEW_ARRAY,
	CALL_NEW_ARRAY_NOTHROW,
	/* How a block is freed. */
	CALL_FREE,
	CALL_FREE_AGAIN,
	CALL_DELETE,
	CALL_DELETE_SIZED,
	CALL_DELETE_ARRAY,
};

struct step {
	uint8_t function, site;
};

/* A chain of calls in progress. */
struct walk {
	const struct step *step, *last;
	enum call call;
	void *block; /* the block to resize or free */
	size_t size;
	unsigned int returned;
};

typedef void *function(struct walk *walk);

struct chain {
	unsigned int length;
	struct step steps[CHAIN_MAX];
};

struct block {
	void *address;
	size_t size;
	enum family family;
	bool used; /* the slot holds a block, even if the block's address is NULL */
};

/* A phase of the random program. */
struct mood {
	uint8_t free, resize; /* percentages of events that are frees and resizes; all other events are allocations */
	uint8_t same;	      /* percentage of resizes that do not change the size */
	uint16_t units;	      /* largest block size, in units of 32 bytes */
	uint8_t length;	      /* longest duration of this phase of the program, in events */
};

static const struct mood moods[] = {
	{ 5, 5, 10, 8, 100 },	   /* phase: a burst of small blocks */
	{ 5, 5, 10, 200, 60 },	   /* phase: a burst of larger blocks */
	{ 80, 5, 10, 40, 80 },	   /* phase: mostly frees */
	{ 45, 10, 20, 60, 250 },   /* phase: allocates and frees */
	{ 50, 0, 0, 1, 250 },	   /* phase: allocates and frees blocks of up to 32 bytes */
	{ 10, 80, 10, 60, 120 },   /* phase: mostly resizes */
	{ 2, 95, 90, 60, 100 },	   /* phase: mostly resizes to an unchanged size, which do not advance the byte clock */
	{ 45, 10, 10, 0, 60 },	   /* phase: blocks of size 0 only */
	{ 40, 20, 10, 65535, 12 }, /* phase: allocates blocks of up to 2 MiB */
	{ 45, 10, 10, 65535, 12 }, /* phase: multiplies block sizes by a factor, see pick_size() */
};

#define N_MOODS	    (sizeof(moods) / sizeof(*moods))
#define MOOD_LARGE  (N_MOODS - 1)

static struct program {
	uint64_t state;
	const struct mood *mood;
	unsigned int mood_left;
	unsigned int n_slots, n_chains, chain_max;
	uint32_t functions; /* bit set of the functions that the program uses */
	/* number of the function whose recursive calls end many of the call chains; negative if there is none */
	int recursing;
	uint8_t slop;	    /* size of each block: a multiple of 32, minus 0 to slop - 1 bytes; slop is at most 16 */
	uint16_t large;	    /* factor for the block sizes in the phase MOOD_LARGE */
	/* plain: the program calls none of the allocation functions that Valgrind implements by calling another one */
	bool resizes, plain;
	struct block slots[SLOTS];
	struct chain chains[CHAINS];
	char text[TEXT_MAX + 1];
} program;

static uint32_t pick(uint32_t below)
{
	program.state = program.state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((program.state >> 32) * below >> 32);
}

static bool percent(uint32_t n)
{
	return pick(100) < n;
}

static void pick_chain(struct chain *chain, unsigned int n_functions)
{
	unsigned int length = 1 + pick(program.chain_max);

	/* Long chains usually share their beginning, as in real programs. */
	if (length > 4 && chain != program.chains && percent(60))
		*chain = program.chains[pick((uint32_t)(chain - program.chains))];
	for (unsigned int i = chain->length / 2; i < length; i++) {
		uint8_t found;

		do {
			found = (uint8_t)pick(n_functions);
		} while (!(program.functions >> found & 1));
		chain->steps[i] = (struct step){ found, (uint8_t)pick(4) };
	}
	if (program.recursing >= 0 && percent(60)) {
		unsigned int more = 1 + pick(RECURSIONS);

		for (; more-- && length < CHAIN_MAX; length++)
			chain->steps[length] = (struct step){ (uint8_t)program.recursing,
							      (uint8_t)pick(4) };
	}
	chain->length = length;
}

static void begin_program(uint64_t seed, const char *rules, unsigned int n_functions)
{
	static const uint16_t chain_lengths[] = { 1, 2, 3, 4, 5, 6, 8, 12, 30, 90, CHAIN_MAX };
	const uint32_t all = (1u << n_functions) - 1;

	program.state = seed * 0x9e3779b97f4a7c15u + 1;
	pick(1);
	program.resizes = !strchr(rules, 'r');
	program.plain = strchr(rules, 'p');
	program.recursing = rules[strcspn(rules, "0123456789")] - '0';
	program.n_slots = 1 + pick(percent(50) ? 20 : SLOTS);
	program.n_chains = 1 + pick(percent(50) ? 8 : CHAINS);
	/*
	 * Large blocks are usually at most 32 MiB in size. In some programs they are up to 512 MiB, so that a clock
	 * that counts bytes exceeds 32 bits. Such a program has at most six live blocks at a time, which limits its
	 * memory use.
	 */
	program.large = percent(90) ? 16 : 256;
	if (program.large > 16)
		program.n_slots = 1 + pick(6);
	program.chain_max = chain_lengths[pick(sizeof(chain_lengths) / sizeof(*chain_lengths))];
	if (strchr(rules, 's') && program.chain_max > SHORT_CHAIN)
		program.chain_max = SHORT_CHAIN;
	/* The fewer functions a program has, the larger the share of its calls that are recursive. */
	program.functions = percent(60) ? all : pick(all) + 1;
	program.slop = percent(70) ? 16 : 1;
	for (unsigned int i = 0; i < program.n_chains; i++)
		pick_chain(&program.chains[i], n_functions);
	memset(program.text, 'x', TEXT_MAX);
}

static size_t pick_size(void)
{
	uint32_t most = program.mood->units, units;

	if (!most)
		return 0;
	if (program.mood == &moods[MOOD_LARGE])
		return ((size_t)1 + pick(most)) * program.large * UNIT - pick(program.slop);
	/* Prefer small sizes, of which there are few, so that equal sizes are common. */
	units = percent(50) ? 1 + pick(most) : 1 + pick(most) % 5;
	return units * UNIT - pick(program.slop);
}

static struct block *pick_block(bool used)
{
	uint32_t start = pick(program.n_slots);

	for (uint32_t i = 0; i < program.n_slots; i++) {
		struct block *block = &program.slots[(start + i) % program.n_slots];

		if (block->used == used)
			return block;
	}
	return NULL;
}

static enum call pick_making(const struct block *block)
{
	static const uint8_t of_c[] = { CALL_MALLOC, CALL_MALLOC, CALL_MALLOC_AGAIN, CALL_CALLOC,
					CALL_MEMALIGN, CALL_ALIGNED_ALLOC, CALL_POSIX_MEMALIGN,
					CALL_REALLOC, CALL_STRDUP };
	enum call call;

	if (block->family == FAMILY_NEW)
		return percent(70) ? CALL_NEW : CALL_NEW_NOTHROW;
	if (block->family == FAMILY_NEW_ARRAY)
		return percent(70) ? CALL_NEW_ARRAY : CALL_NEW_ARRAY_NOTHROW;
	call = (enum call)of_c[pick(sizeof(of_c))];
	/*
	 * Use malloc for large blocks, because calloc and strdup write to the block, which would then really use
	 * memory. strdup cannot allocate a block of 0 bytes.
	 */
	if ((call == CALL_CALLOC && block->size > MIB) ||
	    (call == CALL_STRDUP && (block->size == 0 || block->size > TEXT_MAX)))
		return CALL_MALLOC;
	if (program.plain && call == CALL_POSIX_MEMALIGN)
		return CALL_MEMALIGN;
	return program.plain && call == CALL_REALLOC ? CALL_MALLOC : call;
}

static enum call pick_ending(const struct block *block)
{
	if (block->family == FAMILY_NEW)
		return percent(50) ? CALL_DELETE : CALL_DELETE_SIZED;
	if (block->family == FAMILY_NEW_ARRAY)
		return CALL_DELETE_ARRAY;
	return percent(50) ? CALL_FREE : CALL_FREE_AGAIN;
}

/* The outermost frame of every call chain. Calls the first function of the chain. */
static NOINLINE void *enter(struct walk *walk, function *const *table)
{
	void *block = table[walk->step->function](walk);

	walk->returned++;
	return block;
}

static void *call(enum call call, const struct block *block, size_t size,
		  function *const *table)
{
	const struct chain *chain = &program.chains[pick(program.n_chains)];
	struct walk walk = {
		.step = chain->steps,
		.last = &chain->steps[chain->length - 1],
		.call = call,
		.block = block->address,
		.size = size,
	};

	return enter(&walk, table);
}

static void make(function *const *table, bool has_new)
{
	struct block *block = pick_block(false);

	if (!block)
		return;
	*block = (struct block){
		.size = pick_size(),
		.used = true,
	};
	if (has_new && percent(60))
		block->family = percent(70) ? FAMILY_NEW : FAMILY_NEW_ARRAY;
	/* The size is so large that the call fails: it returns NULL, and there is no event. */
	if (block->family == FAMILY_C && percent(1))
		block->size = SIZE_MAX / 2 + 1 + pick(1000);
	block->address = call(pick_making(block), block, block->size, table);
	if (!block->address)
		block->used = false;
}

static void resize(function *const *table)
{
	struct block *block = pick_block(true);
	size_t size;

	if (!block || block->family != FAMILY_C)
		return;
	size = percent(program.mood->same) ? block->size : pick_size();
	/* Sometimes use the largest size at which realloc leaves the block in place, or the next larger size. */
	if (block->size > 0 && percent(20))
		size = ((block->size - 1) / UNIT + 1 + pick(2)) * UNIT - pick(program.slop);
	/*
	 * Shrink a large block instead of growing it. If realloc moved the block, it would touch the pages of both
	 * blocks, which would use real memory.
	 */
	if (block->size > MIB && size > block->size)
		size = block->size / 2 / UNIT * UNIT;
	if (percent(2))
		size = 0;
	block->address = call(CALL_REALLOC, block, size, table);
	block->size = size;
	block->used = block->address != NULL;
}

static void end(struct block *block, function *const *table)
{
	if (!block)
		return;
	call(pick_ending(block), block, block->size, table);
	block->used = false;
}

static NOINLINE void run_event(function *const *table, bool has_new)
{
	uint32_t what = pick(100);

	if (!program.mood_left) {
		program.mood = &moods[pick(N_MOODS)];
		if (program.large > 16 && percent(40))
			program.mood = &moods[MOOD_LARGE];
		program.mood_left = 1 + pick(program.mood->length);
	}
	program.mood_left--;
	if (what < program.mood->free)
		end(pick_block(true), table);
	else if (what < (uint32_t)program.mood->free + program.mood->resize && program.resizes)
		resize(table);
	else
		make(table, has_new);
}

static int run_program(char **argv, function *const *table, unsigned int n_functions, bool has_new)
{
	unsigned long events;

	if (!argv[1] || !argv[2] || !argv[3])
		return 2;
	begin_program(strtoull(argv[1], NULL, 0), argv[3], n_functions);
	events = strtoul(argv[2], NULL, 0);
	for (unsigned long i = 0; i < events; i++)
		run_event(table, has_new);
	if (strchr(argv[3], 'f')) {
		for (unsigned int i = 0; i < program.n_slots; i++)
			end(program.slots[i].used ? &program.slots[i] : NULL, table);
	}
	return 0;
}

#endif
