/* SPDX-License-Identifier: GPL-2.0 */
/* Tracks the code and the unwind rules that unwinding has read, to detect when results derived from them are stale. */
#ifndef MASSIF_PAGES_CODE_H
#define MASSIF_PAGES_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_code_range {
	uint64_t start, end;
};

/* The address ranges of the code and unwind rules that the unwinder has read. Zero-initialise the structure. */
struct mf_code {
	/* the recorded address ranges, in no particular order; they may overlap; there are only a few */
	struct mf_code_range *ranges;
	size_t n_ranges;
	/* A recorded range was unmapped or replaced: data derived from its code or rules are stale. */
	bool left;
};

void mf_code_deinit(struct mf_code *code);

/*
 * Records that unwinding has read code or rules at start..end. If out of memory, sets code->left, which makes the
 * caller drop its caches; it is always safe to drop them.
 */
void mf_code_note(struct mf_code *code, uint64_t start, uint64_t end);

/* Records that start..end was unmapped or now holds something else. */
void mf_code_unmap(struct mf_code *code, uint64_t start, uint64_t end);

/*
 * Returns whether a range of code or rules that mf_code_note() recorded has been unmapped or replaced since the last
 * call, or could not be recorded for lack of memory. If so, forgets all ranges.
 */
bool mf_code_take_left(struct mf_code *code);

#endif
