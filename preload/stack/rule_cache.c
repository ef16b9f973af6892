// SPDX-License-Identifier: GPL-2.0
// A cache of unwind rules, keyed by address.

#include "rule_cache.h"

#include <string.h>

#include "cfi.h"
#include "rowcache.h"

#define LOCK_TRIES 1000

uint64_t mf_rule_cache_cache[1u << MF_RULES_CACHE_BITS];
struct mf_cfi_rule mf_rule_cache_table[MF_RULES_MAX];
bool mf_rule_cache_keep_guesses;

static uint32_t n_rules;
static uint32_t lock;
/*
 * true if there may be guesses in a cache. A guess is either an unwind rule for code that belongs to no object or a
 * cached result of mf_step_is_return_address(). Set before any guess is cached; atomic
 */
static bool has_guessed;

/*
 * Numbers of the slots in use, protected by the lock. When rules are dropped, only these slots are searched, which is
 * much faster than searching the whole cache. If more slots are in use than this array can hold, the whole cache is
 * searched.
 */
#define FILLED_MAX 8192u

static uint16_t filled[FILLED_MAX];
static uint32_t n_filled;

_Static_assert(MF_RULES_CACHE_BITS <= 16, "a slot's number has 16 bits");

/*
 * Returns the index of @rule in the table of rules, to which the rule is added if it is new. Returns MF_RULES_MAX if
 * there are too many rules.
 * Context: the lock is held.
 */
static uint32_t intern(const struct mf_cfi_rule *rule)
{
	uint32_t i;

	for (i = 0; i < n_rules; i++)
		if (!memcmp(&mf_rule_cache_table[i], rule, sizeof(*rule)))
			return i;
	if (n_rules < MF_RULES_MAX)
		mf_rule_cache_table[n_rules++] = *rule;
	return i;
}

/* Caches a rule. Does nothing if another thread is caching a rule at the same time; a missing entry is harmless. */
static void remember(uint64_t pc, const struct mf_cfi_rule *rule)
{
	uint64_t *slot = mf_rule_cache_slot(pc);
	uint32_t number;

	if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		return;
	number = intern(rule);
	if (number < MF_RULES_MAX) {
		if (!*slot) {
			if (n_filled < FILLED_MAX)
				filled[n_filled] = (uint16_t)(slot - mf_rule_cache_cache);
			n_filled += n_filled <= FILLED_MAX;
		}
		__atomic_store_n(slot, pc << 16 | (number + 1), __ATOMIC_RELEASE);
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) struct mf_cfi_rule mf_rule_cache_find(uint64_t pc)
{
	struct mf_cfi_rule rule;
	bool lasts = true;

	if (!mf_rowcache_find(pc, &rule)) {
		lasts = mf_cfi_find(pc, &rule);
		mf_rowcache_note(pc, &rule);
	}
	if ((!lasts && !mf_rule_cache_keep_guesses) || pc >> 48)
		return rule;
	if (!lasts)
		mf_rule_cache_note_guess();
	remember(pc, &rule);
	return rule;
}

void mf_rule_cache_note_guess(void)
{
	__atomic_store_n(&has_guessed, true, __ATOMIC_SEQ_CST);
}

bool mf_rule_cache_has_guessed(void)
{
	return __atomic_exchange_n(&has_guessed, false, __ATOMIC_SEQ_CST);
}

/* Drops the rules for addresses in [@start, @end]. Context: the lock is held. */
static void clear_filled(uint64_t start, uint64_t end)
{
	bool is_list = n_filled <= FILLED_MAX;
	uint32_t n = is_list ? n_filled : 1u << MF_RULES_CACHE_BITS, kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = is_list ? filled[i] : i;

		if (mf_rule_cache_clear(&mf_rule_cache_cache[slot], 16, start, end))
			continue;
		if (kept < FILLED_MAX)
			filled[kept] = (uint16_t)slot;
		kept += kept <= FILLED_MAX;
	}
	n_filled = kept;
}

/*
 * Tries to take the lock for a limited time; returns false on failure. The lock is never held for long. But in a forked
 * child, its holder may not exist; and in a signal handler, its holder may be the interrupted thread.
 */
static bool take_lock(void)
{
	for (int tries = 0; __atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); tries++)
		if (tries == LOCK_TRIES)
			return false;
	return true;
}

void mf_rule_cache_forget(uint64_t start, uint64_t end)
{
	if (take_lock()) {
		clear_filled(start, end);
		__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
		return;
	}
	for (uint32_t i = 0; i < 1u << MF_RULES_CACHE_BITS; i++)
		mf_rule_cache_clear(&mf_rule_cache_cache[i], 16, start, end);
}
