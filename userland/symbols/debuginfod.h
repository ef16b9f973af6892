/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fetches debug files from the servers of debuginfod(8), with libdebuginfod, which is loaded when it is needed: few
 * users need it, and it needs many other libraries.
 */
#ifndef MASSIF_SYMBOLS_DEBUGINFOD_H
#define MASSIF_SYMBOLS_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mf_debuginfod;

/*
 * Loads the library. @urls has the servers, separated by spaces; NULL: those in the environment variable
 * DEBUGINFOD_URLS. @progress, unless NULL, is called during downloads, with the numbers of bytes; @total is 0 if it is
 * not known. Returns 0; -ENOENT if there is no library; -EINVAL if there is no server; or -ENOMEM; each with a message.
 *
 * Context: changes the environment, so no other thread may run.
 */
int mf_debuginfod_open(const char *urls, void (*progress)(size_t done, size_t total),
		       struct mf_debuginfod **debuginfod, struct mf_error *err);
void mf_debuginfod_close(struct mf_debuginfod *debuginfod); /* @debuginfod may be NULL */

/*
 * Fetches the debug file with the build id of @size bytes at @build_id, from a server or from the library's cache.
 * Returns a descriptor; -ENOENT if no server has the file; or another -errno. Context: any thread.
 */
int mf_debuginfod_fetch(void *debuginfod, const uint8_t *build_id, size_t size);

/* Returns why a download failed although the servers may have the file, as -errno; 0 if none has failed. */
int mf_debuginfod_failure(const struct mf_debuginfod *debuginfod);

#endif
