/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a profile came about, kept in its own session: whoever finds the session without its massif-ctl, which
 * was killed, can go on as that would have.
 */
#ifndef MASSIF_CTL_ORIGIN_H
#define MASSIF_CTL_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ctl/options/options.h"
#include "model/store.h"

struct mf_origin {
	char *text; /* what all of these point into; owned */
	const char *directory; /* where massif-ctl was started; empty: not known */
	const char *address;   /* at which others join, see door.h; empty: nowhere */
	const char *cmd;       /* as the file shows it */
	char **options; /* the words, ended by NULL; owned, but not they */
	size_t n_options;
};

/* Notes it in @store. What finds no room is left out: then nobody can go on as before. */
void mf_origin_note(struct mf_store *store, const struct mf_options *options, const char *cmd,
		    const char *address);

/* Reads it. The program may have changed it. Returns 0, -ENOENT if there is nothing, or -ENOMEM. */
int mf_origin_read(const struct mf_store *store, struct mf_origin *origin);
void mf_origin_free(struct mf_origin *origin); /* also of one that is all zero */

/* This process aggregates @store from now on. */
void mf_origin_claim(struct mf_store *store);

/* The process that aggregates @store; 0: it is gone. */
pid_t mf_origin_aggregator(const struct mf_store *store);

#endif
