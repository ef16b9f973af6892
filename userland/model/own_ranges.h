/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the shim has private memory in the program's address space. Samples of the resident set count it as massif's. Several
 * threads may change the list at the same time.
 */
#ifndef MASSIF_MODEL_OWN_RANGES_H
#define MASSIF_MODEL_OWN_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/store.h"

/* Enters the range from address @start to @end. If the list is full, its memory counts as the program's. */
static inline void mf_own_ranges_note(struct mf_store_header *header, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < MF_STORE_OWN_MAX; i++) {
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&header->own[i].start, &none, start, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&header->own[i].end, end, __ATOMIC_RELEASE);
		return;
	}
}

/* Removes the range that begins at @start, if it is in the list. */
static inline void mf_own_ranges_forget(struct mf_store_header *header, uint64_t start)
{
	for (size_t i = 0; i < MF_STORE_OWN_MAX; i++) {
		if (__atomic_load_n(&header->own[i].start, __ATOMIC_RELAXED) != start)
			continue;
		__atomic_store_n(&header->own[i].end, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&header->own[i].start, 0, __ATOMIC_RELEASE);
		return;
	}
}

#endif
