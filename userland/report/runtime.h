/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that the C and C++ libraries keep for as long as a process runs: they are no leaks of the program. */
#ifndef MASSIF_REPORT_RUNTIME_H
#define MASSIF_REPORT_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "report/moment.h"

/* Returns whether a block that was allocated by @stack, in heap mode, is kept by the C or C++ library. */
bool mf_runtime_keeps(const struct mf_moment_stack *stack);

/* What is held at the end of a process: by these libraries, and what the program never freed. */
struct mf_runtime {
	struct mf_leaf *kept; /* the stacks of the libraries, with their bytes */
	size_t n_kept;
	uint64_t kept_bytes, kept_blocks;
	uint64_t leaked_bytes, leaked_blocks; /* of all other stacks */
};

/*
 * Divides what the snapshot of @moment, the end, holds. In pages mode, the libraries keep nothing. Blocks are those of the
 * profile's counts, 0 if it has none. Returns 0 or -ENOMEM; call mf_runtime_free() in either case.
 */
int mf_runtime_find(const struct mf_moment *moment, struct mf_runtime *runtime, struct mf_error *err);
void mf_runtime_free(struct mf_runtime *runtime);

#endif
