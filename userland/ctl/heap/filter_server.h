/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that tells the program whether to count the blocks of a context, according to --ignore-fn and --alloc-fn. */
#ifndef MASSIF_CTL_FILTER_SERVER_H
#define MASSIF_CTL_FILTER_SERVER_H

#include "base/error.h"
#include "ctl/options/options.h"
#include "model/store.h"

struct mf_filter_server;

/* Returns whether @options contain any filters. */
bool mf_filter_server_is_needed(const struct mf_options *options);

/*
 * Creates the server, and sets a flag in @store that makes the program query the server. Call this before the program
 * starts. @store and @options must outlive the server. Returns 0 or -ENOMEM.
 */
int mf_filter_server_create(struct mf_store *store, const struct mf_options *options,
			 struct mf_filter_server **filter_server, struct mf_error *err);

/*
 * mf_filter_server_start() starts the thread and returns 0 or -errno. mf_filter_server_stop() ends the thread. Call it
 * before massif-ctl forks, because fork() does not copy threads. The program's queries then wait until the child starts
 * the thread again.
 */
int mf_filter_server_start(struct mf_filter_server *filter_server, struct mf_error *err);
void mf_filter_server_stop(struct mf_filter_server *filter_server);

/* Ends the thread if it is running, and frees the server, which may be NULL. */
void mf_filter_server_destroy(struct mf_filter_server *filter_server);

#endif
