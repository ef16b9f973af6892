/* SPDX-License-Identifier: GPL-2.0 */
/* Which of the programs that a profiled program executes are left out. */
#ifndef MASSIF_CTL_CHILDREN_H
#define MASSIF_CTL_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Whether --trace-children-skip names a program that is executed as @path, or
 * --trace-children-skip-by-arg one of the @n_bytes of @args, each with its NUL (the last may lack it).
 */
bool mf_children_skips(const struct mf_options *options, const char *path, const char *args,
		       size_t n_bytes);

#endif
