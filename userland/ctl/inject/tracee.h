/* SPDX-License-Identifier: GPL-2.0 */
/* A process whose threads massif-ctl stops and continues with ptrace(2). */
#ifndef MASSIF_CTL_TRACEE_H
#define MASSIF_CTL_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct mf_tracee_thread {
	pid_t tid;
	bool stopped;	 /* in a stop from which it can be continued or released */
	bool job_stopped; /* the stop is that of SIGSTOP or its like, for the whole process */
	bool gone;
};

struct mf_tracee {
	pid_t pid;
	struct mf_tracee_thread *threads;
	size_t n, room;
	int64_t until;	 /* searches of its memory end then, in mf_tracee_now_ms(); 0: they do not */
	bool executed;	 /* it has executed another program since it was seized */
	pid_t held;	 /* a thread whose stops mf_tracee_serve() leaves alone; 0: none */
	bool restricted; /* its system calls are restricted (seccomp), and the restriction is lifted while it is traced */
};

/* How long to wait until all threads have stopped. One in vfork() stops only when its child has executed a program. */
#define MF_TRACEE_STOP_MS 1000

/* Seizes all threads of process @pid, which keep running. Returns 0 or -errno. Release it in either case. */
int mf_tracee_seize(struct mf_tracee *tracee, pid_t pid, bool restricted, struct mf_error *err);

/* Stops all threads. Signals that arrive are delivered. Returns 0 or -errno. */
int mf_tracee_stop(struct mf_tracee *tracee, struct mf_error *err);

/* Continues all threads except @held; those continue that were running. */
void mf_tracee_resume(struct mf_tracee *tracee);

/* Handles what the running threads other than @held report. */
void mf_tracee_serve(struct mf_tracee *tracee);

/*
 * Lets go of all threads that are stopped, which continue as if nothing had happened, and frees @tracee. The kernel lets
 * go of others when this process ends.
 */
void mf_tracee_release(struct mf_tracee *tracee);

/* Returns whether the process, as a whole, is stopped by SIGSTOP or its like. */
bool mf_tracee_is_job_stopped(const struct mf_tracee *tracee);

/* Read or write @size bytes of the process; false if not all of them are mapped. */
bool mf_tracee_read(pid_t pid, uint64_t address, void *bytes, size_t size);
bool mf_tracee_write(pid_t pid, uint64_t address, const void *bytes, size_t size);

/* Reads a number of 8 bytes. */
bool mf_tracee_read_word(pid_t pid, uint64_t address, uint64_t *word);

/* Waits a little. */
void mf_tracee_pause(unsigned int us);
int64_t mf_tracee_now_ms(void);

#endif
