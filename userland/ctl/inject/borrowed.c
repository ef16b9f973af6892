// SPDX-License-Identifier: GPL-2.0
// Borrows a thread of another process to make system calls and to call functions.
//
// A function is called by setting the registers. It returns to the stub, whose first system call shows that the thread has
// arrived there. A breakpoint would do as well, but the kernel resets the program's handler of SIGTRAP if that signal is
// blocked or ignored.
//
// massif-ctl may be killed at any moment, and the kernel then lets the thread run with the registers that it has. So at
// each moment these lead to the stub (restore_stub.c), and what the stub needs is there: all registers are set by one call
// of ptrace(2), the mask is changed after the first such call and restored before the last one, and a system call that the
// thread has begun is skipped by the call that sends the thread elsewhere.

#include "borrowed.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "ctl/message/message.h"
#include "restore_stub.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

#ifdef __x86_64__

enum {
	STATE_ROOM = 32768, /* for the processor's extended state */
	PAUSE_US = 20,	    /* between two looks at the thread */
	PATIENCE_MS = 10000, /* after that long, the user is told why nothing happens */
	GIVE_UP_MS = 500,    /* a signal to massif-ctl does not end a call that takes less long */
	POSTPONED_MAX = 64,
	FLAGS = 0x202, /* of the processor, at the start of a call: none but interrupts */
	/* The header of the processor's extended state. XRSTOR needs it to be zero from its second word on. */
	STATE_HEADER_ZERO = 520,
	STATE_HEADER_END = 576,
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
	uint64_t place;	  /* of the stub */
	uint64_t ret;	  /* of a return instruction in the C library */
	uint64_t mapped, top; /* the borrowed stack: its start, or 0, and where calls begin */
	uint64_t errno_at;    /* 0: not known */
	int32_t errno_value;
	enum stop stop;
	bool masked; /* signals are blocked */
	bool ended, others_run, others_ran;
	bool abandoned; /* the thread is left in a function, from which it finds its way back alone */
	int64_t began;	/* when the call began; in mf_tracee_now_ms() */
	struct user_regs_struct saved;
	struct iovec state;
	uint64_t mask;
	int postponed[POSTPONED_MAX]; /* signals that the thread got meanwhile */
	int n_postponed;
	uint8_t old[MF_RESTORE_STUB_MAX]; /* what was at @place */
	uint8_t state_bytes[STATE_ROOM];
};

/* Offsets in the borrowed stack's memory: four bytes to write to if the thread's errno is unknown, and the vector state. */
enum { PLACE_NO_ERRNO = MF_BORROWED_FREE, PLACE_STATE = MF_BORROWED_FREE + 64 };

/* Signals that faults raise. The kernel would reset the program's handlers if a fault raised a blocked one. */
static uint64_t faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	uint64_t mask = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		mask |= 1ull << (signals[i] - 1);
	return mask;
}

static bool poke(const struct mf_borrowed *borrowed, size_t offset, uint64_t word)
{
	return !ptrace(PTRACE_POKEDATA, borrowed->tid, borrowed->place + offset, word);
}

static bool poke_bytes(const struct mf_borrowed *borrowed, const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return poke(borrowed, offset, word);
}

/* Removes the stub: from its end, so that what is left of it can be told from other code at any moment. */
static void remove_stub(const struct mf_borrowed *borrowed)
{
	for (size_t i = MF_RESTORE_STUB_MAX; i > 0; i -= sizeof(uint64_t))
		poke_bytes(borrowed, borrowed->old, i - sizeof(uint64_t));
}

