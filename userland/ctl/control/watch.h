/* SPDX-License-Identifier: GPL-2.0 */
/* Watches a running profile over a connection that stays open; server.h describes the protocol. */
#ifndef MASSIF_CTL_WATCH_H
#define MASSIF_CTL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_watch {
	pid_t pid;
	int fd;		/* the connection; -1 if it is closed */
	bool waits;	/* a request has not been answered yet */
};

enum mf_watch_kind {
	MF_WATCH_NOTHING, /* no message has arrived */
	MF_WATCH_SESSION, /* the session memory of the process */
	MF_WATCH_LATER,	  /* the process has no profile of its own yet */
	MF_WATCH_GONE,	  /* the process is no longer profiled, or the request is refused; the text says why */
	MF_WATCH_WRITTEN, /* a file was written; the text is its path */
	MF_WATCH_CLOSED,  /* the other massif-ctl has ended */
	MF_WATCH_GARBAGE, /* the peer does not keep to the protocol; the connection is closed */
};

/* A message. mf_watch_free() releases it. */
struct mf_watch_news {
	enum mf_watch_kind kind;
	pid_t pid;	   /* of SESSION and WRITTEN */
	int memory;	   /* descriptor of the session memory, or -1 */
	bool pages;	   /* the profile is one of pages mode */
	uint64_t start_ns; /* see struct mf_control_watched */
	char *text;	   /* of SESSION, the command; without control characters */
};

/* Connects to the massif-ctl at @socket, which profiles process @pid, and asks it. Returns 0 or -errno. */
int mf_watch_open(struct mf_watch *watch, const char *socket, pid_t pid, struct mf_error *err);
void mf_watch_close(struct mf_watch *watch);

/* Asks again for the session memory, unless the last request has not been answered yet. */
void mf_watch_ask(struct mf_watch *watch);

/* Takes the next message, without waiting for one. */
void mf_watch_next(struct mf_watch *watch, struct mf_watch_news *news);
void mf_watch_free(struct mf_watch_news *news);

#endif
