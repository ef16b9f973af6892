/* SPDX-License-Identifier: GPL-2.0 */
/* massif.out files as text: made comparable, and asked for their peak. */
#ifndef SELFTESTS_LIB_MASSIF_TEXT_H
#define SELFTESTS_LIB_MASSIF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A copy of @text without the desc and cmd lines and with each address of a tree as 0xADDRESS: what
 * two runs of the same program have in common. To be freed.
 */
char *massif_text_normalise(const char *text);

/* mem_heap_B of the snapshot that is the peak; 0 if there is none. */
uint64_t massif_text_peak(const char *text);

/* Of the bytes of the peak's tree, how many its leaves hold, and how many of these are below a line
 * that contains one of @words (a NULL-terminated list). */
struct massif_text_reach {
	uint64_t leaves, reached;
};

struct massif_text_reach massif_text_reach(const char *text, const char *const *words);

/* With --threshold=0: does each snapshot that has a tree have the sum of the tree's leaves? */
bool massif_text_trees_agree(const char *text);

/*
 * Of a program whose last event was an allocation of a GiB, with --detailed-freq=1: does the last snapshot
 * of its file have the sum of its tree, and of the live blocks in @xtree, a file of --xtree-memory?
 */
bool massif_text_sums_agree(const char *text, const char *xtree);

#endif
