// SPDX-License-Identifier: GPL-2.0
// Stacks that a thread has had before, with their contexts.

#include "memo.h"

#include <stdbool.h>
#include <string.h>

/*
 * An entry: this head, then the values of its words, then their offsets from sp, two in a word. The
 * words are in the order in which the walk read them, and are compared in that order: so nothing is
 * read that the walk would not have read. Groups of GROUP words that share a page are read together;
 * bit 0 of the first one's offset marks those that do not.
 */
struct entry {
	uint64_t pc, sp, fp;
	uint32_t context;
	uint16_t n_words;
	bool needs_fp;
};

#define HEAD_WORDS (sizeof(struct entry) / sizeof(uint64_t))
#define GROUP	   4u
#define SPREAD	   1u /* the words of the group do not all lie in one page */
#define WORDS_MAX  MF_MEMO_WORDS
#define PAGE_BITS  12

#define SCORE_MAX     256u
#define SCORE_HIT     2u
#define WAYS_IN_VAIN  2u  /* to look at, while nothing is ever hit */
#define TURNED_AWAY   31u /* of so many, while nothing is ever hit, all but one */

_Static_assert(HEAD_WORDS + WORDS_MAX + WORDS_MAX / 2 + 1 < MF_MEMO_POOL / 8, "entries are small");

static inline uint64_t hash_of(const struct mf_registers *registers)
{
	uint64_t hash = (registers->pc ^ registers->sp << 13) * 0x9e3779b97f4a7c15ull;

	return hash ^ hash >> 32;
}

static inline uint64_t *set_of(struct mf_memo *memo, uint64_t hash)
{
	return memo->sets[hash % MF_MEMO_SETS];
}

static inline uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1; /* an empty way has 0 */
}

static inline uint64_t word_at(uint64_t sp, uint32_t offset)
{
	return *(const uint64_t *)(uintptr_t)(sp + offset);
}

static inline bool is_unchanged(const struct entry *entry)
{
	const uint64_t *values = (const uint64_t *)(entry + 1);
	const uint32_t *offsets = (const uint32_t *)(values + entry->n_words);
	uint64_t sp = entry->sp;
	uint32_t i = 0;

	for (; i + GROUP <= entry->n_words; i += GROUP) {
		if (__builtin_expect(offsets[i] & SPREAD, 0)) {
			if (word_at(sp, offsets[i] & ~SPREAD) != values[i] ||
			    word_at(sp, offsets[i + 1]) != values[i + 1] ||
			    word_at(sp, offsets[i + 2]) != values[i + 2] ||
			    word_at(sp, offsets[i + 3]) != values[i + 3])
				return false;
		} else if ((word_at(sp, offsets[i]) ^ values[i]) |
			   (word_at(sp, offsets[i + 1]) ^ values[i + 1]) |
			   (word_at(sp, offsets[i + 2]) ^ values[i + 2]) |
			   (word_at(sp, offsets[i + 3]) ^ values[i + 3])) {
			return false;
		}
	}
	for (; i < entry->n_words; i++)
		if (word_at(sp, offsets[i] & ~SPREAD) != values[i])
			return false;
	return true;
}

static inline bool is_there(const struct mf_memo *memo, uint32_t place)
{
	return place >= memo->first && memo->next - place <= MF_MEMO_POOL;
}

uint32_t mf_memo_find(struct mf_memo *memo, const struct mf_registers *registers)
{
	uint64_t hash = hash_of(registers);
	const uint64_t *set = set_of(memo, hash);
	uint32_t tag = tag_of(hash), ways = memo->score ? MF_MEMO_WAYS : WAYS_IN_VAIN;

	for (uint32_t i = 0; i < ways; i++) {
		uint32_t place = (uint32_t)(set[i] >> 32);
		const struct entry *entry;

		if ((uint32_t)set[i] != tag || !is_there(memo, place))
			continue;
		entry = (const struct entry *)&memo->pool[place % MF_MEMO_POOL];
		if (entry->pc != registers->pc || entry->sp != registers->sp ||
		    (entry->needs_fp && entry->fp != registers->fp) || !is_unchanged(entry))
			continue;
		if (memo->score < SCORE_MAX)
			memo->score += SCORE_HIT;
		return entry->context;
	}
	return 0;
}

