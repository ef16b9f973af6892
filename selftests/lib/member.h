/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A member of a session that changes its address space all the time, in threads, with children: what is
 * accounted of it is held to /proc, whenever it rests.
 */
#ifndef SELFTESTS_LIB_MEMBER_H
#define SELFTESTS_LIB_MEMBER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"

enum member_phase {
	MEMBER_BUSY,
	MEMBER_RESTS,
	MEMBER_ENDS,
};

/* Memory that the member and the test share. */
struct member_shared {
	uint32_t phase;		/* enum member_phase, by the test */
	uint32_t resting;	/* workers that have seen that it is MEMBER_RESTS */
	uint32_t workers;	/* how many there are; 0: not ready */
	bool faults;		/* set before the start: one of them touches memory of a userfaultfd */
	int userfault;		/* that descriptor, in the member */
	uint64_t missing;	/* the address of that memory: MEMBER_MISSING pages */
	uint64_t rounds;	/* of all workers */
	uint64_t programs;	/* executed */
};

#define MEMBER_MISSING	64

struct member {
	struct kmod_session session;
	struct kmod_model model;
	struct member_shared *shared;
	pid_t pid;		/* 0: none */
	pthread_t reader;	/* while the member is busy */
	bool reading, stop;
	char wrong[512];	/* the first thing that is */
};

/*
 * Opens a session that is told of everything, resident pages too, and starts a member in it. With @faults,
 * one of its threads waits for pages of a userfaultfd, which the caller has to bring. 0 or -errno.
 */
int member_start(struct member *member, bool faults);

/*
 * Has the member rest and compares: mappings with /proc/PID/maps, resident pages with /proc/PID/smaps, as
 * told by the records and then by a resync. It rests until member_resume(). False: member->wrong has words.
 * @serve is called while its threads come to rest, for those that wait for something; or NULL.
 */
bool member_rest(struct member *member, void (*serve)(struct member *member));
void member_resume(struct member *member);

/* Ends a member that rests, and reads its session to the end. False: something was wrong; words as before. */
bool member_end(struct member *member);

/* Whatever became of it. */
void member_destroy(struct member *member);

#endif
