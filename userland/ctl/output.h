/* SPDX-License-Identifier: GPL-2.0 */
/* From a store to the massif.out file of a process. */
#ifndef MASSIF_CTL_OUTPUT_H
#define MASSIF_CTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/options.h"
#include "model/store.h"

/*
 * Finds early what can be wrong with the output file, though only opening it will tell for sure.
 * *@own: it is one of our descriptors, which are to be kept for it. Returns 0 or -errno.
 */
int mf_output_check(const struct mf_options *options, bool *own, struct mf_error *err);

/*
 * Writes the profile in @store as the file of process @pid and says so. With @pages only its owner
 * may read it. @remark (NULL: none) is what a reader of it should know, for the end of the line
 * desc. Somebody may still be writing to the store. Returns 0; or -errno, with words in @err, and there
 * is no new file.
 */
int mf_output_write(const struct mf_options *options, const char *cmd,
		    const struct mf_store *store, pid_t pid, bool pages, const char *remark,
		    struct mf_error *err);

/* What of a profile to print while it grows. */
enum mf_output_part {
	MF_OUTPUT_KEPT,	    /* the snapshots as they would be written now */
	MF_OUTPUT_PRESENT,  /* one of the present state */
	MF_OUTPUT_DETAILED, /* the same with a tree */
};

/*
 * Prints a file of the profile in @store, to which somebody may be writing. @now is the outside
 * clock's time in the profile's unit. Returns 0 or -errno.
 */
int mf_output_print(const struct mf_options *options, const char *cmd,
		    const struct mf_store *store, bool pages, enum mf_output_part part,
		    int64_t now, FILE *out, struct mf_error *err);

#endif
