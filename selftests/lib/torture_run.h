/* SPDX-License-Identifier: GPL-2.0 */
/* Runs torture in a session of the test's own and holds every record, moment and end to the truth. */
#ifndef SELFTESTS_LIB_TORTURE_RUN_H
#define SELFTESTS_LIB_TORTURE_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/targets/torture_counts.h"

struct torture_run {
	struct kmod_session session;
	struct kmod_model model;
	char maps[PATH_MAX];		/* TORTURE_MAPS */
	struct torture_counts counts;	/* the program's own */
	uint64_t moments;		/* at which the maps were equal */
	uint64_t saved;			/* ends at which they were */
	uint64_t totals;		/* compared with total_vm */
	char wrong[512];		/* the first thing that is */
};

/* 0 or -errno. */
int torture_run_open(struct torture_run *run);
void torture_run_close(struct torture_run *run);

/*
 * Runs argv[0] with a new session's ring, to its end. Returns its status as of waitpid(2), or -errno.
 */
int torture_run(struct torture_run *run, char *const argv[], int timeout_ms);

/*
 * Was all of it exact: no total wrong, no record lost, all maps equal, nobody forgotten? If not,
 * run->wrong has words.
 */
bool torture_run_exact(struct torture_run *run);

/* An operation's row in the counts, or NULL. */
const typeof(((struct torture_counts *)0)->ops[0]) *torture_run_op(const struct torture_run *run,
								   const char *name);

/* The path of a target, of static storage. */
char *torture_run_program(const char *name);

#endif
