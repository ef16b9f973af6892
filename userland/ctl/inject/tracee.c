// SPDX-License-Identifier: GPL-2.0
// Stops and continues the threads of another process with ptrace(2).
//
// The threads are seized and not attached to: a seized thread is not sent a signal, and can be stopped and released
// without the program noticing. Most blocking system calls are restarted by the kernel; the few that return EINTR after
// any stop are restarted here (repair()).

#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

enum {
	PAUSE_US = 50, /* between two looks at threads that are about to stop */
	PASSES = 1000, /* how often new threads are looked for; a process that makes them faster is given up */
};

void mf_tracee_pause(unsigned int us)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)us * 1000 }, NULL);
}

int64_t mf_tracee_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool mf_tracee_read(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec here = { bytes, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool mf_tracee_write(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
	struct iovec here = { (void *)(uintptr_t)bytes, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool mf_tracee_read_word(pid_t pid, uint64_t address, uint64_t *word)
{
	return mf_tracee_read(pid, address, word, sizeof(*word));
}

static struct mf_tracee_thread *find(struct mf_tracee *tracee, pid_t tid)
{
	for (size_t i = 0; i < tracee->n; i++)
		if (tracee->threads[i].tid == tid && !tracee->threads[i].gone)
			return &tracee->threads[i];
	return NULL;
}

static struct mf_tracee_thread *add(struct mf_tracee *tracee, pid_t tid)
{
	struct mf_tracee_thread *larger;
	size_t room = tracee->room ? 2 * tracee->room : 64;

	if (tracee->n == tracee->room) {
		larger = reallocarray(tracee->threads, room, sizeof(*larger));
		if (!larger)
			return NULL;
		tracee->threads = larger;
		tracee->room = room;
	}
	tracee->threads[tracee->n] = (struct mf_tracee_thread){ .tid = tid };
	return &tracee->threads[tracee->n++];
}

/* Is @tid a thread of the process, and not of a process that it has created with clone()? */
static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

/* A thread has created another, which is traced, too, and stops before its first instruction. */
static void take_new(struct mf_tracee *tracee, pid_t creator)
{
	unsigned long tid = 0;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, creator, 0, &tid) || find(tracee, (pid_t)tid))
		return;
	if (is_thread_of(tracee->pid, (pid_t)tid)) {
		add(tracee, (pid_t)tid);
		return;
	}
	if (waitpid((pid_t)tid, &status, __WALL) == (pid_t)tid && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, (pid_t)tid, 0, 0);
}

/* Handles @status of waitpid(2). Lets the thread run again unless it is to stay stopped. */
static void handle(struct mf_tracee *tracee, pid_t tid, int status)
{
	struct mf_tracee_thread *thread = find(tracee, tid);
	int event = status >> 16, signal;

	if (!thread)
		return;
	if (!WIFSTOPPED(status)) {
		thread->gone = true;
		return;
	}
	signal = WSTOPSIG(status);
	if (event == PTRACE_EVENT_STOP) {
		thread->stopped = true;
		thread->job_stopped = signal != SIGTRAP;
		return;
	}
	tracee->executed |= event == PTRACE_EVENT_EXEC;
	if (event == PTRACE_EVENT_CLONE)
		take_new(tracee, tid);
	ptrace(PTRACE_CONT, tid, 0, event || signal == (SIGTRAP | 0x80) ? 0 : signal);
}

/* Has the thread ended, so that only its status is left? */
static bool has_ended(pid_t pid, pid_t tid)
{
	char path[64], text[512];
	const char *end = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fgets(text, sizeof(text), file))
		end = strrchr(text, ')');
	fclose(file);
	return !end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X';
}

/*
 * Is the thread traced already, because a thread that was seized has created it? Only the leader of a process can be a child
 * that is waited for without being traced.
 */
static bool is_ours(const struct mf_tracee *tracee, pid_t tid)
{
	siginfo_t info;

	return tid != tracee->pid && !waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL);
}

