/* SPDX-License-Identifier: GPL-2.0 */
/* Requests profiles from running instances of massif-ctl; server.h describes the protocol. */
#ifndef MASSIF_CTL_CLIENT_H
#define MASSIF_CTL_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "server.h"

/* A running profile. */
struct mf_profiled {
	/* control socket of the massif-ctl that builds this profile; owned, like the other strings of this struct */
	char *socket;
	pid_t pid;
	char *mode;
	uint64_t bytes;
	int64_t ms;
	char *cmd;
	/* true for the process that its massif-ctl lists first, normally the one that this massif-ctl launched */
	int is_first;
};

struct mf_profiled_list {
	struct mf_profiled *items;
	size_t count;
	size_t n_silent; /* number of sockets with a matching name that did not answer in time */
};

/* Lists the running profiles of this user, or of all users if this user is root. Returns 0 or -errno. */
int mf_ask_list(struct mf_profiled_list *list, struct mf_error *err);
void mf_ask_free(struct mf_profiled_list *list);

/* Reports that some sockets did not answer and that the list may be incomplete. */
void mf_ask_say_silent(const struct mf_profiled_list *list);

/*
 * Requests a file from @profiled. *@fd is positioned at the start of the file; the caller closes it. Returns 0, or
 * -errno with the message from the other instance of massif-ctl in @err.
 */
int mf_ask_file(const struct mf_profiled *profiled, enum mf_control_verb verb, int *fd,
		struct mf_error *err);

#endif
