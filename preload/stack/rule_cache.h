/* SPDX-License-Identifier: GPL-2.0 */
/* A cache of unwind rules, keyed by address. */
#ifndef MASSIF_PRELOAD_RULE_CACHE_H
#define MASSIF_PRELOAD_RULE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"
#include "core/session.h"

/*
 * Each word of the cache holds an address (48 bits) and the number of its rule plus one (16 bits), so that an entry can
 * be read or written consistently without a lock. There are few distinct rules: a few hundred in a large program.
 */
#define MF_RULES_CACHE_BITS 15u
#define MF_RULES_MAX	    2047u /* largest value of mf_walk_frame.rule, which is a rule's number plus one */

extern uint64_t mf_rule_cache_cache[1u << MF_RULES_CACHE_BITS] MF_HIDDEN;
extern struct mf_cfi_rule mf_rule_cache_table[MF_RULES_MAX] MF_HIDDEN;

/*
 * True if guesses about code outside any object (such as JIT code) may be cached. This is allowed only if they are
 * dropped whenever an object is loaded.
 */
extern bool mf_rule_cache_keep_guesses MF_HIDDEN;

static inline uint64_t *mf_rule_cache_slot(uint64_t pc)
{
	return &mf_rule_cache_cache[(pc * 0x9e3779b97f4a7c15ull) >> (64 - MF_RULES_CACHE_BITS)];
}

/* Returns one more than the number of the rule for @pc, or 0 if the rule is not cached. */
static inline uint16_t mf_rule_cache_known(uint64_t pc)
{
	uint64_t known = __atomic_load_n(mf_rule_cache_slot(pc), __ATOMIC_ACQUIRE);

	return __builtin_expect(known >> 16 == pc, 1) ? (uint16_t)known : 0;
}

/* Finds the rule for @pc, which is not cached, and caches it if possible. Never waits for a lock. */
struct mf_cfi_rule mf_rule_cache_find(uint64_t pc);

static inline struct mf_cfi_rule mf_rule_cache_of(uint64_t pc)
{
	uint16_t known = mf_rule_cache_known(pc);

	return __builtin_expect(known, 1) ? mf_rule_cache_table[known - 1] : mf_rule_cache_find(pc);
}

/*
 * Records that a guess about code is about to be cached. The guess is either an unwind rule for code that belongs to no
 * object or a result of mf_step_is_return_address(). Must be called before each guess is cached.
 */
void mf_rule_cache_note_guess(void);

/* Returns whether mf_rule_cache_note_guess() has been called since the last call to this function. */
bool mf_rule_cache_has_guessed(void);

/* Drops the rules for addresses in [@start, @end]. */
void mf_rule_cache_forget(uint64_t start, uint64_t end);

/*
 * Clears @slot if its address is in [@start, @end]. The slot's bits from @shift up hold the address. Returns true if
 * the slot is now empty.
 */
static inline bool mf_rule_cache_clear(uint64_t *slot, uint32_t shift, uint64_t start, uint64_t end)
{
	uint64_t pc = __atomic_load_n(slot, __ATOMIC_RELAXED) >> shift;

	if (pc && (pc < start || pc > end))
		return false;
	__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	return true;
}

#endif
