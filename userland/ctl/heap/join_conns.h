/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has come through the door and has not asked yet, or is not done. One who is answered goes, or
 * belongs to somebody else from then on.
 */
#ifndef MASSIF_CTL_GUESTS_H
#define MASSIF_CTL_GUESTS_H

#include <stdbool.h>

#include "join_server.h"

struct mf_join_conn {
	struct mf_join_conn *next;
	int fd;		  /* the connection */
	bool is_told;	  /* it writes a file, of which the user is told */
	int contents;	  /* of that file, should it fail; owned; -1: none */
	bool is_stranger; /* another user's, and not root */
};

/*
 * Answers @wish of @guest. Returns 0 and the connection is @data's, EINPROGRESS if there will be more,
 * ENOTCONN if it is not to be answered, or -errno, which is the answer.
 */
typedef int mf_join_conns_serve(void *data, struct mf_join_conn *guest, const struct mf_request *wish);

struct mf_join_conns {
	struct mf_join_conn *first; /* the newest */
	struct mf_join_server door;
	int poller; /* of all that is to be watched, by epoll(7); -1: nobody can come */
	mf_join_conns_serve *serve;
	void *data;
};

/* Nobody can come until it is opened. To be closed in any case. */
void mf_join_conns_init(struct mf_join_conns *guests, mf_join_conns_serve *serve, void *data);

/* At @address, as mf_join_server_open(). Returns 0 or -errno. */
int mf_join_conns_open(struct mf_join_conns *guests, const char *address);
void mf_join_conns_close(struct mf_join_conns *guests);

/* What becomes of @fd is seen at the poller from now on, until it is closed. Returns 0 or -errno. */
int mf_join_conns_watch(const struct mf_join_conns *guests, int fd);

/* Something is to be seen at @fd. If that is the door's or a guest's, serves it; else false. */
bool mf_join_conns_look(struct mf_join_conns *guests, int fd);

#endif
