/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of an address space that unwinding depended on: code, and the rules for it. */
#ifndef MASSIF_PAGES_CODE_H
#define MASSIF_PAGES_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_code_range {
	uint64_t start, end;
};

/* Zeroed is empty. */
struct mf_code {
	struct mf_code_range *ranges; /* disjoint or not, in no order: they are few */
	size_t n_ranges;
	bool left; /* some of it has been unmapped or replaced: what was derived is stale */
};

void mf_code_deinit(struct mf_code *code);

/* Notes that start..end was read. When memory runs out, it counts as left at once. */
void mf_code_note(struct mf_code *code, uint64_t start, uint64_t end);

/* start..end goes away, or is something else from now on. */
void mf_code_unmap(struct mf_code *code, uint64_t start, uint64_t end);

/* Whether some of it has left; if so, all of it is forgotten. */
bool mf_code_take_left(struct mf_code *code);

#endif
