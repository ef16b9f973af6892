/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who has come through the door and has not asked yet, or is not done. One who is answered goes, or
 * belongs to somebody else from then on.
 */
#ifndef MASSIF_CTL_GUESTS_H
#define MASSIF_CTL_GUESTS_H

#include <stdbool.h>

#include "join_server.h"

struct mf_guest {
	struct mf_guest *next;
	int fd;		  /* the connection */
	bool is_told;	  /* it writes a file, of which the user is told */
	int contents;	  /* of that file, should it fail; owned; -1: none */
	bool is_stranger; /* another user's, and not root */
};

/*
 * Answers @wish of @guest. Returns 0 and the connection is @data's, EINPROGRESS if there will be more,
 * ENOTCONN if it is not to be answered, or -errno, which is the answer.
 */
typedef int mf_guests_serve(void *data, struct mf_guest *guest, const struct mf_wish *wish);

struct mf_guests {
	struct mf_guest *first; /* the newest */
	struct mf_door door;
	int poller; /* of all that is to be watched, by epoll(7); -1: nobody can come */
	mf_guests_serve *serve;
	void *data;
};

/* Nobody can come until it is opened. To be closed in any case. */
void mf_guests_init(struct mf_guests *guests, mf_guests_serve *serve, void *data);

/* At @address, as mf_door_open(). Returns 0 or -errno. */
int mf_guests_open(struct mf_guests *guests, const char *address);
void mf_guests_close(struct mf_guests *guests);

/* What becomes of @fd is seen at the poller from now on, until it is closed. Returns 0 or -errno. */
int mf_guests_watch(const struct mf_guests *guests, int fd);

/* Something is to be seen at @fd. If that is the door's or a guest's, serves it; else false. */
bool mf_guests_look(struct mf_guests *guests, int fd);

#endif
