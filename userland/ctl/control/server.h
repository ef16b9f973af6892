/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket of an aggregator: other massif-ctls of the same user, and root's, ask it for its
 * profiles while they grow.
 *
 * It is a socket of packets with an abstract name that nobody can guess,
 * "massif-ctl/<pid>/<random>", found by looking through /proc/net/unix. Names there can be had by
 * anybody, so each side looks at the other's credentials: the aggregator answers its own user and
 * root, and who asks believes only a socket of his own user (root: any). A connection is one struct
 * mf_control_request and one answer: a struct mf_control_answer with text behind it, and for files a
 * descriptor of memory with the contents. The aggregator never opens a file that somebody names.
 */
#ifndef MASSIF_CTL_CONTROL_H
#define MASSIF_CTL_CONTROL_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

#define MF_CONTROL_PREFIX "massif-ctl/"
#define MF_CONTROL_MAGIC  0x4c54434du
#define MF_CONTROL_TEXT	  32768 /* of an answer at most */

enum mf_control_verb {
	MF_CONTROL_LIST,
	MF_CONTROL_SNAPSHOT,
	MF_CONTROL_DETAILED_SNAPSHOT,
	MF_CONTROL_ALL_SNAPSHOTS,
	MF_CONTROL_XTMEMORY,	/* in Callgrind's format */
	MF_CONTROL_XTMEMORY_MS, /* in Massif's */
	MF_CONTROL_VERBS,
};

struct mf_control_request {
	uint32_t magic;
	uint32_t verb; /* enum mf_control_verb */
	int32_t pid;   /* of the profiled process; 0: the first one. Of no meaning with LIST */
	uint32_t reserved; /* 0 */
};

struct mf_control_answer {
	uint32_t magic;
	int32_t code;  /* 0 or -errno */
	uint32_t bytes; /* of the text behind: a list, or what was wrong */
	uint32_t reserved;
};

/* What an aggregator can be asked. Both print to @out. */
struct mf_control_ops {
	/* A line for each profile: mf_control_print_profile(). */
	void (*list)(void *data, FILE *out);
	/* A file of the profile of process @pid, or of the first. Returns 0 or -errno. */
	int (*snapshot)(void *data, enum mf_control_verb verb, pid_t pid, FILE *out,
			struct mf_error *err);
};

void mf_control_print_profile(FILE *out, pid_t pid, const char *mode, uint64_t bytes, int64_t ms,
			      const char *cmd);

struct mf_control;

/* @ops and @data must outlive it. Returns 0 or -errno. */
int mf_control_open(const struct mf_control_ops *ops, void *data, struct mf_control **control,
		    struct mf_error *err);
void mf_control_close(struct mf_control *control); /* NULL is allowed */

/* The descriptor to poll for POLLIN; -1 for NULL. */
int mf_control_fd(const struct mf_control *control);

/* Answers what there is to answer. Never waits for those who ask. */
void mf_control_serve(struct mf_control *control);

#endif
