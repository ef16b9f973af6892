/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the programs that profiled processes are about to execute and that have not yet joined the run
 * (protocol/join.h).
 */
#ifndef MASSIF_CTL_EXPECTED_H
#define MASSIF_CTL_EXPECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "join_server.h"
#include "ctl/launch/shim_unsupported.h"
#include "ctl/message/quota.h"
#include "ctl/options/options.h"

/* The number of programs that are expected to join the run. Initialise it to zero. */
struct mf_expected {
	/* programs already reported to the user as unsupported */
	struct mf_unsupporteds obstacles;
	struct mf_message_quota without_memory; /* messages about programs that are not profiled for lack of memory */
	bool shim_missed; /* the user has been told that processes cannot reach the shim's file */
	unsigned int n;
	int64_t until; /* when to stop waiting for programs that never join the run; see mf_timekeeper_now() */
};

/*
 * Counts the program announced by @join_request among those expected to join the run. Does nothing if the options
 * exclude the program. If the shim cannot be loaded into the program, reports that to the user instead of counting the
 * program.
 */
void mf_expected_start(struct mf_expected *expected, const struct mf_options *options,
		       const struct mf_request *join_request);

/*
 * Serves MF_JOIN_LEAVES: reports each program that has another C library's dynamic loader, or tells the user once that
 * processes cannot reach the shim's file, and what to do. massif-ctl does not copy the file itself, because it writes
 * nothing into other root directories. The process waits for an answer, which is up to the caller.
 */
void mf_expected_leaves(struct mf_expected *expected, const struct mf_options *options,
			const struct mf_request *join_request);

/* Decrements the count: a program that was expected has joined the run, or its execution failed. */
void mf_expected_joined(struct mf_expected *expected);

/* Returns whether a program is still expected to join the run at time @now. */
bool mf_expected_is_any(const struct mf_expected *expected, int64_t now);

void mf_expected_deinit(struct mf_expected *expected);

#endif
