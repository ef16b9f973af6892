// SPDX-License-Identifier: GPL-2.0
// Chooses a thread that can be borrowed to call dlopen().
//
// dlopen() calls malloc() and takes the dynamic linker's lock. In a thread that is in the middle of either, it would wait
// for itself or find half-changed data. Two kinds of threads are certainly in neither:
//
// - A thread that waits in a system call that neither malloc nor the dynamic linker makes.
// - A thread that runs code of the program: malloc calls no such code.
//
// In both, a signal handler may have interrupted something else; its frame is on the stack. And the dynamic linker calls
// code of the program, but owns its lock meanwhile.

#include "moment.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/cleanup.h"

#ifdef __x86_64__

enum {
	STACK_MAX = 64 << 20, /* bytes of a stack that are looked at; a thread with a larger one is not borrowed */
	/* Offsets in the frame of a signal handler; see struct rt_sigframe and struct sigcontext of the kernel. */
	FRAME_RIP = 8 + 40 + 16 * 8,
	CODE_64 = 0x33, /* the segment of 64-bit code */
};

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct rseq_place {
	uint64_t address;
	uint32_t size, signature, flags, pad;
};

/* Is the thread in a sequence that must start over if it is interrupted (rseq)? */
static bool is_in_sequence(pid_t pid, pid_t tid)
{
	struct rseq_place place = { 0 };
	uint64_t sequence = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(place), &place) < 0 || !place.address)
		return false;
	return !mf_tracee_read_word(pid, place.address + 8, &sequence) || sequence;
}

/* Does the thread wait in a system call that malloc and the dynamic linker do not make, or not in this way? */
static bool waits(const struct user_regs_struct *regs)
{
	static const unsigned short calls[] = {
		SYS_read, SYS_readv, SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6,
		SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_accept, SYS_accept4, SYS_connect, SYS_recvfrom,
		SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_wait4, SYS_waitid, SYS_pause, SYS_rt_sigsuspend,
		SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_flock, SYS_io_getevents,
		SYS_io_uring_enter,
	};
	static const int interrupted[] = { EINTR, 512, 513, 514, 516 }; /* and the kernel's ERESTART... */
	int64_t nr = (int64_t)regs->orig_rax;
	bool is_interrupted = false;

	for (size_t i = 0; i < sizeof(interrupted) / sizeof(interrupted[0]); i++)
		is_interrupted |= (int64_t)regs->rax == -interrupted[i];
	if (!is_interrupted)
		return false;
	/* The C library's locks wait with another operation than its condition variables, semaphores and pthread_join(). */
	if (nr == SYS_futex)
		return (regs->rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (nr == calls[i])
			return true;
	return false;
}

/*
 * Does the thread own a lock of the dynamic linker? Then it is in dlopen(), in a constructor that dlopen() has called, or
 * in a function that dl_iterate_phdr() has called. The locks are the only recursive mutexes among the linker's variables.
 */
static bool owns_linker(const struct mf_target *target, pid_t tid)
{
	struct mutex {
		int32_t lock, count, owner, users, kind;
	} mutex;
	mf_auto_free uint8_t *bytes = malloc(target->linker_bytes);

	if (!bytes || !mf_tracee_read(target->pid, target->linker_state, bytes, target->linker_bytes))
		return true;
	for (uint64_t at = 0; at + sizeof(mutex) <= target->linker_bytes; at += 8) {
		memcpy(&mutex, bytes + at, sizeof(mutex));
		if (mutex.kind == PTHREAD_MUTEX_RECURSIVE && mutex.lock && mutex.count && mutex.owner == tid)
			return true;
	}
	return false;
}

/* Returns the end of the stack that @regs are on: that of a thread is below its thread pointer. */
static uint64_t top_of(const struct user_regs_struct *regs)
{
	return regs->fs_base > regs->rsp ? regs->fs_base : UINT64_MAX;
}

static bool is_late(const struct mf_tracee *tracee)
{
	return tracee->until && mf_tracee_now_ms() > tracee->until;
}

/*
 * Calls @is_bad for each word on the stack, until it returns true. Returns whether it did, or the time for it is over; of a
 * stack that is too large to be looked at, @if_too_large.
 */
static bool any_word(const struct mf_tracee *tracee, const struct user_regs_struct *regs,
		     bool (*is_bad)(const void *data, uint64_t at, uint64_t word), const void *data, bool if_too_large)
{
	uint64_t words[4096 / 8], at = regs->rsp, step = 4096 - (at & 4095), top = top_of(regs);

	for (; at < top && at - regs->rsp < STACK_MAX && mf_tracee_read(tracee->pid, at, words, step);
	     at += step, step = 4096) {
		if (is_late(tracee))
			return true;
		for (size_t i = 0; i < step / 8 && at + i * 8 < top; i++)
			if (is_bad(data, at + i * 8, words[i]))
				return true;
	}
	return at - regs->rsp >= STACK_MAX && if_too_large;
}

/* Does the frame of a signal handler begin at @at? Then *@rip is set to the place that the signal has interrupted. */
static bool is_frame(const struct mf_target *target, uint64_t at, uint64_t word, uint64_t *rip)
{
	return target->restorer && word == target->restorer && mf_tracee_read_word(target->pid, at + FRAME_RIP, rip);
}

/* Does the frame of a signal handler begin at @at that has interrupted malloc or the dynamic linker? */
static bool is_handler(const void *data, uint64_t at, uint64_t word)
{
	const struct mf_target *target = data;
	const struct mf_code_range *range;
	uint64_t rip;

	if (!is_frame(target, at, word, &rip))
		return false;
	range = mf_target_range(target, rip);
	return range && range->owner != MF_CODE_VDSO;
}

static bool is_good(const struct mf_tracee *tracee, const struct mf_target *target, pid_t tid)
{
	const struct mf_code_range *range;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) || regs.cs != CODE_64 || regs.rsp & 7)
		return false;
	range = mf_target_range(target, regs.rip);
	if ((int64_t)regs.orig_rax >= 0) {
		if (!waits(&regs) || (range && range->owner == MF_CODE_LINKER))
			return false;
	} else if (range || is_in_sequence(target->pid, tid)) {
		return false;
	}
	return !owns_linker(target, tid) && !any_word(tracee, &regs, is_handler, target, true);
}