/* Releases a thread that has been seized by mistake. */
static void let_go(pid_t tid)
{
	int status;

	if (!ptrace(PTRACE_INTERRUPT, tid, 0, 0) && waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
}

static int seize_one(struct mf_tracee *tracee, pid_t tid, struct mf_error *err)
{
	long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
		       (tracee->restricted ? PTRACE_O_SUSPEND_SECCOMP : 0);

	if (ptrace(PTRACE_SEIZE, tid, 0, options)) {
		int code = errno;

		if (code == EPERM && is_ours(tracee, tid))
			return add(tracee, tid) ? 0 : mf_error_set(err, -ENOMEM, "out of memory");
		if (code == ESRCH || has_ended(tracee->pid, tid))
			return 0;
		errno = code;
		return mf_error_set(err, -errno, "process %d may not be traced: %s%s", (int)tracee->pid, strerror(errno),
				    errno != EPERM ? "" :
				    tracee->restricted ?
					    "; it has restricted its system calls (seccomp), so only root may" :
					    "; ptrace(2) and /proc/sys/kernel/yama/ptrace_scope say who may");
	}
	/* The thread may have ended, and another process have got its id. From here on, the id does not change hands. */
	if (!is_thread_of(tracee->pid, tid)) {
		let_go(tid);
		return 0;
	}
	return add(tracee, tid) ? 0 : mf_error_set(err, -ENOMEM, "out of memory");
}

/* Seizes the threads that are not yet. Returns their number or -errno. */
static int seize_new(struct mf_tracee *tracee, struct mf_error *err)
{
	char path[32];
	struct dirent *entry;
	DIR *directory;
	int n = 0, ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracee->pid);
	directory = opendir(path);
	if (!directory)
		return mf_error_set(err, -ESRCH, "process %d has ended", (int)tracee->pid);
	while (!ret && (entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		size_t before = tracee->n;

		if (tid <= 0 || find(tracee, tid))
			continue;
		ret = seize_one(tracee, tid, err);
		n += tracee->n > before;
	}
	closedir(directory);
	return ret ? ret : n;
}

static int seize_all(struct mf_tracee *tracee, struct mf_error *err)
{
	int n = 1;

	for (int i = 0; i < PASSES && n > 0; i++)
		n = seize_new(tracee, err);
	if (n > 0)
		return mf_error_set(err, -EAGAIN, "process %d creates threads faster than they can be stopped",
				    (int)tracee->pid);
	return n;
}

int mf_tracee_seize(struct mf_tracee *tracee, pid_t pid, bool restricted, struct mf_error *err)
{
	int ret;

	*tracee = (struct mf_tracee){ .pid = pid, .restricted = restricted };
	ret = seize_all(tracee, err);
	if (!ret && !tracee->n)
		return mf_error_set(err, -ESRCH, "process %d has ended", (int)pid);
	return ret;
}

#ifdef __x86_64__

/* Is a signal pending that the thread will handle? */
static bool has_signal(pid_t pid, pid_t tid)
{
	static const char *const labels[] = { "SigPnd:", "ShdPnd:", "SigBlk:" };
	unsigned long long masks[3] = { 0 };
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file))
		for (int i = 0; i < 3; i++)
			if (!strncmp(line, labels[i], strlen(labels[i])))
				masks[i] = strtoull(line + strlen(labels[i]), NULL, 16);
	fclose(file);
	return (masks[0] | masks[1]) & ~masks[2];
}

/*
 * These system calls return EINTR after a stop, even if no signal handler ran. Make the thread repeat the call, as if it
 * had been stopped a moment before it.
 */
static void repair(const struct mf_tracee *tracee, pid_t tid)
{
	static const unsigned short calls[] = { SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_semop, SYS_semtimedop,
						SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_uring_enter };
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) || (int64_t)regs.rax != -EINTR || regs.cs != 0x33)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (regs.orig_rax != calls[i] || has_signal(tracee->pid, tid))
			continue;
		regs.rax = regs.orig_rax;
		regs.rip -= 2;
		regs.orig_rax = (unsigned long long)-1;
		ptrace(PTRACE_SETREGS, tid, 0, &regs);
	}
}

#else

static void repair(const struct mf_tracee *tracee, pid_t tid)
{
}

#endif

