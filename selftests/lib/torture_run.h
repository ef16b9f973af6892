/* SPDX-License-Identifier: GPL-2.0 */
/* Runs torture in a session and compares all records with the maps that it saves. */
#ifndef MASSIF_SELFTESTS_TORTURE_RUN_H
#define MASSIF_SELFTESTS_TORTURE_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/targets/torture_counts.h"

struct torture_run {
	struct kmod_session session;
	struct kmod_model model;
	char maps[PATH_MAX];		/* the directory that $TORTURE_MAPS names */
	struct torture_counts counts;	/* the torture program's own counts */
	/* number of copies of /proc/self/maps, saved while the program ran, that match the mappings in the model */
	uint64_t moments;
	/* number of copies of /proc/self/maps, saved at each exit and exec, that match the mappings in the model */
	uint64_t saved;
	uint64_t totals; /* number of records whose total_vm was compared with the model's number of pages */
	char wrong[512];		/* description of the first error */
};

/* Opens a session. Returns 0 or -errno. */
int torture_run_open(struct torture_run *run);
void torture_run_close(struct torture_run *run);

/*
 * Runs argv[0] in the session of @run, and waits until all its processes have ended. Returns the status of argv[0] in
 * the format of waitpid(2), or -errno.
 */
int torture_run(struct torture_run *run, char *const argv[], int timeout_ms);

/*
 * Returns whether the records were exact, that is, all totals and maps agreed, no record was lost, and no process was
 * missed. If not, run->wrong describes the first error.
 */
bool torture_run_exact(struct torture_run *run);

/*
 * Returns the program's counts for its operation @name: how often it was performed, and how often the kernel refused
 * it. Returns NULL if the program has no such operation.
 */
const typeof(((struct torture_counts *)0)->ops[0]) *torture_run_op(const struct torture_run *run,
								   const char *name);

/* Returns the path of a target program, in static storage. */
char *torture_run_program(const char *name);

#endif
