/* SPDX-License-Identifier: GPL-2.0 */
/* Answers, in a thread of its own, the program's questions about which contexts count. */
#ifndef MASSIF_CTL_CONSULTANT_H
#define MASSIF_CTL_CONSULTANT_H

#include "base/error.h"
#include "ctl/options/options.h"
#include "model/store.h"

struct mf_filter_server;

/* Whether @options make it a question at all. */
bool mf_filter_server_is_needed(const struct mf_options *options);

/*
 * Before the program starts: the program will ask. Both must outlive the consultant. Returns 0 or
 * -ENOMEM.
 */
int mf_filter_server_create(struct mf_store *store, const struct mf_options *options,
			 struct mf_filter_server **consultant, struct mf_error *err);

/*
 * Starts the thread, which a fork of this process would not copy. Returns 0 or -errno. Before a fork it can
 * be stopped; until the child starts it again the program waits for its answers.
 */
int mf_filter_server_start(struct mf_filter_server *consultant, struct mf_error *err);
void mf_filter_server_stop(struct mf_filter_server *consultant);

/* Ends the thread, if it was started; NULL is allowed. */
void mf_filter_server_destroy(struct mf_filter_server *consultant);

#endif
