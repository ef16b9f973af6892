/* SPDX-License-Identifier: GPL-2.0 */
/* Writes massif.out files for the tests of ms_print. */
#ifndef MASSIF_SELFTESTS_MSPRINT_WRITER_H
#define MASSIF_SELFTESTS_MSPRINT_WRITER_H

#include <stdint.h>
#include <stdio.h>

/* Writes the header, with one desc line. */
void msprint_write_header(FILE *file, const char *desc, const char *command, const char *unit);

/* Writes a snapshot up to its heap_tree line. Unless @tree is "empty", the caller writes the tree after it. */
void msprint_write_snapshot(FILE *file, unsigned int number, uint64_t time, uint64_t heap,
			    uint64_t extra, uint64_t stacks, const char *tree);

/* Returns a reproducible random number; the state must not be 0. */
uint64_t msprint_random(uint64_t *state);
/* Returns a random number below limit, which must not be 0. */
uint64_t msprint_random_below(uint64_t *state, uint64_t limit);

/*
 * Writes a valid random profile: up to 20 snapshots, any unit, trees that add up, sizes from a few bytes to
 * nearly 2^63.
 */
void msprint_write_random(FILE *file, uint64_t *state);

#endif
