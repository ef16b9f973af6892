/* SPDX-License-Identifier: GPL-2.0 */
/* Counts the programs that processes of a family are about to execute and that have yet to join. */
#ifndef MASSIF_CTL_EXPECTED_H
#define MASSIF_CTL_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join_server.h"
#include "ctl/launch/shim_unsupported.h"
#include "ctl/options/options.h"

/* A count of the expected programs; zero-initialise it. */
struct mf_expected {
	/* programs already reported to the user as unsupported */
	struct mf_unsupporteds obstacles;
	unsigned int n;
	int64_t until; /* when to stop waiting, because some programs never join; on the clock of mf_timekeeper_now() */
};

/*
 * Notes that the program of @join_request is about to be executed and should join. A program that the options exclude
 * is not expected; if the shim cannot be loaded into the program, that is reported instead.
 */
void mf_expected_start(struct mf_expected *expected, const struct mf_options *options,
		       const struct mf_request *join_request);

/* Notes that an expected program has joined, or could not be executed. */
void mf_expected_joined(struct mf_expected *expected);

/* Returns whether a program is still expected to join at time @now. */
bool mf_expected_is_any(const struct mf_expected *expected, int64_t now);

void mf_expected_deinit(struct mf_expected *expected);

#endif
