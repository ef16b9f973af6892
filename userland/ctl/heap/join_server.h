/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where processes join: a socket, who may use it, and what is said there. The protocol is
 * protocol/join.h's.
 */
#ifndef MASSIF_CTL_DOOR_H
#define MASSIF_CTL_DOOR_H

#include <sys/types.h>

#include "protocol/join.h"

struct mf_join_server {
	int listener; /* -1: closed; does not block */
	char secret[MF_JOIN_SECRET_DIGITS + 1];
	char address[MF_JOIN_NAME_MAX + 1 + MF_JOIN_SECRET_DIGITS +
		     1]; /* the name and the secret */
};

/* What a guest sent. */
struct mf_request {
	pid_t pid; /* the sender's; the kernel says so */
	struct mf_join_request request;
	const char *path, *args;
	char text[MF_JOIN_PATH_MAX + 1 + MF_JOIN_ARGS_MAX + 1];
};

/*
 * Opens the door, at @address, a name and a secret, where that is free; NULL: at a new one. Returns 0 or
 * -errno; to be closed also then.
 */
int mf_join_server_open(struct mf_join_server *door, const char *address);
void mf_join_server_close(struct mf_join_server *door);

/*
 * What @guest said, if it knows the secret. Returns 1, 0 if there is nothing yet, or -errno. Does
 * not block.
 */
int mf_join_server_receive(const struct mf_join_server *door, int guest, struct mf_request *wish);

/* With @text behind it. @fds may be none; -1 among them is left out. Returns 0 or -errno. */
int mf_join_server_answer_text(int guest, int code, const int fds[MF_JOIN_FDS], const char *text);
int mf_join_server_answer(int guest, int code, const int fds[MF_JOIN_FDS]);

#endif
