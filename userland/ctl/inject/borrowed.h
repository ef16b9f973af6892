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
 * Prepares to borrow thread @tid of @tracee, which is stopped: saves its registers, the processor's extended state and the
 * mask of signals, and writes the code that restores them if massif-ctl is killed (restore_stub.h) at @place in the
 * process. @ret is the address of a return instruction in the C library. Returns 0 or -errno; on failure nothing has changed.
 */
int mf_borrowed_take(struct mf_borrowed **borrowed, struct mf_tracee *tracee, pid_t tid, uint64_t place, uint64_t ret,
		     struct mf_error *err);

/*
 * Restores all that was saved, and returns the thread to the stop that it was in: an interrupted system call is restarted
 * by the kernel as after any other stop. Returns false if the thread has ended or is abandoned. @borrowed may be NULL.
 */
bool mf_borrowed_give_back(struct mf_borrowed *borrowed);

/* The size of the memory that the thread maps for the time being: the stack on which functions are called, and more. */
#define MF_BORROWED_STACK (512u << 10)
/* Size in bytes of the part at the start of the borrowed stack's memory that the caller may use. */
#define MF_BORROWED_FREE 4096u

/*
 * Maps the stack. From then on, calls are possible. Returns its address, -ESRCH if the thread has ended, or another -errno.
 */
int64_t mf_borrowed_map(struct mf_borrowed *borrowed);

/* Restores the thread's errno, which is at @address, in the end. Returns false if it cannot be read. */
bool mf_borrowed_keep_errno(struct mf_borrowed *borrowed, uint64_t address);

/* If massif-ctl is killed, the thread closes @descriptor; -1: none. */
void mf_borrowed_close_later(struct mf_borrowed *borrowed, int descriptor);

/* Makes system call @number. Returns its result, or -ESRCH if the thread has ended. */
int64_t mf_borrowed_syscall(struct mf_borrowed *borrowed, long number, const uint64_t arguments[6]);

enum mf_borrowed_end {
	MF_BORROWED_DONE,
	MF_BORROWED_WAITS,   /* the function would have waited for a lock, and was abandoned before it did */
	MF_BORROWED_CRASHED, /* a fault, or the function wanted to end the process */
	MF_BORROWED_ENDED,   /* the thread has ended, or runs another program */
	/*
	 * The function did not return, and a signal told massif-ctl to end. The thread is left in the function. When that
	 * returns, the thread restores itself, as after the death of massif-ctl; nothing else can be done with it.
	 */
	MF_BORROWED_ABANDONED,
};

/*
 * Calls @function with up to four arguments. If @may_wait is true and the function waits for a lock, the other threads
 * are continued until the end of this call, and @others_ran is set. Otherwise the call ends with MF_BORROWED_WAITS; that
 * is harmless only for the first lock that the function takes.
 */
enum mf_borrowed_end mf_borrowed_call(struct mf_borrowed *borrowed, uint64_t function, const uint64_t arguments[4],
				      bool may_wait, uint64_t *result);
/* Has a call ended with MF_BORROWED_ABANDONED, or a system call for that reason? @borrowed may be NULL. */
bool mf_borrowed_is_abandoned(const struct mf_borrowed *borrowed);
bool mf_borrowed_others_ran(const struct mf_borrowed *borrowed);

#endif
