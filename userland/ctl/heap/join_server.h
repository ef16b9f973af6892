/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket through which processes join: creates it, checks who may use it, receives requests and sends answers.
 * protocol/join.h describes the protocol.
 */
#ifndef MASSIF_CTL_JOIN_SERVER_H
#define MASSIF_CTL_JOIN_SERVER_H

#include <sys/types.h>

#include "protocol/join.h"

struct mf_join_server {
	int listener; /* non-blocking socket, or -1 if closed */
	char secret[MF_JOIN_SECRET_DIGITS + 1];
	/* the socket's name and the secret, in the format of the environment variable MASSIF_SESSION */
	char address[MF_JOIN_NAME_MAX + 1 + MF_JOIN_SECRET_DIGITS +
		     1];
};

/* A request that was received. */
struct mf_request {
	/* the sender's pid and real ids when it sent the request, as reported by the kernel */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	struct mf_join_request request;
	const char *path, *args;
	char text[MF_JOIN_PATH_MAX + 1 + MF_JOIN_ARGS_MAX + 1];
};

/*
 * Opens the socket at @address (a name and a secret). If @address is NULL or already in use, opens it at a new address.
 * Returns 0 or -errno; call mf_join_server_close() in either case.
 */
int mf_join_server_open(struct mf_join_server *join_server, const char *address);
void mf_join_server_close(struct mf_join_server *join_server);

/*
 * Receives a request from connection @guest and checks its secret. Does not block. Returns 1 if a request was received,
 * 0 if there is none yet, or -errno.
 */
int mf_join_server_receive(const struct mf_join_server *join_server, int guest, struct mf_request *join_request);

/*
 * Sends an answer followed by @text. @fds may be NULL; descriptors in it that are negative are omitted. Returns 0 or
 * -errno.
 */
int mf_join_server_answer_text(int guest, int code, const int fds[MF_JOIN_FDS], const char *text);
int mf_join_server_answer(int guest, int code, const int fds[MF_JOIN_FDS]);

#endif
