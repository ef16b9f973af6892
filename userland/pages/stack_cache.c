// SPDX-License-Identifier: GPL-2.0
// The stack cache of one address space: stacks that were unwound, with every value that was read to unwind them.

#include "pages/stack_cache.h"

#include <stdlib.h>
#include <string.h>

#include <linux/massif.h>

/* Maximum number of words in the cache: 64 MiB. When it is reached, the cache is emptied. */
#define WORDS_MAX (4u << 20)

#define TABLE_BITS_FIRST 8u

struct stack {
	uint64_t pc, sp;
	uint32_t words; /* index in the cache's @words of the first word that the stack's walk read */
	uint32_t n_regs, n_slots;
	uint32_t next; /* number of the next stack in the hash chain */
	uint32_t context;
	uint32_t epoch;
	/* version of the target's code (code_gen in linux/massif.h) when the stack was last sent to the module */
	uint32_t code_gen;
	uint64_t sent_ns;  /* when the stack was last sent to the module, or 0 if never */
};

struct mf_stack_cache {
	struct stack *stacks; /* all stacks, indexed by stack number; [0] is unused */
	uint32_t n_stacks, max_stacks;
	/* the registers and stack words that were read to unwind the stacks in @table, with their values */
	struct massif_stack_cache_word *words;
	uint32_t n_words, max_words;
	uint32_t *table; /* hash table: number of the first stack in each chain */
	uint32_t table_bits;
	uint32_t n_current; /* number of stacks in the hash table */
	uint32_t epoch;
	uint32_t fresh; /* stacks whose numbers are lower than this are stale */
};

struct mf_stack_cache *mf_stack_cache_create(void)
{
	struct mf_stack_cache *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->n_stacks = 1;
	known->table_bits = TABLE_BITS_FIRST;
	known->table = calloc(1u << known->table_bits, sizeof(*known->table));
	if (!known->table) {
		free(known);
		return NULL;
	}
	return known;
}

void mf_stack_cache_destroy(struct mf_stack_cache *known)
{
	if (!known)
		return;
	free(known->stacks);
	free(known->words);
	free(known->table);
	free(known);
}

static uint32_t *chain(const struct mf_stack_cache *known, uint64_t pc, uint64_t sp)
{
	uint64_t hash = (pc ^ sp << 29) * 0x9e3779b97f4a7c15ull;

	return &known->table[hash >> (64 - known->table_bits)];
}

static uint64_t pc_of(const struct mf_user_stack *stack)
{
	return stack->regs[stack->n_regs - 1];
}

static bool equal(const struct mf_stack_cache *known, const struct stack *entry,
		  const struct mf_user_stack *stack)
{
	const struct massif_stack_cache_word *word = known->words + entry->words;

	if (entry->pc != pc_of(stack) || entry->sp != stack->sp)
		return false;
	for (uint32_t i = 0; i < entry->n_regs; i++, word++)
		if (word->place >= stack->n_regs || stack->regs[word->place] != word->value)
			return false;
	for (uint32_t i = 0; i < entry->n_slots; i++, word++)
		if (word->place + sizeof(word->value) > stack->n_bytes ||
		    memcmp(stack->bytes + word->place, &word->value, sizeof(word->value)))
			return false;
	return true;
}

uint32_t mf_stack_cache_find(const struct mf_stack_cache *known, const struct mf_user_stack *stack)
{
	uint32_t number = *chain(known, pc_of(stack), stack->sp);

	while (number && !equal(known, &known->stacks[number], stack))
		number = known->stacks[number].next;
	return number;
}

static bool grow(void **array, uint32_t *max, uint32_t needed, size_t size)
{
	uint32_t more = *max ? *max : 64;
	void *grown;

	while (more < needed)
		more *= 2;
	if (more == *max)
		return true;
	grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*max = more;
	return true;
}

