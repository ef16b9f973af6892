/* SPDX-License-Identifier: GPL-2.0 */
/* Writes the model's mappings to a file, so that tests can compare them with /proc/PID/maps. */
#ifndef MASSIF_PAGES_DUMP_H
#define MASSIF_PAGES_DUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pages/pages.h"
#include "pages/space.h"

/* Maximum size of the word in a request file FILE.now (pages.h), including the terminating NUL. */
#define MF_DUMP_MOMENT_MAX 32

/*
 * Appends the mappings of @process to the file @path, in the format described in pages.h under MASSIF_DUMP_INTERVALS.
 * @moment is the word that the request file contains (see mf_dump_is_wanted()), or "" if the dump is made because the
 * profile has ended. Returns 0 or -errno.
 */
int mf_dump_intervals(const char *path, const struct mf_pages_process *process, const char *moment,
		      const struct mf_space *space, struct mf_error *err);

/*
 * Returns whether a test is requesting a dump of the mappings (mf_dump_intervals()), and if so, copies the word that
 * identifies the dump to @moment. A test requests a dump by creating the file "@path.now", which contains this one
 * word.
 */
bool mf_dump_is_wanted(const char *path, char moment[MF_DUMP_MOMENT_MAX]);

/* Removes the file that requested the dump, so that the test can continue. */
void mf_dump_done(const char *path);

#endif
