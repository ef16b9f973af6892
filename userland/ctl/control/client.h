/* SPDX-License-Identifier: GPL-2.0 */
/* Asks running aggregators for their profiles; see control.h. */
#ifndef MASSIF_CTL_ASK_H
#define MASSIF_CTL_ASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "server.h"

/* A profile that grows now. */
struct mf_profiled {
	char *socket; /* of its aggregator; owned, as all text here */
	pid_t pid;
	char *mode;
	uint64_t bytes;
	int64_t ms;
	char *cmd;
	int is_first; /* of its aggregator: what it was started for */
};

struct mf_profiled_list {
	struct mf_profiled *items;
	size_t count;
	size_t n_silent; /* who listen where aggregators do, and did not answer in time */
};

/* The profiles of this user; for root, of all users. Returns 0 or -errno. */
int mf_ask_list(struct mf_profiled_list *list, struct mf_error *err);
void mf_ask_free(struct mf_profiled_list *list);

/* Tells of those that did not answer: what is not in the list may be theirs. */
void mf_ask_say_silent(const struct mf_profiled_list *list);

/*
 * Asks for a file of @profiled. *@fd has it from its start and is the caller's to close. Returns 0; or
 * -errno, with the words of the aggregator in @err.
 */
int mf_ask_file(const struct mf_profiled *profiled, enum mf_control_verb verb, int *fd,
		struct mf_error *err);

#endif
