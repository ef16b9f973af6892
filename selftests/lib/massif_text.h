/* SPDX-License-Identifier: GPL-2.0 */
/* Reads massif.out files as text: makes them comparable and finds their peak. */
#ifndef MASSIF_SELFTESTS_MASSIF_TEXT_H
#define MASSIF_SELFTESTS_MASSIF_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns a copy of @text without the desc and cmd lines and with all addresses in trees replaced by 0xADDRESS, so that
 * the results of two runs of a program can be compared for equality. The caller must free the copy.
 */
char *massif_text_normalise(const char *text);

/* Returns mem_heap_B of the peak snapshot; 0 if there is none. */
uint64_t massif_text_peak(const char *text);

/*
 * Sums of the bytes of leaves in the peak's tree: the sum over all leaves, and the sum over those below a line that
 * contains one of @words, a NULL-terminated list.
 */
struct massif_text_reach {
	uint64_t leaves, reached;
};

struct massif_text_reach massif_text_reach(const char *text, const char *const *words);

/* Checks, for a file written with --threshold=0, that each tree's leaves add up to its snapshot. */
bool massif_text_trees_agree(const char *text);

/*
 * Checks that the last snapshot's bytes equal the sum of its tree, and also the live blocks in @xtree, a file written
 * with --xtree-memory. The program must have run with --detailed-freq=1, and its last event must allocate 1 GiB.
 */
bool massif_text_sums_agree(const char *text, const char *xtree);

#endif
