/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session member that keeps changing its address space, using threads and children. Whenever it rests, its records
 * are compared with /proc.
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

/* Memory shared by the profiled process and the test. */
struct member_shared {
	uint32_t phase;		/* enum member_phase, set by the test */
	uint32_t resting;	/* number of worker threads that are paused because @phase is MEMBER_RESTS */
	uint32_t workers;	/* number of worker threads; 0 until the profiled process is ready */
	/*
	 * one worker uses memory whose page faults are handled through a userfaultfd; must be set before the profiled
	 * process starts
	 */
	bool faults;
	int userfault;		/* file descriptor number of the userfaultfd in the profiled process */
	/*
	 * start address of the memory range that is registered with the userfaultfd; the range has MEMBER_MISSING pages
	 */
	uint64_t missing;
	uint64_t rounds;	/* rounds completed by all workers */
	uint64_t programs;	/* number of programs executed */
};

#define MEMBER_MISSING	64

struct member {
	struct kmod_session session;
	struct kmod_model model;
	struct member_shared *shared;
	pid_t pid;		/* pid of the profiled process; 0: none */
	pthread_t reader;	/* thread that reads the records while the profiled process is busy */
	bool reading, stop;
	char wrong[512];	/* description of the first error */
};

/*
 * Opens a session that receives all records, including those of resident pages, and starts a profiled process in it.
 * If @faults is set, one of the process's threads accesses memory registered with a userfaultfd, and the caller must
 * provide the pages. Returns 0 or -errno.
 */
int member_start(struct member *member, bool faults);

/*
 * Pauses the profiled process until member_resume() is called. Compares the model's mappings with /proc/PID/maps, and
 * the model's resident pages with /proc/PID/smaps; does this once with the records received so far, and once more after
 * a resync. Returns false, with a description in member->wrong, if they differ. If @serve is not NULL, it is called
 * repeatedly until all threads are paused, so that threads that are waiting for something can continue.
 */
bool member_rest(struct member *member, void (*serve)(struct member *member));
void member_resume(struct member *member);

/*
 * Ends a profiled process that is in the MEMBER_RESTS phase, and reads its session to the end. On error, returns false
 * and stores a description in member->wrong.
 */
bool member_end(struct member *member);

/* Kills the profiled process, whatever state it is in, and releases the contents of @member. */
void member_destroy(struct member *member);

#endif