pid_t mf_moment_choose(const struct mf_tracee *tracee, const struct mf_target *target, size_t from)
{
	for (size_t i = 0; i < tracee->n; i++) {
		const struct mf_tracee_thread *thread = &tracee->threads[(from + i) % tracee->n];

		if (thread->stopped && !thread->gone && !thread->job_stopped && is_good(tracee, target, thread->tid))
			return thread->tid;
	}
	return 0;
}

static bool is_between(const void *data, uint64_t at, uint64_t word)
{
	const uint64_t *bounds = data;

	return word - bounds[0] < bounds[1] - bounds[0];
}

bool mf_moment_is_clear_of(const struct mf_tracee *tracee, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < tracee->n; i++) {
		const struct mf_tracee_thread *thread = &tracee->threads[i];
		struct user_regs_struct regs;

		if (thread->gone)
			continue;
		if (ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) || regs.rip - start < end - start || regs.rsp & 7 ||
		    any_word(tracee, &regs, is_between, (const uint64_t[]){ start, end }, true))
			return false;
	}
	return true;
}

static bool is_in_linker(const struct mf_target *target, uint64_t rip)
{
	const struct mf_code_range *range = mf_target_range(target, rip);

	return range && range->owner == MF_CODE_LINKER;
}

bool mf_moment_is_linker_idle(const struct mf_tracee *tracee, const struct mf_target *target)
{
	for (size_t i = 0; i < tracee->n; i++) {
		const struct mf_tracee_thread *thread = &tracee->threads[i];
		struct user_regs_struct regs;

		if (!thread->gone && !ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) && is_in_linker(target, regs.rip))
			return false;
	}
	return true;
}

/* Instructions of an entry of the procedure linkage table that has not been used, and of the table's first entry. */
enum { PUSH_NUMBER = 0x68, JUMP = 0xe9, BOUND = 0xf2, BEFORE = 6, BINDING = 24 };

/* Do @bytes at @at begin with @jump, or with the same with a prefix? */
static bool is_jump(const uint8_t *at, const uint8_t *jump, size_t size)
{
	return !memcmp(at + (*at == BOUND), jump, size);
}

/* Is @rip in an entry of the procedure linkage table, on the way to the dynamic linker, which will set a word? */
static bool is_in_plt(pid_t pid, uint64_t rip)
{
	static const uint8_t mark[] = { 0xf3, 0x0f, 0x1e, 0xfa }, jump[] = { JUMP };
	static const uint8_t push_object[] = { 0xff, 0x35 }, jump_linker[] = { 0xff, 0x25 };
	uint8_t bytes[BEFORE + BINDING] = { 0 };
	const uint8_t *at = bytes + BEFORE;

	if (!mf_tracee_read(pid, rip - BEFORE, bytes, sizeof(bytes)) &&
	    !mf_tracee_read(pid, rip, bytes + BEFORE, BINDING))
		return false;
	if ((at[-5] == PUSH_NUMBER && is_jump(at, jump, sizeof(jump))) ||
	    (!memcmp(at - 6, push_object, sizeof(push_object)) && is_jump(at, jump_linker, sizeof(jump_linker))))
		return true;
	if (!memcmp(at, mark, sizeof(mark)))
		at += sizeof(mark);
	return (*at == PUSH_NUMBER && is_jump(at + 5, jump, sizeof(jump))) ||
	       (!memcmp(at, push_object, sizeof(push_object)) && is_jump(at + 6, jump_linker, sizeof(jump_linker)));
}

/* Does the frame of a signal handler begin at @at that has interrupted the binding of a function? */
static bool is_handler_in_binding(const void *data, uint64_t at, uint64_t word)
{
	const struct mf_target *target = data;
	uint64_t rip;

	return is_frame(target, at, word, &rip) && (is_in_linker(target, rip) || is_in_plt(target->pid, rip));
}

bool mf_moment_is_binding_idle(const struct mf_tracee *tracee, const struct mf_target *target)
{
	for (size_t i = 0; i < tracee->n; i++) {
		const struct mf_tracee_thread *thread = &tracee->threads[i];
		struct user_regs_struct regs;

		if (thread->gone || ptrace(PTRACE_GETREGS, thread->tid, 0, &regs))
			continue;
		if (is_in_linker(target, regs.rip) || is_in_plt(target->pid, regs.rip) ||
		    (regs.orig_rax == SYS_futex && regs.rdi - target->linker_state < target->linker_bytes) ||
		    any_word(tracee, &regs, is_handler_in_binding, target, false))
			return false;
	}
	return true;
}

#endif
