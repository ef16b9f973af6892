/* SPDX-License-Identifier: GPL-2.0 */
/* From a store to the massif.out file of a process. */
#ifndef MASSIF_CTL_OUTPUT_H
#define MASSIF_CTL_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options.h"
#include "model/store.h"

/*
 * Writes the profile in @store as the file of process @pid and says so. With @pages only its owner
 * may read it. Returns 0; or -errno, with words in @err, and there is no new file.
 */
int mf_output_write(const struct mf_options *options, const char *cmd,
		    const struct mf_store *store, pid_t pid, bool pages, struct mf_error *err);

#endif
