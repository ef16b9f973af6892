/* SPDX-License-Identifier: GPL-2.0 */
/* Where the stacks of a process's threads are. */
#ifndef MASSIF_RESIDENCY_THREAD_STACKS_H
#define MASSIF_RESIDENCY_THREAD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MF_THREAD_NAME_BYTES 16u

/*
 * The kernel tells the stack pointer of a thread only while it sleeps in a system call. So what has been seen is kept for as
 * long as the thread exists. Zero-initialise it.
 */
struct mf_thread_stacks {
	struct mf_thread_stack {
		pid_t tid;
		uint64_t pointer; /* an address in its stack */
		bool is_alive;
		char name[MF_THREAD_NAME_BYTES]; /* when it was seen first; "": not known */
	} *stacks; /* in ascending order of pointers */
	size_t n, room;
};

/* Looks where the threads of @pid are now. Returns 0 or -errno. */
int mf_thread_stacks_look(struct mf_thread_stacks *stacks, pid_t pid);

/* Returns how many stacks are between @start and @end. */
size_t mf_thread_stacks_between(const struct mf_thread_stacks *stacks, uint64_t start, uint64_t end);

/*
 * Writes the name of the first thread whose stack is between @start and @end to @text, and how many other threads have theirs
 * there: "thread 12 (worker) and 2 others". No other mapping of the process has the same name. Returns @text.
 */
const char *mf_thread_stacks_name(const struct mf_thread_stacks *stacks, uint64_t start, uint64_t end, char *text, size_t room);

void mf_thread_stacks_deinit(struct mf_thread_stacks *stacks);

#endif
