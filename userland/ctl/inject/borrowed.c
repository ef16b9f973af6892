// SPDX-License-Identifier: GPL-2.0
// Borrows a thread of another process to make system calls and to call functions.
//
// A function is called by setting the registers. It returns to a system call instruction: tracing shows the thread
// arriving there, and the system call is skipped. A breakpoint would do as well, but the kernel resets the program's
// handler of SIGTRAP if that signal is blocked or ignored.

#include "borrowed.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "ctl/message/message.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

#ifdef __x86_64__

enum {
	STATE_ROOM = 32768, /* for the processor's extended state */
	PAUSE_US = 20,	    /* between two looks at the thread */
	PATIENCE_MS = 10000, /* after that long, the user is told why nothing happens */
	POSTPONED_MAX = 64,
	FLAGS = 0x202, /* of the processor, at the start of a call: none but interrupts */
};

/* In what kind of stop the thread is. */
enum stop {
	STOP_TRAP,  /* after PTRACE_INTERRUPT */
	STOP_ENTRY, /* it has begun a system call */
	STOP_EXIT,  /* it has finished one */
};

struct mf_borrowed {
	struct mf_tracee *tracee;
	pid_t tid;
	uint64_t syscall, stack;
	enum stop stop;
	bool ended, others_run, others_ran;
	struct user_regs_struct saved;
	struct iovec state;
	uint64_t mask;
	int postponed[POSTPONED_MAX]; /* signals that the thread got meanwhile */
	int n_postponed;
	uint8_t state_bytes[STATE_ROOM];
};

/* Signals that faults raise. The kernel would reset the program's handlers if a fault raised a blocked one. */
static uint64_t faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		mask |= 1ull << (signals[i] - 1);
	return mask;
}

int mf_borrowed_take(struct mf_borrowed **borrowed, struct mf_tracee *tracee, pid_t tid, uint64_t syscall,
		     struct mf_error *err)
{
	struct mf_borrowed *made = calloc(1, sizeof(*made));
	uint64_t mask;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->tracee = tracee;
	made->tid = tid;
	made->syscall = syscall;
	made->state = (struct iovec){ made->state_bytes, STATE_ROOM };
	if (ptrace(PTRACE_GETREGS, tid, 0, &made->saved) ||
	    ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &made->state) || made->state.iov_len >= STATE_ROOM ||
	    ptrace(PTRACE_GETSIGMASK, tid, sizeof(made->mask), &made->mask))
		goto failed;
	mask = ~faults() | made->mask;
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask))
		goto failed;
	tracee->held = tid;
	*borrowed = made;
	return 0;
failed:
	free(made);
	return mf_error_set(err, -EIO, "the registers of process %d cannot be saved", (int)tracee->pid);
}

/* Waits for the thread's next stop. Returns false if it has ended. */
static bool await(struct mf_borrowed *borrowed, int *status)
{
	int64_t until = mf_tracee_now_ms() + PATIENCE_MS;
	bool told = false;

	for (;;) {
		pid_t ret = waitpid(borrowed->tid, status, __WALL | WNOHANG);

		if (ret == borrowed->tid && WIFSTOPPED(*status))
			return true;
		if (ret)
			return !(borrowed->ended = true);
		if (borrowed->others_run)
			mf_tracee_serve(borrowed->tracee);
		if (!told && mf_tracee_now_ms() > until) {
			mf_message_say(MF_MESSAGE_NOTE, "waiting for a lock in process %d", (int)borrowed->tracee->pid);
			told = true;
		}
		mf_tracee_pause(PAUSE_US);
	}
}

/*
 * Looks at a stop that is not at a system call. Returns false if the thread has crashed; otherwise it can go on. Signals
 * that others have sent are kept for later.
 */
static bool pass(struct mf_borrowed *borrowed, int status)
{
	siginfo_t info;
	int signal = WSTOPSIG(status);

	if (status >> 16)
		return true;
	if (!ptrace(PTRACE_GETSIGINFO, borrowed->tid, 0, &info) && info.si_code > 0 && info.si_code != SI_KERNEL &&
	    signal < 32 && faults() & 1ull << (signal - 1))
		return false;
	if (info.si_code == SI_KERNEL && signal == SIGSEGV)
		return false;
	if (borrowed->n_postponed < POSTPONED_MAX)
		borrowed->postponed[borrowed->n_postponed++] = signal;
	return true;
}

/* Continues the thread until it begins or finishes a system call. Returns false if it has ended or crashed. */
static bool go_on(struct mf_borrowed *borrowed)
{
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, borrowed->tid, 0, 0) && errno == ESRCH)
			return !(borrowed->ended = true);
		if (!await(borrowed, &status))
			return false;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && !(status >> 16)) {
			borrowed->stop = borrowed->stop == STOP_ENTRY ? STOP_EXIT : STOP_ENTRY;
			return true;
		}
		if (!pass(borrowed, status))
			return false;
	}
}

static bool get(const struct mf_borrowed *borrowed, struct user_regs_struct *regs)
{
	return !ptrace(PTRACE_GETREGS, borrowed->tid, 0, regs);
}

static bool set(const struct mf_borrowed *borrowed, const struct user_regs_struct *regs)
{
	return !ptrace(PTRACE_SETREGS, borrowed->tid, 0, regs);
}

