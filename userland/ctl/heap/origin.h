/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stores in a session how its profile was started, so that massif-ctl rescue can continue a session whose
 * massif-ctl was killed.
 */
#ifndef MASSIF_CTL_ORIGIN_H
#define MASSIF_CTL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctl/options/options.h"
#include "model/store.h"

struct mf_origin {
	char *text; /* the text that all pointers below point into; owned */
	const char *directory; /* directory where massif-ctl was started; empty if unknown */
	const char *address;   /* socket address for processes that join (see join_server.h); empty if none can */
	const char *cmd;       /* the program's command line, as shown in the massif.out file */
	char **options; /* NULL-terminated array of command-line words; the array is owned, the words are in @text */
	size_t n_options;
};

/*
 * Stores in @store how the profile was started: massif-ctl's directory, options and socket address, and the program's
 * command line. If they do not fit, nothing is stored, and massif-ctl rescue has to rely on the options on its own
 * command line.
 */
void mf_origin_note(struct mf_store *store, const struct mf_options *options, const char *cmd,
		    const char *address);

/*
 * Reads the stored origin, which the program may have changed, into @origin. Returns 0, -ENOENT if none is stored, or
 * -ENOMEM.
 */
int mf_origin_read(const struct mf_store *store, struct mf_origin *origin);
void mf_origin_free(struct mf_origin *origin); /* also accepts an all-zero @origin */

/* Records this process as the aggregator of @store. */
void mf_origin_claim(struct mf_store *store);

/* Returns the pid of the aggregator of @store, or 0 if it has ended. */
pid_t mf_origin_aggregator(const struct mf_store *store);

#endif
