/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a model's mappings down, to be held against /proc/PID/maps. */
#ifndef MASSIF_PAGES_DUMP_H
#define MASSIF_PAGES_DUMP_H

#include "base/error.h"
#include "pages/pages.h"
#include "pages/space.h"

/* Appends to the file @path as pages.h describes under MASSIF_DUMP_INTERVALS. 0 or -errno. */
int mf_dump_intervals(const char *path, const struct mf_pages_process *process,
		      const struct mf_space *space, struct mf_error *err);

#endif
