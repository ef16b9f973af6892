/* SPDX-License-Identifier: GPL-2.0 */
/* Counts the programs that processes of a family are about to execute and that have not joined yet. */
#ifndef MASSIF_CTL_EXPECTED_H
#define MASSIF_CTL_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join_server.h"
#include "ctl/launch/shim_unsupported.h"
#include "ctl/options/options.h"

/* Counts expected programs. Initialise with zeroes. */
struct mf_expected {
	struct mf_unsupporteds obstacles; /* reasons already reported to the user */
	unsigned int n;
	int64_t until; /* timeout, because some programs never join; in the time of mf_timekeeper_now() */
};

/*
 * Notes that the program of @join_request is about to be executed and should join. Programs that the options skip are
 * not expected; if the shim cannot be loaded into the program, that is reported instead.
 */
void mf_expected_start(struct mf_expected *expected, const struct mf_options *options,
		       const struct mf_request *join_request);

/* Notes that an expected program has joined, or could not be executed. */
void mf_expected_joined(struct mf_expected *expected);

/* Returns whether a program is still expected to join at time @now. */
bool mf_expected_is_any(const struct mf_expected *expected, int64_t now);

void mf_expected_deinit(struct mf_expected *expected);

#endif
