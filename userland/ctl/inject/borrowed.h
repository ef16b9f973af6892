/* SPDX-License-Identifier: GPL-2.0 */
/* A thread of another process that massif-ctl borrows: to make system calls and to call functions. */
#ifndef MASSIF_CTL_BORROWED_H
#define MASSIF_CTL_BORROWED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tracee.h"

struct mf_borrowed;

/*
 * Borrows thread @tid of @tracee, which is stopped: saves its registers, the processor's extended state and the mask of
 * signals, and blocks signals. @syscall is the address of a system call instruction in the process. Returns 0 or -errno;
 * on failure nothing has changed.
 */
int mf_borrowed_take(struct mf_borrowed **borrowed, struct mf_tracee *tracee, pid_t tid, uint64_t syscall,
		     struct mf_error *err);

/*
 * Restores all that was saved, and returns the thread to the stop that it was in: an interrupted system call is restarted
 * by the kernel as after any other stop. Returns false if the thread has ended. @borrowed may be NULL.
 */
bool mf_borrowed_give_back(struct mf_borrowed *borrowed);

/* The size of the stack on which functions are called. */
#define MF_BORROWED_STACK (512u << 10)

/* Sets the stack for calls, which the process has mapped at @start. */
void mf_borrowed_set_stack(struct mf_borrowed *borrowed, uint64_t start);

/* Makes system call @number. Returns its result, or -ESRCH if the thread has ended. */
int64_t mf_borrowed_syscall(struct mf_borrowed *borrowed, long number, const uint64_t arguments[6]);

enum mf_borrowed_end {
	MF_BORROWED_DONE,
	MF_BORROWED_WAITS,   /* the function would have waited for a lock, and was abandoned before it did */
	MF_BORROWED_CRASHED, /* a fault, or the function wanted to end the process */
	MF_BORROWED_ENDED,   /* the thread has ended, or runs another program */
};

/*
 * Calls @function with up to four arguments. If @may_wait is true and the function waits for a lock, the other threads
 * are continued until the end of this call, and @others_ran is set. Otherwise the call ends with MF_BORROWED_WAITS; that
 * is harmless only for the first lock that the function takes.
 */
enum mf_borrowed_end mf_borrowed_call(struct mf_borrowed *borrowed, uint64_t function, const uint64_t arguments[4],
				      bool may_wait, uint64_t *result);
bool mf_borrowed_others_ran(const struct mf_borrowed *borrowed);

#endif