/* Makes the kernel skip the system call that the thread has begun. */
static bool skip(struct mf_borrowed *borrowed)
{
	struct user_regs_struct regs;

	if (borrowed->stop != STOP_ENTRY)
		return true;
	if (!get(borrowed, &regs))
		return false;
	regs.orig_rax = (unsigned long long)-1;
	return set(borrowed, &regs);
}

/* Leaves the thread in a stop as it was in when it was borrowed. */
static bool stop_again(struct mf_borrowed *borrowed)
{
	int status;

	if (borrowed->stop == STOP_TRAP)
		return true;
	if (!skip(borrowed) || ptrace(PTRACE_INTERRUPT, borrowed->tid, 0, 0))
		return false;
	for (;;) {
		if (ptrace(PTRACE_CONT, borrowed->tid, 0, 0) || !await(borrowed, &status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			borrowed->stop = STOP_TRAP;
			return true;
		}
		pass(borrowed, status);
	}
}

bool mf_borrowed_give_back(struct mf_borrowed *borrowed)
{
	bool whole;

	if (!borrowed)
		return true;
	whole = !borrowed->ended && stop_again(borrowed) && set(borrowed, &borrowed->saved) &&
		!ptrace(PTRACE_SETREGSET, borrowed->tid, NT_X86_XSTATE, &borrowed->state) &&
		!ptrace(PTRACE_SETSIGMASK, borrowed->tid, sizeof(borrowed->mask), &borrowed->mask);
	for (int i = 0; i < borrowed->n_postponed; i++)
		syscall(SYS_tgkill, borrowed->tracee->pid, borrowed->tid, borrowed->postponed[i]);
	borrowed->tracee->held = 0;
	for (size_t i = 0; i < borrowed->tracee->n; i++)
		if (borrowed->tracee->threads[i].tid == borrowed->tid && borrowed->ended)
			borrowed->tracee->threads[i].gone = true;
	free(borrowed);
	return whole;
}

void mf_borrowed_set_stack(struct mf_borrowed *borrowed, uint64_t start)
{
	borrowed->stack = (start + MF_BORROWED_STACK) & ~(uint64_t)63;
}

int64_t mf_borrowed_syscall(struct mf_borrowed *borrowed, long number, const uint64_t arguments[6])
{
	struct user_regs_struct regs = borrowed->saved;

	if (borrowed->stop == STOP_ENTRY && (!skip(borrowed) || !go_on(borrowed)))
		return -ESRCH;
	regs.rip = borrowed->syscall;
	regs.rax = (unsigned long long)number;
	regs.orig_rax = (unsigned long long)-1;
	regs.eflags = FLAGS;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.r10 = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	if (!set(borrowed, &regs) || !go_on(borrowed) || !go_on(borrowed) || !get(borrowed, &regs))
		return -ESRCH;
	return (int64_t)regs.rax;
}

/* Does the system call that the thread has begun wait for a lock? The waits of condition variables have other operations. */
static bool waits_for_lock(const struct user_regs_struct *regs)
{
	return regs->orig_rax == SYS_futex && (regs->rsi & FUTEX_CMD_MASK) == FUTEX_WAIT;
}

static bool ends_process(const struct user_regs_struct *regs)
{
	return regs->orig_rax == SYS_exit_group || regs->orig_rax == SYS_exit || regs->orig_rax == SYS_execve;
}

static void let_others_run(struct mf_borrowed *borrowed)
{
	if (!borrowed->others_run)
		mf_tracee_resume(borrowed->tracee);
	borrowed->others_run = borrowed->others_ran = true;
}

enum mf_borrowed_end mf_borrowed_call(struct mf_borrowed *borrowed, uint64_t function, const uint64_t arguments[4],
				      bool may_wait, uint64_t *result)
{
	struct user_regs_struct regs = borrowed->saved;
	uint64_t top = borrowed->stack - 64;
	enum mf_borrowed_end end = MF_BORROWED_DONE;

	if (borrowed->stop == STOP_ENTRY && (!skip(borrowed) || !go_on(borrowed)))
		return MF_BORROWED_ENDED;
	if (!mf_tracee_write(borrowed->tracee->pid, top - 8, &borrowed->syscall, 8))
		return MF_BORROWED_CRASHED;
	regs.rip = function;
	regs.rsp = top - 8;
	regs.rbp = 0;
	regs.rax = 0;
	regs.orig_rax = (unsigned long long)-1;
	regs.eflags = FLAGS;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.rcx = arguments[3];
	if (!set(borrowed, &regs))
		return MF_BORROWED_ENDED;
	for (;;) {
		if (!go_on(borrowed) || !get(borrowed, &regs)) {
			end = borrowed->ended ? MF_BORROWED_ENDED : MF_BORROWED_CRASHED;
			/* A fault is as good as a finished system call: the registers can be set. */
			borrowed->stop = STOP_EXIT;
			break;
		}
		if (borrowed->stop == STOP_EXIT)
			continue;
		if (regs.rip == borrowed->syscall + 2 && regs.rsp == top) {
			*result = regs.orig_rax;
			break;
		}
		if (ends_process(&regs)) {
			end = MF_BORROWED_CRASHED;
			break;
		}
		if (!waits_for_lock(&regs))
			continue;
		if (!may_wait) {
			end = MF_BORROWED_WAITS;
			break;
		}
		let_others_run(borrowed);
	}
	return end;
}

bool mf_borrowed_others_ran(const struct mf_borrowed *borrowed)
{
	return borrowed->others_ran;
}

#endif
