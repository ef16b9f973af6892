/* SPDX-License-Identifier: GPL-2.0 */
/* Writes recordings of made-up processes whose pages code has touched first, as massif.ko records that. */
#ifndef MASSIF_SELFTESTS_TOUCHES_RECORDING_H
#define MASSIF_SELFTESTS_TOUCHES_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/residency.h"

/* The stacks, as contexts of the profile of first touches: the innermost call first. */
enum {
	TOUCHES_UNKNOWN, /* 0x1234, of which no name is known */
	TOUCHES_ALPHA,	 /* touches_alpha, touches_gamma */
	TOUCHES_BETA,	 /* qsort of the C library, touches_beta, touches_gamma */
	TOUCHES_LIBRARY, /* qsort alone */
	TOUCHES_MANY,	 /* 30 stacks of one call each, of which no name is known */
	TOUCHES_CONTEXTS = TOUCHES_MANY + 30,
};

void touches_alpha(void);
void touches_beta(void);
void touches_gamma(void);

/* In each process of the recording: the largest resident set that massif.ko counted, in bytes, and how many records it lost. */
#define TOUCHES_PEAK 8192u
#define TOUCHES_LOST 1u

/*
 * Writes a recording with a process for each of the @n residencies; their pids are 7, 8, .... Leaves sections of type @without
 * out (0: none). A process whose residency has no touches is recorded as without the module, and one
 * without samples as without --rss. Returns whether it worked.
 */
bool touches_recording_write(const char *path, const struct mf_residency *residencies, size_t n, uint32_t without);

#endif
