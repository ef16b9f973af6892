/* SPDX-License-Identifier: GPL-2.0 */
/* The unwind rules of addresses that walks came by, remembered. */
#ifndef MASSIF_PRELOAD_RULES_H
#define MASSIF_PRELOAD_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/rows.h"
#include "core/session.h"

/*
 * Rules by address: each word holds the address's 48 bits and the number of its rule plus one, so
 * that one load or store is consistent without a lock. There are few different rules: some hundred
 * in a large program.
 */
#define MF_RULES_CACHE_BITS 15u
#define MF_RULES_MAX	    2047u /* with one added, they fit where frames note them */

extern uint64_t mf_rule_cache_cache[1u << MF_RULES_CACHE_BITS] MF_HIDDEN;
extern struct mf_cfi_rule mf_rule_cache_table[MF_RULES_MAX] MF_HIDDEN;

/* Are guesses remembered about code of no object? Only if they can be forgotten when an object comes. */
extern bool mf_rule_cache_keep_guesses MF_HIDDEN;

static inline uint64_t *mf_rule_cache_slot(uint64_t pc)
{
	return &mf_rule_cache_cache[(pc * 0x9e3779b97f4a7c15ull) >> (64 - MF_RULES_CACHE_BITS)];
}

/* The number of the rule for @pc plus one; 0 if it is not remembered. */
static inline uint16_t mf_rule_cache_known(uint64_t pc)
{
	uint64_t known = __atomic_load_n(mf_rule_cache_slot(pc), __ATOMIC_ACQUIRE);

	return __builtin_expect(known >> 16 == pc, 1) ? (uint16_t)known : 0;
}

/* The rule for @pc, which is not remembered; it is from now on, if it can be. Takes no lock that it waits for. */
struct mf_cfi_rule mf_rule_cache_find(uint64_t pc);

static inline struct mf_cfi_rule mf_rule_cache_of(uint64_t pc)
{
	uint16_t known = mf_rule_cache_known(pc);

	return __builtin_expect(known, 1) ? mf_rule_cache_table[known - 1] : mf_rule_cache_find(pc);
}

/* Called before something is remembered about code of no object. */
void mf_rule_cache_note_guess(void);

/* Was anything remembered about code of no object since the last call? */
bool mf_rule_cache_has_guessed(void);

/* Forgets the rules of the addresses in [@start, @end]. */
void mf_rule_cache_forget(uint64_t start, uint64_t end);

/* Clears @slot if the address in it, above @shift other bits, lies in [@start, @end]. Returns whether it is empty. */
static inline bool mf_rule_cache_clear(uint64_t *slot, uint32_t shift, uint64_t start, uint64_t end)
{
	uint64_t pc = __atomic_load_n(slot, __ATOMIC_RELAXED) >> shift;

	if (pc && (pc < start || pc > end))
		return false;
	__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	return true;
}

#endif
