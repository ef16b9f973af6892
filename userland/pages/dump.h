/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a model's mappings down, to be held against /proc/PID/maps. */
#ifndef MASSIF_PAGES_DUMP_H
#define MASSIF_PAGES_DUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pages/pages.h"
#include "pages/space.h"

/* The longest name of a moment, with its NUL. */
#define MF_DUMP_MOMENT_MAX 32

/*
 * Appends to the file @path as pages.h describes under MASSIF_DUMP_INTERVALS; @moment is empty at a
 * profile's end. 0 or -errno.
 */
int mf_dump_intervals(const char *path, const struct mf_pages_process *process, const char *moment,
		      const struct mf_space *space, struct mf_error *err);

/* Is a dump wanted now? Then the name of the moment is put to @moment. */
bool mf_dump_is_wanted(const char *path, char moment[MF_DUMP_MOMENT_MAX]);

/* It is done, and whoever wanted it may go on. */
void mf_dump_done(const char *path);

#endif
