/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of massif-ctl top share: being alone, and a program that is profiled. */
#ifndef MASSIF_SELFTESTS_LIVE_RUN_H
#define MASSIF_SELFTESTS_LIVE_RUN_H

#include <stdbool.h>
#include <sys/types.h>

/* A program that massif-ctl profiles. */
struct live_run {
	pid_t ctl, program;
	char pid[16]; /* @program as text */
};

/*
 * Enters a new network namespace. Socket names belong to the namespace, so other runs of massif-ctl are not visible.
 * Returns whether that is possible.
 */
bool live_be_alone(void);

/*
 * Starts @argv, whose first word is "massif-ctl", and waits until its program prints "ready PID" to c.out. Messages go to
 * c.err. @before, unless NULL, is called before the exec.
 */
bool live_start(struct live_run *run, void (*before)(void), const char *const *argv);

/* Ends the program, and waits for massif-ctl. */
void live_stop(struct live_run *run);

/* Tells target ctl_live to grow by 100000 bytes and to allocate 5000 blocks for a short time, and waits for it. */
void live_grow(const struct live_run *run);

/* Tells target ctl_live to free what it has grown by, and waits for it. */
void live_shrink(const struct live_run *run);

/* Drops all privileges of root. */
void live_become_nobody(void);
#define LIVE_NOBODY 65534

#endif
