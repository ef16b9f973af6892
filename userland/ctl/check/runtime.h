/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that the C and C++ libraries keep for as long as a process runs: they are no leaks of the program. */
#ifndef MASSIF_CTL_RUNTIME_H
#define MASSIF_CTL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "report/moment.h"

/* Returns whether a block that was allocated by @stack, in heap mode, is kept by the C or C++ library. */
bool mf_runtime_keeps(const struct mf_moment_stack *stack);

/* Adds up in *@bytes what these libraries keep in the snapshot of @moment, in heap mode. Returns 0 or -ENOMEM. */
int mf_runtime_sum(const struct mf_moment *moment, uint64_t *bytes, struct mf_error *err);

#endif
