/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections to the join server whose request has not arrived yet or is still being served. After the answer,
 * a connection is closed or passed to another owner.
 */
#ifndef MASSIF_CTL_JOIN_CONNS_H
#define MASSIF_CTL_JOIN_CONNS_H

#include <stdbool.h>

#include "join_server.h"

struct mf_join_conn {
	struct mf_join_conn *next;
	int fd;		  /* descriptor of the connection */
	bool is_told;	  /* tell the user when the process has written the file of its monitor command */
	int contents;	  /* descriptor of a copy of that file, in case the process cannot write it; owned; -1: none */
	bool is_stranger; /* the peer is another user, and not root */
};

/*
 * Answers the request @join_request of @guest. Returns 0 if @data owns the connection from then on, EINPROGRESS if more
 * requests will follow, ENOTCONN if there is no answer, or -errno, which is sent as the answer.
 */
typedef int mf_join_conns_serve(void *data, struct mf_join_conn *guest, const struct mf_request *join_request);

struct mf_join_conns {
	struct mf_join_conn *first; /* the connections, newest first */
	struct mf_join_server join_server;
	int poller; /* epoll descriptor for everything that is watched; -1: closed */
	mf_join_conns_serve *serve;
	void *data;
};

/* Initialises @conns; no process can connect before mf_join_conns_open(). Call mf_join_conns_close() in any case. */
void mf_join_conns_init(struct mf_join_conns *conns, mf_join_conns_serve *serve, void *data);

/* Listens at @address, see mf_join_server_open(). Returns 0 or -errno. */
int mf_join_conns_open(struct mf_join_conns *conns, const char *address);
void mf_join_conns_close(struct mf_join_conns *conns);

/* Adds @fd to the epoll set until it is closed. Returns 0 or -errno. */
int mf_join_conns_watch(const struct mf_join_conns *conns, int fd);

/* Handles an event of @fd if it is the listening socket or a connection of @conns. Otherwise returns false. */
bool mf_join_conns_look(struct mf_join_conns *conns, int fd);

#endif
