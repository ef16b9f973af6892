/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections to the join server whose requests have not arrived yet or are still being served. When a request has been
 * answered, its connection is closed, or another part of massif-ctl becomes its owner.
 */
#ifndef MASSIF_CTL_JOIN_CONNS_H
#define MASSIF_CTL_JOIN_CONNS_H

#include <stdbool.h>

#include "join_server.h"

struct mf_join_conn {
	struct mf_join_conn *next;
	int fd;		  /* descriptor of the connection */
	/* true if the user is to be told once the process has written its monitor command's file */
	bool is_announced;
	/*
	 * descriptor of a copy of the monitor command's file, for use if the process cannot write the file itself, or
	 * -1 if there is no copy; owned
	 */
	int contents;
	bool is_stranger; /* the peer runs as neither this user nor root */
};

/*
 * Callback that answers the request @join_request from @guest. Returns 0 if it has taken over the connection,
 * EINPROGRESS if more requests will follow, ENOTCONN if no answer is to be sent, or -errno, which is sent as the
 * answer.
 */
typedef int mf_join_conns_serve(void *data, struct mf_join_conn *guest, const struct mf_request *join_request);

struct mf_join_conns {
	struct mf_join_conn *first; /* the connections, newest first */
	struct mf_join_server join_server;
	int poller; /* epoll descriptor for everything that is watched, or -1 if closed */
	mf_join_conns_serve *serve;
	void *data;
};

/*
 * Initialises @conns; no process can connect before mf_join_conns_open(). Always call mf_join_conns_close()
 * afterwards.
 */
void mf_join_conns_init(struct mf_join_conns *conns, mf_join_conns_serve *serve, void *data);

/* Listens on @address (see mf_join_server_open()). Returns 0 or -errno. */
int mf_join_conns_open(struct mf_join_conns *conns, const char *address);
void mf_join_conns_close(struct mf_join_conns *conns);

/* Adds @fd to the epoll set; it stays there until it is closed. Returns 0 or -errno. */
int mf_join_conns_watch(const struct mf_join_conns *conns, int fd);

/* Handles an event on @fd if it is the listening socket or a connection in @conns; otherwise returns false. */
bool mf_join_conns_look(struct mf_join_conns *conns, int fd);

#endif