static bool write_stub(struct mf_borrowed *borrowed)
{
	const size_t code = MF_RESTORE_STUB_MAX - sizeof(struct mf_restore_data);
	uint8_t stub[MF_RESTORE_STUB_MAX];

	mf_restore_stub_make(stub, &borrowed->saved, borrowed->mask);
	/* These bytes can be the stub of a massif-ctl that was killed. Keep the padding that it had replaced instead. */
	if (!memcmp(borrowed->old, stub, sizeof(uint64_t)))
		memset(borrowed->old, borrowed->old[code - 1] == stub[code - 1] ? 0 : borrowed->old[code - 1],
		       sizeof(borrowed->old));
	for (size_t i = 0; i < sizeof(stub); i += sizeof(uint64_t)) {
		if (!poke_bytes(borrowed, stub, i)) {
			remove_stub(borrowed);
			return false;
		}
	}
	return true;
}

int mf_borrowed_take(struct mf_borrowed **borrowed, struct mf_tracee *tracee, pid_t tid, uint64_t place,
		     uint64_t ret, struct mf_error *err)
{
	struct mf_borrowed *made = calloc(1, sizeof(*made));

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->tracee = tracee;
	made->tid = tid;
	made->place = place;
	made->ret = ret;
	made->state = (struct iovec){ made->state_bytes, STATE_ROOM };
	if (ptrace(PTRACE_GETREGS, tid, 0, &made->saved) ||
	    ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &made->state) || made->state.iov_len >= STATE_ROOM ||
	    made->state.iov_len < STATE_HEADER_END || ptrace(PTRACE_GETSIGMASK, tid, sizeof(made->mask), &made->mask) ||
	    !mf_tracee_read(tracee->pid, place, made->old, sizeof(made->old)))
		goto failed;
	if (!write_stub(made))
		goto failed;
	tracee->held = tid;
	*borrowed = made;
	return 0;
failed:
	free(made);
	return mf_error_set(err, -EIO, "the registers of process %d cannot be saved", (int)tracee->pid);
}