/* Doubles the size of the hash table when its chains get long. If out of memory, leaves the table as it is. */
static void grow_table(struct mf_stack_cache *known)
{
	uint32_t bits = known->table_bits + 1;
	uint32_t *table;

	if (known->n_current < 1u << known->table_bits || bits > 24)
		return;
	table = calloc(1u << bits, sizeof(*table));
	if (!table)
		return;
	free(known->table);
	known->table = table;
	known->table_bits = bits;
	for (uint32_t i = 1; i < known->n_stacks; i++) {
		struct stack *entry = &known->stacks[i];
		uint32_t *first;

		if (entry->epoch != known->epoch)
			continue;
		first = chain(known, entry->pc, entry->sp);
		entry->next = *first;
		*first = i;
	}
}

/* Empties the hash table: stacks are no longer found, but numbers already given out stay valid. */
static void forget(struct mf_stack_cache *known)
{
	memset(known->table, 0, sizeof(*known->table) << known->table_bits);
	known->n_words = 0;
	known->n_current = 0;
	known->epoch++;
}

uint32_t mf_stack_cache_add(struct mf_stack_cache *known, const struct mf_user_stack *stack,
		      const struct mf_trace *trace, uint32_t context)
{
	uint32_t n_words = trace->n_regs + trace->n_slots;
	struct massif_stack_cache_word *word;
	uint32_t *first;

	if (known->n_words + n_words > WORDS_MAX)
		forget(known);
	if (!grow((void **)&known->words, &known->max_words, known->n_words + n_words,
		  sizeof(*known->words)) ||
	    !grow((void **)&known->stacks, &known->max_stacks, known->n_stacks + 1,
		  sizeof(*known->stacks)))
		return MF_KNOWN_NONE;
	grow_table(known);

	first = chain(known, pc_of(stack), stack->sp);
	known->stacks[known->n_stacks] = (struct stack){
		.pc = pc_of(stack),
		.sp = stack->sp,
		.words = known->n_words,
		.n_regs = trace->n_regs,
		.n_slots = trace->n_slots,
		.next = *first,
		.context = context,
		.epoch = known->epoch,
	};
	*first = known->n_stacks;

	word = known->words + known->n_words;
	for (uint32_t i = 0; i < trace->n_regs; i++)
		*word++ = (struct massif_stack_cache_word){
			.value = stack->regs[trace->regs[i]],
			.place = trace->regs[i],
		};
	for (uint32_t i = 0; i < trace->n_slots; i++, word++) {
		*word = (struct massif_stack_cache_word){.place = trace->slots[i]};
		memcpy(&word->value, stack->bytes + trace->slots[i], sizeof(word->value));
	}
	known->n_words += n_words;
	known->n_current++;
	return known->n_stacks++;
}

void mf_stack_cache_flush(struct mf_stack_cache *known)
{
	forget(known);
	known->fresh = known->n_stacks;
}

bool mf_stack_cache_context(const struct mf_stack_cache *known, uint32_t number, uint32_t *context)
{
	if (!number || number >= known->n_stacks || number < known->fresh)
		return false;
	*context = known->stacks[number].context;
	return true;
}

struct massif_stack_cache_stack *mf_stack_cache_describe(const struct mf_stack_cache *known, uint32_t number,
					     uint32_t target, uint32_t code_gen)
{
	const struct stack *entry = &known->stacks[number];
	size_t words = (entry->n_regs + entry->n_slots) * sizeof(*known->words);
	struct massif_stack_cache_stack *stack = malloc(sizeof(*stack) + words);

	if (!stack)
		return NULL;
	*stack = (struct massif_stack_cache_stack){
		.size = (uint32_t)(sizeof(*stack) + words),
		.target = target,
		.number = number,
		.code_gen = code_gen,
		.pc = entry->pc,
		.sp = entry->sp,
		.nr_regs = entry->n_regs,
		.nr_slots = entry->n_slots,
	};
	memcpy(stack->words, known->words + entry->words, words);
	return stack;
}

bool mf_stack_cache_is_unsent(struct mf_stack_cache *known, uint32_t number, uint32_t code_gen, uint64_t time_ns,
		     uint64_t now_ns)
{
	struct stack *entry = &known->stacks[number];

	/*
	 * If the module made this stack copy before we sent the stack to its cache, the cache may contain the stack by
	 * now, so do not send the stack again.
	 */
	if (entry->sent_ns && entry->code_gen == code_gen && time_ns <= entry->sent_ns)
		return false;
	entry->sent_ns = now_ns;
	entry->code_gen = code_gen;
	return true;
}
