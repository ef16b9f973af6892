/* SPDX-License-Identifier: GPL-2.0 */
/* Decides which executed programs --trace-children skips. */
#ifndef MASSIF_CTL_SKIPPED_CHILDREN_H
#define MASSIF_CTL_SKIPPED_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Returns whether --trace-children-skip matches @path, or --trace-children-skip-by-arg matches one of the arguments in
 * @args. @args holds NUL-terminated strings, @n_bytes in total; the last may lack its NUL.
 */
bool mf_children_skips(const struct mf_options *options, const char *path, const char *args,
		       size_t n_bytes);

#endif
