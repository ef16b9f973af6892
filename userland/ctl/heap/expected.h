/* SPDX-License-Identifier: GPL-2.0 */
/* The programs that processes of a family are about to execute, and that have not joined yet. */
#ifndef MASSIF_CTL_EXPECTED_H
#define MASSIF_CTL_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join_server.h"
#include "ctl/launch/shim_unsupported.h"
#include "ctl/options/options.h"

/* All zero at first. */
struct mf_expected {
	struct mf_unsupporteds obstacles; /* that the user was told of */
	unsigned int n;
	int64_t until; /* as mf_timekeeper_now(): some never join */
};

/*
 * The program of @wish is about to be executed. It is expected to join, unless the options leave it out or the
 * shim cannot get into it, which is said.
 */
void mf_expected_start(struct mf_expected *expected, const struct mf_options *options,
		       const struct mf_request *wish);

/* One has joined, or could not be executed. */
void mf_expected_joined(struct mf_expected *expected);

/* Whether it makes sense to wait for one at @now. */
bool mf_expected_is_any(const struct mf_expected *expected, int64_t now);

void mf_expected_deinit(struct mf_expected *expected);

#endif