/* Has massif-ctl been told to end, though the call takes long? All signals of massif-ctl are blocked. */
static bool must_give_up(const struct mf_borrowed *borrowed)
{
	sigset_t pending;

	return mf_tracee_now_ms() - borrowed->began >= GIVE_UP_MS && !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

/* Waits for the thread's next stop. Returns false if it has ended, or is abandoned. */
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
		if (must_give_up(borrowed))
			return !(borrowed->abandoned = true);
		if (borrowed->others_run)
			mf_tracee_serve(borrowed->tracee);
		if (!told && mf_tracee_now_ms() > until) {
			mf_message_say(MF_MESSAGE_NOTE, "waiting for a lock in process %d; Ctrl-C gives up",
				       (int)borrowed->tracee->pid);
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
	siginfo_t info = { 0 };
	int signal = WSTOPSIG(status);

	if (status >> 16)
		return true;
	/* Fails only if somebody has just killed the thread, as the next wait will show. */
	ptrace(PTRACE_GETSIGINFO, borrowed->tid, 0, &info);
	if (info.si_code == SI_KERNEL ? signal == SIGSEGV :
					info.si_code > 0 && signal < 32 && faults() & 1ull << (signal - 1))
		return false;
	if (borrowed->n_postponed < POSTPONED_MAX)
		borrowed->postponed[borrowed->n_postponed++] = signal;
	return true;
}

/* Continues the thread until it begins or finishes a system call. Returns false if it has ended, crashed or is abandoned. */
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

/* Blocks all signals but those that faults raise. */
static bool block(struct mf_borrowed *borrowed)
{
	uint64_t mask = ~faults() | borrowed->mask;

	if (!borrowed->masked)
		borrowed->masked = !ptrace(PTRACE_SETSIGMASK, borrowed->tid, sizeof(mask), &mask);
	return borrowed->masked;
}

/*
 * Sends the thread to where @regs say. A system call that it has begun is skipped. Its signals are blocked only after its
 * registers have been set, because only then is there something that would undo it.
 */
static bool send_to(struct mf_borrowed *borrowed, struct user_regs_struct *regs)
{
	regs->orig_rax = (unsigned long long)-1;
	borrowed->began = mf_tracee_now_ms();
	if (!set(borrowed, regs) || !block(borrowed))
		return false;
	return borrowed->stop != STOP_ENTRY || go_on(borrowed);
}

/* Makes the system call that @regs are for. Returns its result, or -ESRCH if the thread has ended. */
static int64_t make_call(struct mf_borrowed *borrowed, struct user_regs_struct *regs)
{
	if (!send_to(borrowed, regs) || !go_on(borrowed) || !go_on(borrowed) || !get(borrowed, regs))
		return -ESRCH;
	return (int64_t)regs->rax;
}

static void set_arguments(struct user_regs_struct *regs, long number, const uint64_t arguments[6])
{
	regs->rax = (unsigned long long)number;
	regs->rdi = arguments[0];
	regs->rsi = arguments[1];
	regs->rdx = arguments[2];
	regs->r10 = arguments[3];
	regs->r8 = arguments[4];
	regs->r9 = arguments[5];
}

/*
 * Unmaps the stack; before that, restores what the stub would restore only with the help of what is on the stack. From
 * then on, the thread runs with its own stack pointer and flags.
 */
static bool unmap(struct mf_borrowed *borrowed)
{
	struct user_regs_struct regs = borrowed->saved;

	if (!borrowed->mapped)
		return true;
	if (borrowed->errno_at)
		mf_tracee_write(borrowed->tracee->pid, borrowed->errno_at, &borrowed->errno_value,
				sizeof(borrowed->errno_value));
	if (ptrace(PTRACE_SETREGSET, borrowed->tid, NT_X86_XSTATE, &borrowed->state))
		return false;
	regs.rip = borrowed->place + mf_restore_entries.unmap;
	set_arguments(&regs, SYS_munmap, (const uint64_t[]){ borrowed->mapped, MF_BORROWED_STACK, 0, 0, 0, 0 });
	return make_call(borrowed, &regs) != -ESRCH;
}

/* Leaves the thread in a stop as it was in when it was borrowed. */
static bool stop_again(struct mf_borrowed *borrowed)
{
	int status;

	if (borrowed->stop == STOP_TRAP)
		return true;
	if (ptrace(PTRACE_INTERRUPT, borrowed->tid, 0, 0))
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
	/* The registers come last: until then, the stub would restore everything. It will, if the thread is abandoned. */
	whole = !borrowed->ended && !borrowed->abandoned && unmap(borrowed) && stop_again(borrowed) &&
		!ptrace(PTRACE_SETSIGMASK, borrowed->tid, sizeof(borrowed->mask), &borrowed->mask) &&
		set(borrowed, &borrowed->saved);
	if (whole)
		remove_stub(borrowed);
	for (int i = 0; i < borrowed->n_postponed; i++)
		syscall(SYS_tgkill, borrowed->tracee->pid, borrowed->tid, borrowed->postponed[i]);
	borrowed->tracee->held = 0;
	for (size_t i = 0; i < borrowed->tracee->n; i++) {
		struct mf_tracee_thread *thread = &borrowed->tracee->threads[i];

		/* The kernel lets go of an abandoned thread when massif-ctl ends. */
		if (thread->tid == borrowed->tid)
			thread->gone |= borrowed->ended || borrowed->abandoned;
	}
	free(borrowed);
	return whole;
}

int64_t mf_borrowed_map(struct mf_borrowed *borrowed)
{
	struct user_regs_struct regs = borrowed->saved;
	pid_t pid = borrowed->tracee->pid;
	int64_t start;

	regs.rip = borrowed->place + mf_restore_entries.map;
	set_arguments(&regs, SYS_mmap, (const uint64_t[]){ 0, MF_BORROWED_STACK, PROT_READ | PROT_WRITE,
							   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 });
	start = make_call(borrowed, &regs);
	if (start < 0)
		return start;
	borrowed->mapped = (uint64_t)start;
	borrowed->top = borrowed->mapped + MF_BORROWED_STACK - 64;
	memset(borrowed->state_bytes + STATE_HEADER_ZERO, 0, STATE_HEADER_END - STATE_HEADER_ZERO);
	if (!mf_tracee_write(pid, borrowed->mapped + PLACE_STATE, borrowed->state.iov_base, borrowed->state.iov_len) ||
	    !poke(borrowed, MF_RESTORE_STUB_OFFSET(state), borrowed->mapped + PLACE_STATE) ||
	    !poke(borrowed, MF_RESTORE_STUB_OFFSET(errno_at), borrowed->mapped + PLACE_NO_ERRNO) ||
	    !poke(borrowed, MF_RESTORE_STUB_OFFSET(stack), borrowed->mapped))
		return -EFAULT;
	return start;
}

bool mf_borrowed_keep_errno(struct mf_borrowed *borrowed, uint64_t address)
{
	if (!mf_tracee_read(borrowed->tracee->pid, address, &borrowed->errno_value, sizeof(borrowed->errno_value)) ||
	    !poke(borrowed, MF_RESTORE_STUB_OFFSET(errno_value), (uint32_t)borrowed->errno_value) ||
	    !poke(borrowed, MF_RESTORE_STUB_OFFSET(errno_at), address))
		return false;
	borrowed->errno_at = address;
	return true;
}

void mf_borrowed_close_later(struct mf_borrowed *borrowed, int descriptor)
{
	poke(borrowed, MF_RESTORE_STUB_OFFSET(descriptor), (uint64_t)(int64_t)descriptor);
}

int64_t mf_borrowed_syscall(struct mf_borrowed *borrowed, long number, const uint64_t arguments[6])
{
	struct user_regs_struct regs = borrowed->saved;

	regs.rip = borrowed->place + mf_restore_entries.call;
	regs.rsp = borrowed->top;
	regs.eflags = FLAGS;
	set_arguments(&regs, number, arguments);
	return make_call(borrowed, &regs);
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
	/*
	 * The dynamic linker takes the object that the return address is in for the caller, so that must not be the linker
	 * itself.
	 */
	const uint64_t back[] = { borrowed->ret, borrowed->place + mf_restore_entries.returned, 0 };
	uint64_t start = borrowed->top - sizeof(back);
	enum mf_borrowed_end end = MF_BORROWED_DONE;

	if (!mf_tracee_write(borrowed->tracee->pid, start, back, sizeof(back)))
		return MF_BORROWED_CRASHED;
	regs.rip = function;
	regs.rsp = start;
	regs.rbp = 0;
	regs.rax = 0;
	regs.eflags = FLAGS;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.rcx = arguments[3];
	if (!send_to(borrowed, &regs))
		return MF_BORROWED_ENDED;
	for (;;) {
		if (!go_on(borrowed) || !get(borrowed, &regs)) {
			end = borrowed->ended	  ? MF_BORROWED_ENDED :
			      borrowed->abandoned ? MF_BORROWED_ABANDONED :
						    MF_BORROWED_CRASHED;
			/* A fault is as good as a finished system call: the registers can be set. */
			borrowed->stop = STOP_EXIT;
			break;
		}
		if (must_give_up(borrowed)) {
			borrowed->abandoned = true;
			end = MF_BORROWED_ABANDONED;
			break;
		}
		if (borrowed->stop == STOP_EXIT)
			continue;
		if (regs.rip == borrowed->place + mf_restore_entries.after_returned &&
		    regs.rsp == start + 2 * sizeof(back[0])) {
			*result = regs.rbx;
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

bool mf_borrowed_is_abandoned(const struct mf_borrowed *borrowed)
{
	return borrowed && borrowed->abandoned;
}

bool mf_borrowed_others_ran(const struct mf_borrowed *borrowed)
{
	return borrowed->others_ran;
}

#endif
