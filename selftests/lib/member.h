/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A member of a session that changes its address space continuously, with threads and children. Its records are
 * compared with /proc whenever it rests.
 */
#ifndef MASSIF_SELFTESTS_MEMBER_H
#define MASSIF_SELFTESTS_MEMBER_H

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

/* Memory shared by the member and the test. */
struct member_shared {
	uint32_t phase;		/* enum member_phase, set by the test */
	uint32_t resting;	/* workers that have seen MEMBER_RESTS */
	uint32_t workers;	/* number of workers; 0: not ready */
	bool faults;		/* one worker uses memory of a userfaultfd; set before the start */
	int userfault;		/* the userfaultfd descriptor, in the member */
	uint64_t missing;	/* address of that memory, MEMBER_MISSING pages long */
	uint64_t rounds;	/* rounds completed by all workers */
	uint64_t programs;	/* number of programs executed */
};

#define MEMBER_MISSING	64

struct member {
	struct kmod_session session;
	struct kmod_model model;
	struct member_shared *shared;
	pid_t pid;		/* pid of the member; 0: none */
	pthread_t reader;	/* thread that reads the records while the member is busy */
	bool reading, stop;
	char wrong[512];	/* description of the first error */
};

/*
 * Opens a session with all records, including resident pages, and starts a member in it. With @faults, one of
 * its threads waits for pages of a userfaultfd, which the caller must provide. Returns 0 or -errno.
 */
int member_start(struct member *member, bool faults);

/*
 * Lets the member rest until member_resume(), and compares its records, and then a resync, with /proc: mappings with
 * maps, resident pages with smaps. Returns false, with a description in member->wrong, if they differ. @serve, unless
 * NULL, is called while the threads come to rest, on behalf of threads that wait for something.
 */
bool member_rest(struct member *member, void (*serve)(struct member *member));
void member_resume(struct member *member);

/*
 * Ends a resting member and reads its session to the end. Returns false, with a description in member->wrong,
 * on an error.
 */
bool member_end(struct member *member);

/* Releases the member in any state. */
void member_destroy(struct member *member);

#endif
