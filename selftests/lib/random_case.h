/* SPDX-License-Identifier: GPL-2.0 */
/* Generates random programs and options for both profilers. */
#ifndef MASSIF_SELFTESTS_RANDOM_CASE_H
#define MASSIF_SELFTESTS_RANDOM_CASE_H

#include <stdint.h>
#include <stdio.h>

#include "selftests/lib/diff_run.h"

struct random_case {
	struct diff_scenario scenario; /* the scenario; its strings are in @text */
	size_t used;
	char text[2048];
};

/* Generates case @number for the master seed @seed; the same seed and number always give the same case. */
void random_case_make(struct random_case *the, uint64_t seed, unsigned int number);

/* Prints the two commands that repeat the case by hand, as comments in the test output. */
void random_case_print(const struct random_case *the, FILE *file);

#endif
