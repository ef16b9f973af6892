/* SPDX-License-Identifier: GPL-2.0 */
/* Requests profiles from running instances of massif-ctl; server.h describes the protocol. */
#ifndef MASSIF_CTL_CLIENT_H
#define MASSIF_CTL_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
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

/*
 * Lists the running profiles of this user, or of all users if this user is root. Waits for at most @patience_ms, or
 * MF_ASK_PATIENCE_MS. Returns 0 or -errno.
 */
#define MF_ASK_PATIENCE_MS 10000
int mf_ask_list(struct mf_profiled_list *list, int patience_ms, struct mf_error *err);
void mf_ask_free(struct mf_profiled_list *list);

/* Reports that some sockets did not answer and that the list may be incomplete. */
void mf_ask_say_silent(const struct mf_profiled_list *list);

/*
 * Returns the profile of process @pid, or the only one if @pid is 0. Returns NULL, with a message, if there is no such
 * profile or if there are several; the message then lists them, each pid after @option.
 */
const struct mf_profiled *mf_ask_choose(const struct mf_profiled_list *list, pid_t pid, const char *option,
					struct mf_error *err);

/*
 * The parts of a request, for other clients. mf_ask_connect() connects to @socket without blocking, and checks that it
 * belongs to this user (if this user is root, it may belong to anyone). Returns a descriptor or -errno; -EAGAIN if the
 * queue is full. mf_ask_send() sends a request; returns 0 or -errno. mf_ask_receive() receives an answer; the caller owns
 * *@text and *@fd, which is -1 if no descriptor was sent. Returns the answer's code, -EPROTO if it is malformed, or
 * -ECONNRESET if the connection has ended without one.
 */
int mf_ask_connect(const char *socket);
int mf_ask_send(int connection, enum mf_control_verb verb, pid_t pid);
int mf_ask_receive(int connection, enum mf_control_kind *kind, char **text, int *fd);

/*
 * Like recvmsg(), but never fails with ECONNRESET. If the other process has closed its socket with a request of this
 * one unread, the kernel reports this error before the messages that were sent earlier; they can be received afterwards.
 */
ssize_t mf_ask_recvmsg(int connection, struct msghdr *message, int flags);

/*
 * Requests a file from @profiled. *@fd is positioned at the start of the file; the caller closes it. Returns 0, or
 * -errno with the message from the other instance of massif-ctl in @err.
 */
int mf_ask_file(const struct mf_profiled *profiled, enum mf_control_verb verb, int *fd,
		struct mf_error *err);

#endif
