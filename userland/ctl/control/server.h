/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket. Other massif-ctl commands, run by the same user or by root, use it to list the running profiles
 * and to request snapshots and execution trees from them.
 *
 * It is a SOCK_SEQPACKET socket with an abstract, unguessable name, "massif-ctl/<pid>/<random>", which clients find in
 * /proc/net/unix. Anybody can create a socket with such a name, so each side checks the other's credentials: the server
 * answers only its own user and root; a client trusts only sockets of its own user (root trusts any). A connection
 * carries one struct mf_control_request and one answer: a struct mf_control_answer followed by text. If a file was
 * requested, the answer also carries the descriptor of a memfd with its contents. The server never opens a file that a
 * client names.
 *
 * A connection whose request is MF_CONTROL_WATCH stays open. Its answer carries a descriptor of the session memory that
 * can only be read. So the client reads the profile by itself, and neither the program nor this massif-ctl has work to
 * do for it. The client can repeat the request to learn whether the process still has the same profile. In between, it
 * receives the names of the files that are written (MF_CONTROL_WRITTEN).
 */
#ifndef MASSIF_CTL_SERVER_H
#define MASSIF_CTL_SERVER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "ctl/files/outputs.h"

#define MF_CONTROL_PREFIX "massif-ctl/"
#define MF_CONTROL_MAGIC  0x4c54434du
#define MF_CONTROL_TEXT	  32768 /* maximum length of the text in an answer */

enum mf_control_verb {
	MF_CONTROL_LIST,
	MF_CONTROL_SNAPSHOT,
	MF_CONTROL_DETAILED_SNAPSHOT,
	MF_CONTROL_ALL_SNAPSHOTS,
	MF_CONTROL_XTMEMORY,	/* an execution tree in Callgrind's format */
	MF_CONTROL_XTMEMORY_MS, /* an execution tree in Massif's format */
	MF_CONTROL_WATCH,	/* the session memory of a process */
	MF_CONTROL_VERBS,
};

struct mf_control_request {
	uint32_t magic;
	uint32_t verb; /* what the client asks for: enum mf_control_verb */
	int32_t pid;   /* pid of the profiled process, or 0 for the first one; ignored for LIST */
	uint32_t reserved; /* unused; the client must set it to 0 */
};

enum mf_control_kind {
	MF_CONTROL_ANSWER,  /* the answer to the client's request */
	MF_CONTROL_WRITTEN, /* a file was written: the text is the pid, a tab and the file's absolute path */
};

struct mf_control_answer {
	uint32_t magic;
	int32_t code;  /* 0 or -errno */
	/*
	 * length of the text that follows: the list of profiles (for LIST), the line of mf_control_answer_watch() (for
	 * WATCH), or an error message (if @code is not 0)
	 */
	uint32_t bytes;
	uint32_t kind; /* enum mf_control_kind */
};

/* What is sent about a process that is watched. */
struct mf_control_watched {
	pid_t pid;
	const char *mode, *cmd;
	int memory;	   /* descriptor of the session memory; the callee still owns it */
	uint64_t start_ns; /* CLOCK_MONOTONIC time at which the profile started; 0: the session memory says it */
};

/* Callbacks that implement the requests; the first two print to @out. */
struct mf_control_ops {
	/* Prints a line for each profile with mf_control_print_profile(). */
	void (*list)(void *data, FILE *out);
	/* Prints a file from the profile of process @pid, or of the first process if @pid is 0. Returns 0 or -errno. */
	int (*snapshot)(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
			struct mf_error *err);
	/*
	 * Finds process @pid, or the first process if @pid is 0. Returns 0 or -errno; -EAGAIN if it has no memory of its
	 * own yet.
	 */
	int (*watch)(void *data, pid_t pid, struct mf_control_watched *watched, struct mf_error *err);
};

void mf_control_print_profile(FILE *out, pid_t pid, const char *mode, uint64_t bytes, int64_t ms,
			      const char *cmd);

struct mf_control;

/* Opens the socket. @ops and @data must outlive it. Returns 0 or -errno. */
int mf_control_open(const struct mf_control_ops *ops, void *data, struct mf_control **control,
		    struct mf_error *err);
void mf_control_close(struct mf_control *control); /* @control may be NULL */

/* Returns the descriptor to poll for POLLIN; -1 if @control is NULL. */
int mf_control_fd(const struct mf_control *control);

/* Answers all pending requests. Never blocks on a client. */
void mf_control_serve(struct mf_control *control);

/*
 * From now on, tells the clients that watch the profiles of @control which files are written to @outputs. @control may be
 * NULL. Must be called again with NULL before @control is closed.
 */
void mf_control_follow(struct mf_control *control, struct mf_outputs *outputs);

#endif