/* Waits until the thread has stopped. Returns false if it does not by @until. */
static bool await_stop(struct mf_tracee *tracee, size_t index, int64_t until)
{
	for (;;) {
		pid_t tid = tracee->threads[index].tid;
		int status;
		pid_t ret = waitpid(tid, &status, __WALL | WNOHANG);

		if (ret == tid)
			handle(tracee, tid, status);
		else if (ret < 0)
			tracee->threads[index].gone = true;
		/* The array may have moved: a thread may have been added. */
		if (tracee->threads[index].stopped || tracee->threads[index].gone)
			return true;
		if (ret == 0) {
			if (mf_tracee_now_ms() > until)
				return false;
			mf_tracee_pause(PAUSE_US);
		}
	}
}

int mf_tracee_stop(struct mf_tracee *tracee, struct mf_error *err)
{
	int64_t until = mf_tracee_now_ms() + MF_TRACEE_STOP_MS;
	size_t known, alive = 0;
	int ret;

	do {
		known = tracee->n;
		for (size_t i = 0; i < tracee->n; i++)
			if (!tracee->threads[i].stopped && !tracee->threads[i].gone)
				ptrace(PTRACE_INTERRUPT, tracee->threads[i].tid, 0, 0);
		for (size_t i = 0; i < tracee->n; i++) {
			if (!tracee->threads[i].stopped && !tracee->threads[i].gone && !await_stop(tracee, i, until))
				return mf_error_set(err, -EAGAIN,
						    "process %d does not stop: it waits in the kernel, for example in vfork()",
						    (int)tracee->pid);
		}
		ret = seize_new(tracee, err);
	} while (ret > 0 || tracee->n != known);
	if (tracee->executed)
		return mf_error_set(err, -ECANCELED, "process %d executes another program", (int)tracee->pid);
	for (size_t i = 0; i < tracee->n; i++)
		alive += !tracee->threads[i].gone;
	if (ret >= 0 && !alive)
		return mf_error_set(err, -ESRCH, "process %d has ended", (int)tracee->pid);
	return ret < 0 ? ret : 0;
}

bool mf_tracee_is_job_stopped(const struct mf_tracee *tracee)
{
	for (size_t i = 0; i < tracee->n; i++)
		if (!tracee->threads[i].gone && tracee->threads[i].job_stopped)
			return true;
	return false;
}

/* Continues a stopped thread; one that is stopped together with its process stays so. */
static void go_on(const struct mf_tracee *tracee, struct mf_tracee_thread *thread)
{
	if (!thread->job_stopped)
		repair(tracee, thread->tid);
	ptrace(thread->job_stopped ? PTRACE_LISTEN : PTRACE_CONT, thread->tid, 0, 0);
	thread->stopped = thread->job_stopped = false;
}

void mf_tracee_resume(struct mf_tracee *tracee)
{
	for (size_t i = 0; i < tracee->n; i++) {
		struct mf_tracee_thread *thread = &tracee->threads[i];

		if (!thread->stopped || thread->gone || thread->tid == tracee->held)
			continue;
		go_on(tracee, thread);
	}
}

void mf_tracee_serve(struct mf_tracee *tracee)
{
	for (size_t i = 0; i < tracee->n; i++) {
		struct mf_tracee_thread *thread = &tracee->threads[i];
		pid_t tid = thread->tid;
		int status;

		if (thread->stopped || thread->gone || tid == tracee->held)
			continue;
		if (waitpid(tid, &status, __WALL | WNOHANG) == tid) {
			handle(tracee, tid, status);
			thread = &tracee->threads[i];
			/* A new thread, or a stop for the whole process. */
			if (thread->stopped)
				go_on(tracee, thread);
		}
	}
}

void mf_tracee_release(struct mf_tracee *tracee)
{
	for (size_t i = 0; i < tracee->n; i++) {
		const struct mf_tracee_thread *thread = &tracee->threads[i];

		if (thread->gone || !thread->stopped)
			continue;
		if (!thread->job_stopped)
			repair(tracee, thread->tid);
		ptrace(PTRACE_DETACH, thread->tid, 0, 0);
	}
	free(tracee->threads);
	*tracee = (struct mf_tracee){ 0 };
}
