/* SPDX-License-Identifier: GPL-2.0 */
/* Random programs and options for both profilers. */
#ifndef SELFTESTS_LIB_RANDOM_CASE_H
#define SELFTESTS_LIB_RANDOM_CASE_H

#include <stdint.h>
#include <stdio.h>

#include "selftests/lib/diff_run.h"

struct random_case {
	struct diff_scenario scenario; /* its words are in text */
	size_t used;
	char text[2048];
};

/* The @number-th case of the master seed @seed: always the same one. */
void random_case_make(struct random_case *the, uint64_t seed, unsigned int number);

/* Prints the two commands that repeat it by hand, as comments of a test's output. */
void random_case_print(const struct random_case *the, FILE *file);

#endif