/* The words of a walk, in the order in which it read them. */
struct words {
	uint64_t sp;
	uint32_t n;
	bool fit;
	uint64_t *values;
	uint32_t *offsets;
};

static inline void add(struct words *words, uint64_t address, uint64_t value)
{
	uint64_t offset = address - words->sp;

	if (words->n == WORDS_MAX || offset > UINT32_MAX || offset % sizeof(uint64_t)) {
		words->fit = false;
		return;
	}
	words->values[words->n] = value;
	words->offsets[words->n++] = (uint32_t)offset;
}

static void collect(struct words *words, const struct mf_walk *walk)
{
	for (uint32_t i = walk->n; i-- > 0 && words->fit;) {
		const struct mf_walk_frame *frame = &walk->frames[i];

		if (frame->other_slot)
			add(words, frame->other_slot, frame->other);
		if (!i) {
			/* What made it the last. */
			if (frame->pc_slot)
				add(words, frame->pc_slot, 0);
			break;
		}
		if (frame->pc_slot)
			add(words, frame->pc_slot, frame[-1].pc);
		if (frame->fp_slot && frame[-1].needs_fp)
			add(words, frame->fp_slot, frame[-1].fp);
	}
}

/* Marks the groups that lie in several pages; lays the offsets behind the values. */
static void lay_out(const struct words *words)
{
	uint32_t *offsets = (uint32_t *)(words->values + words->n);

	for (uint32_t i = 0; i < words->n; i++) {
		uint64_t page = (words->sp + words->offsets[i]) >> PAGE_BITS;
		uint32_t spread = 0;

		for (uint32_t j = i + 1; i % GROUP == 0 && j < i + GROUP && j < words->n; j++)
			if ((words->sp + words->offsets[j]) >> PAGE_BITS != page)
				spread = SPREAD;
		offsets[i] = words->offsets[i] | spread;
	}
}

/* A place where an entry of any size fits before the end of the pool. */
static uint32_t make_place(struct mf_memo *memo)
{
	const uint32_t most = HEAD_WORDS + WORDS_MAX + WORDS_MAX / 2 + 1;

	if (memo->next > UINT32_MAX - 2 * MF_MEMO_POOL) {
		/* Counting starts anew, so no old place may be left. */
		memset(memo->sets, 0, sizeof(memo->sets));
		memo->next = 0;
	}
	if (!memo->next)
		mf_memo_forget(memo);
	if (memo->next % MF_MEMO_POOL + most > MF_MEMO_POOL)
		memo->next += MF_MEMO_POOL - memo->next % MF_MEMO_POOL;
	return memo->next;
}

void mf_memo_enter(struct mf_memo *memo, const struct mf_registers *registers,
		   const struct mf_walk *walk, uint32_t context)
{
	uint64_t hash = hash_of(registers), *set = set_of(memo, hash);
	struct words words = { .sp = registers->sp, .fit = true, .offsets = memo->offsets };
	struct entry *entry;
	uint32_t place;

	if (memo->score)
		memo->score--;
	else if (++memo->turned_away & TURNED_AWAY)
		return;
	place = make_place(memo);
	entry = (struct entry *)&memo->pool[place % MF_MEMO_POOL];
	words.values = (uint64_t *)(entry + 1);
	collect(&words, walk);
	if (!words.fit)
		return;
	lay_out(&words);
	*entry = (struct entry){
		.pc = registers->pc,
		.sp = registers->sp,
		.fp = registers->fp,
		.context = context,
		.n_words = (uint16_t)words.n,
		.needs_fp = walk->frames[walk->n - 1].needs_fp,
	};
	memo->next = place + HEAD_WORDS + words.n + (words.n + 1) / 2;
	for (uint32_t i = MF_MEMO_WAYS - 1; i > 0; i--)
		set[i] = set[i - 1];
	set[0] = (uint64_t)place << 32 | tag_of(hash);
}

void mf_memo_forget(struct mf_memo *memo)
{
	/* The pool begins at its second round: place 0 is that of empty ways. */
	if (!memo->next)
		memo->next = MF_MEMO_POOL;
	memo->first = memo->next;
	memo->score = 0;
}
