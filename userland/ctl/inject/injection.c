// SPDX-License-Identifier: GPL-2.0
// Loads the shim into a running process, and makes it count and stop counting.
//
// All threads are stopped while a borrowed thread calls dlopen(), so nothing in the process changes meanwhile; the
// others run only if one of them holds a lock of malloc. The shim's file and the session memory are memfds that the
// borrowed thread creates and massif-ctl fills in: neither the process's files nor its user nor its namespaces matter.

#include "injection.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_mapping.h"
#include "model/store.h"
#include "borrowed.h"
#include "moment.h"
#include "restore_stub.h"
#include "target.h"
#include "tracee.h"
#include "words.h"

#ifdef __x86_64__

enum {
	PATIENCE_MS = 10000, /* how long a good moment is waited for */
	PAUSE_US = 1500,     /* between two looks for one */
	SHIM_MAX = 64 << 20,
	OBJECTS_MAX = 1 << 20, /* in the dynamic linker's list */
	PATH_BITS = 64,
	THREAD_BYTES_MAX = 1024, /* of the shim's variables for each thread */
};

/* Where things are on the borrowed thread's stack: at its low end, which calls do not reach. */
enum { PLACE_NAME = 0, PLACE_PATH = 64, PLACE_SYMBOL = 2048 };

/* One attempt to load the shim. */
struct attempt {
	struct mf_injection *injection;
	struct mf_target target;
	struct mf_tracee tracee;
	struct mf_borrowed *borrowed;
	int pidfd;
	uint8_t *shim; /* the contents of the shim's file; owned */
	size_t shim_bytes;
	size_t late_offset; /* of struct mf_late in the file */
	uint64_t stack;
	int shim_fd, session_fd; /* descriptors in the process; -1: none */
	uint64_t first_thread;
	uint64_t idle; /* address of the struct mf_late in a copy of the shim that can be used again; 0: there is none */
	int (*create)(void *data, int memory, struct mf_error *err);
	void *data;
};

static int read_shim(struct attempt *attempt, const char *path, struct mf_error *err)
{
	mf_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const uint8_t *found;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0 || status.st_size > SHIM_MAX)
		return mf_error_set(err, fd < 0 ? -errno : -EINVAL, "cannot read %.600s", path);
	attempt->shim_bytes = (size_t)status.st_size;
	attempt->shim = malloc(attempt->shim_bytes);
	if (!attempt->shim)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (read(fd, attempt->shim, attempt->shim_bytes) != (ssize_t)attempt->shim_bytes)
		return mf_error_set(err, -EIO, "cannot read %.600s", path);
	found = memmem(attempt->shim, attempt->shim_bytes, MF_LATE_MAGIC, sizeof(MF_LATE_MAGIC));
	if (!found || attempt->shim_bytes - (size_t)(found - attempt->shim) < sizeof(struct mf_late))
		return mf_error_set(err, -EINVAL, "%.600s cannot be loaded into a running process", path);
	attempt->late_offset = (size_t)(found - attempt->shim);
	return 0;
}

/* Returns the link-time address of the struct mf_late in the shim; 0 if the file is not well-formed. */
static uint64_t late_address(const struct attempt *attempt)
{
	ElfW(Ehdr) header;

	memcpy(&header, attempt->shim, sizeof(header));
	for (int i = 0; i < header.e_phnum; i++) {
		ElfW(Phdr) segment;
		size_t at = header.e_phoff + (size_t)i * sizeof(segment);

		if (at + sizeof(segment) > attempt->shim_bytes)
			return 0;
		memcpy(&segment, attempt->shim + at, sizeof(segment));
		if (segment.p_type == PT_LOAD && attempt->late_offset - segment.p_offset < segment.p_filesz)
			return attempt->late_offset - segment.p_offset + segment.p_vaddr;
	}
	return 0;
}

static int ended(const struct attempt *attempt, struct mf_error *err)
{
	if (mf_borrowed_is_abandoned(attempt->borrowed))
		return mf_error_set(err, -EINTR,
				    "gave up; the thread of process %d that was to load the shim is still in a function of the "
				    "dynamic linker, and does its own work again when that returns; the others run",
				    (int)attempt->tracee.pid);
	return mf_error_set(err, -ESRCH, "process %d ended during the attach", (int)attempt->tracee.pid);
}

/* Lets the process run for a moment. */
static void let_run(struct mf_tracee *tracee, size_t turn)
{
	mf_tracee_resume(tracee);
	for (int i = 0; i < 4; i++) {
		mf_tracee_pause(PAUSE_US / 4 + (unsigned int)(turn % 7) * 100);
		mf_tracee_serve(tracee);
	}
}

/* Stops the process at a moment at which one of its threads can be borrowed. Returns 0 or -errno. */
static int wait_for_moment(struct attempt *attempt, int64_t until, pid_t *tid, struct mf_error *err)
{
	for (size_t from = 0;; from++) {
		int ret = mf_tracee_stop(&attempt->tracee, err);

		/* A thread that does not stop will do so later: the others are not to wait for it. */
		if (ret == -EAGAIN && mf_tracee_now_ms() < until) {
			let_run(&attempt->tracee, from);
			continue;
		}
		if (ret)
			return ret;
		if (mf_tracee_is_job_stopped(&attempt->tracee))
			return mf_error_set(err, -EBUSY, "process %d is stopped; continue it first: kill -CONT %d",
					    (int)attempt->tracee.pid, (int)attempt->tracee.pid);
		*tid = mf_moment_choose(&attempt->tracee, &attempt->target, from);
		if (*tid)
			return 0;
		if (mf_tracee_now_ms() > until)
			return mf_error_set(err, -EAGAIN,
					    "process %d was never in a state in which a library can be loaded; try again",
					    (int)attempt->tracee.pid);
		let_run(&attempt->tracee, from);
	}
}

static int64_t make_call(struct attempt *attempt, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			 uint64_t f)
{
	return mf_borrowed_syscall(attempt->borrowed, number, (uint64_t[]){ a, b, c, d, e, f });
}

/* Does the process lock all memory that it maps (mlockall)? @address is in a mapping that it has just made. */
static bool locks_memory(pid_t pid, uint64_t address)
{
	mf_auto_fclose FILE *file = NULL;
	struct mf_proc_mapping mapping;
	char path[32], line[4096];
	bool here = false;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char copy[sizeof(line)];

		line[strcspn(line, "\n")] = '\0';
		strcpy(copy, line);
		if (mf_proc_mapping_parse(copy, &mapping))
			here = address - mapping.start < mapping.end - mapping.start;
		else if (here && !strncmp(line, "VmFlags:", 8))
			return strstr(line, " lo");
	}
	return false;
}

static int make_stack(struct attempt *attempt, struct mf_error *err)
{
	pid_t pid = attempt->tracee.pid;
	int64_t made = mf_borrowed_map(attempt->borrowed);

	if (made < 0)
		return made == -ESRCH ? ended(attempt, err) :
					mf_error_set(err, (int)made, "process %d cannot map memory: %s", (int)pid,
						     strerror((int)-made));
	attempt->stack = (uint64_t)made;
	if (locks_memory(pid, attempt->stack))
		return mf_error_set(err, -EOPNOTSUPP,
				    "process %d locks its memory (mlockall), which would include that of the profile; start it "
				    "with massif-ctl",
				    (int)pid);
	return 0;
}

/* Calls @function. Returns 0 or -errno. */
static int call(struct attempt *attempt, uint64_t function, uint64_t a, uint64_t b, bool may_wait, uint64_t *result,
		struct mf_error *err)
{
	switch (mf_borrowed_call(attempt->borrowed, function, (uint64_t[]){ a, b, 0, 0 }, may_wait, result)) {
	case MF_BORROWED_DONE:
		return 0;
	case MF_BORROWED_WAITS:
		return mf_error_set(err, -EAGAIN, "another thread of process %d loads libraries",
				    (int)attempt->tracee.pid);
	case MF_BORROWED_CRASHED:
		return mf_error_set(err, -EFAULT, "the shim cannot be loaded into process %d: a fault in its libraries",
				    (int)attempt->tracee.pid);
	case MF_BORROWED_ABANDONED:
	case MF_BORROWED_ENDED:
		break;
	}
	return ended(attempt, err);
}

/* Reads errno. Then finds out whether the dynamic linker's lock is free: dlsym() takes it before it does anything else. */
static int look_before(struct attempt *attempt, struct mf_error *err)
{
	static const char symbol[] = "malloc";
	pid_t pid = attempt->tracee.pid;
	uint64_t address = 0, result = 0;
	int ret = call(attempt, attempt->target.errno_location, 0, 0, false, &address, err);

	if (!ret && (!mf_borrowed_keep_errno(attempt->borrowed, address) ||
		     !mf_tracee_write(pid, attempt->stack + PLACE_SYMBOL, symbol, sizeof(symbol))))
		return mf_error_set(err, -EFAULT, "the memory of process %d cannot be read", (int)pid);
	if (!ret)
		ret = call(attempt, attempt->target.dlsym, 0, attempt->stack + PLACE_SYMBOL, false, &result, err);
	if (!ret && !result)
		ret = mf_error_set(err, -EOPNOTSUPP, "process %d has no malloc", (int)pid);
	return ret;
}

/* Creates a memfd in the process. Returns its descriptor here and sets *@there; or -errno. */
static int make_file(struct attempt *attempt, const char *name, unsigned int flags, int *there, struct mf_error *err)
{
	pid_t pid = attempt->tracee.pid;
	struct stat status;
	int64_t made;
	int fd;

	if (!mf_tracee_write(pid, attempt->stack + PLACE_NAME, name, strlen(name) + 1))
		return ended(attempt, err);
	made = make_call(attempt, SYS_memfd_create, attempt->stack + PLACE_NAME, flags, 0, 0, 0, 0);
	if (made < 0)
		return made == -ESRCH ? ended(attempt, err) :
					mf_error_set(err, (int)made, "process %d cannot create a memfd: %s", (int)pid,
						     strerror((int)-made));
	*there = (int)made;
	mf_borrowed_close_later(attempt->borrowed, *there);
	fd = (int)syscall(SYS_pidfd_getfd, attempt->pidfd, *there, 0);
	if (fd < 0)
		return mf_error_set(err, -errno, "cannot get a descriptor of process %d: %s", (int)pid, strerror(errno));
	/* Another process of its user may have put another file in its place; that is not written to. */
	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &status) || status.st_size || status.st_nlink) {
		close(fd);
		return mf_error_set(err, -EPERM, "process %d changes its descriptors during the attach", (int)pid);
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

static void fill_in(const struct attempt *attempt, struct mf_late *late)
{
	late->wanted = 1;
	late->restricted = attempt->target.restricted;
	late->memory = attempt->session_fd;
	late->first_thread = attempt->first_thread;
	late->code = 1;
	late->n_words = 0;
	memset(late->reason, 0, sizeof(late->reason));
}

static int write_shim(struct attempt *attempt, int fd, struct mf_error *err)
{
	struct mf_late late;

	memcpy(&late, attempt->shim + attempt->late_offset, sizeof(late));
	fill_in(attempt, &late);
	memcpy(attempt->shim + attempt->late_offset, &late, sizeof(late));
	if (write(fd, attempt->shim, attempt->shim_bytes) != (ssize_t)attempt->shim_bytes)
		return mf_error_set(err, -errno, "cannot write the shim for process %d: %s", (int)attempt->tracee.pid,
				    strerror(errno));
	return 0;
}

static int make_files(struct attempt *attempt, struct mf_error *err)
{
	int session = make_file(attempt, "massif-session", MFD_CLOEXEC | MFD_ALLOW_SEALING, &attempt->session_fd, err), ret;
	mf_auto_close int shim = -1;

	if (session < 0)
		return session;
	ret = attempt->create(attempt->data, session, err);
	if (ret) {
		close(session);
		return ret;
	}
	if (attempt->idle)
		return 0;
	shim = make_file(attempt, "massif-shim", MFD_CLOEXEC | MFD_ALLOW_SEALING, &attempt->shim_fd, err);
	return shim < 0 ? shim : write_shim(attempt, shim, err);
}

/*
 * Makes a path of the shim's memfd that no earlier attach has used: the dynamic linker compares paths to find out whether
 * an object is loaded already. Slashes and dots encode random bits.
 */
static void make_path(char *path, size_t size, int fd)
{
	static const char start[] = "/proc/thread-self/fd";
	size_t n = sizeof(start) - 1;
	uint64_t bits = 0;

	if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		bits = (uint64_t)mf_tracee_now_ms();
	memcpy(path, start, n);
	for (int i = 0; i < PATH_BITS && n + 32 < size; i++, bits >>= 1) {
		path[n++] = '/';
		if (bits & 1)
			path[n++] = '.';
	}
	snprintf(path + n, size - n, "/%d", fd);
}

/* Reports why dlopen() has failed, in the dynamic linker's words, which come from the process. */
static int explain(struct attempt *attempt, struct mf_error *err)
{
	pid_t pid = attempt->tracee.pid;
	char text[200] = "", *at, *reason = text;
	struct mf_error other;
	uint64_t address = 0;

	if (!call(attempt, attempt->target.dlerror, 0, 0, true, &address, &other) && address)
		for (size_t i = 0; i < sizeof(text) - 1; i++)
			if (!mf_tracee_read(pid, address + i, &text[i], 1) || !text[i])
				break;
	/* The text begins with the path of the memfd. */
	if (!strncmp(text, "/proc/", 6) && (at = strchr(text, ':')))
		reason = at + 1 + strspn(at + 1, " ");
	for (at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	if (strstr(reason, "static TLS"))
		reason = "its threads have no room left for the shim's variables";
	return mf_error_set(err, -ELIBACC, "the dynamic linker of process %d cannot load the shim: %s", (int)pid,
			    *reason ? reason : "unknown error");
}

static int gone_wrong(const struct attempt *attempt, struct mf_error *err)
{
	return mf_error_set(err, -EPROTO, "the shim in process %d has gone wrong", (int)attempt->tracee.pid);
}

static int read_answer(struct attempt *attempt, struct mf_error *err)
{
	struct mf_injection *injection = attempt->injection;

	if (!mf_tracee_read(injection->pid, injection->late, &injection->answer, sizeof(injection->answer)) ||
	    memcmp(injection->answer.magic, MF_LATE_MAGIC, sizeof(MF_LATE_MAGIC)))
		return gone_wrong(attempt, err);
	injection->answer.reason[MF_LATE_REASON_MAX - 1] = '\0';
	if (injection->answer.code)
		return mf_error_set(err, injection->answer.code < 0 ? injection->answer.code : -EIO,
				    "the heap of process %d cannot be profiled: %s", (int)injection->pid,
				    injection->answer.reason);
	return 0;
}

static int load(struct attempt *attempt, struct mf_error *err)
{
	struct mf_injection *injection = attempt->injection;
	pid_t pid = attempt->tracee.pid;
	uint64_t handle = 0, bias;
	char path[512];
	int ret;

	make_path(path, sizeof(path), attempt->shim_fd);
	if (!mf_tracee_write(pid, attempt->stack + PLACE_PATH, path, strlen(path) + 1))
		return ended(attempt, err);
	ret = call(attempt, attempt->target.dlopen, attempt->stack + PLACE_PATH, attempt->target.dlopen_mode, true, &handle,
		   err);
	if (ret)
		return ret;
	if (!handle)
		return explain(attempt, err);
	attempt->session_fd = -1; /* the shim has closed it */
	/* A handle is a struct link_map, whose first member is the object's load bias. */
	if (!mf_tracee_read_word(pid, handle, &bias))
		return gone_wrong(attempt, err);
	injection->late = bias + late_address(attempt);
	return read_answer(attempt, err);
}

/*
 * Reads the struct mf_late of the copy of the shim at @base, and the word that makes it count. Returns its address, or 0 if
 * the copy is of another build than the file, or does not answer as expected.
 */
static uint64_t read_copy(const struct attempt *attempt, uint64_t base, struct mf_late *late, uint64_t *counts)
{
	uint8_t head[4096];
	uint64_t address = base + late_address(attempt);
	pid_t pid = attempt->target.pid;

	*counts = 0;
	if (attempt->shim_bytes < sizeof(head) || !mf_tracee_read(pid, base, head, sizeof(head)) ||
	    memcmp(head, attempt->shim, sizeof(head)) || !mf_tracee_read(pid, address, late, sizeof(*late)) ||
	    memcmp(late->magic, MF_LATE_MAGIC, sizeof(MF_LATE_MAGIC)) ||
	    (late->active && !mf_tracee_read_word(pid, late->active, counts)))
		return 0;
	return address;
}

/* Returns whether the copy of the shim at @base can be used again, and nothing runs in it; sets attempt->idle. */
static bool is_idle(struct attempt *attempt, uint64_t base)
{
	struct mf_late late;
	uint64_t counts, address = read_copy(attempt, base, &late, &counts);
	ElfW(Ehdr) header;

	if (!address || !late.again || late.thread_bytes > THREAD_BYTES_MAX || counts)
		return false;
	memcpy(&header, attempt->shim, sizeof(header));
	for (int i = 0; i < header.e_phnum; i++) {
		ElfW(Phdr) segment;

		memcpy(&segment, attempt->shim + sizeof(header) + (size_t)i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    !mf_moment_is_clear_of(&attempt->tracee, base + segment.p_vaddr,
					   base + segment.p_vaddr + segment.p_memsz))
			return false;
	}
	attempt->idle = address;
	return true;
}

/* Finds a copy of the shim that an earlier attach has left. */
static void find_idle(struct attempt *attempt)
{
	attempt->idle = 0;
	for (size_t i = 0; i < attempt->target.n_shims; i++)
		if (is_idle(attempt, attempt->target.shims[i]))
			return;
}

/* Clears the shim's variables of all threads. */
static bool clear_threads(const struct attempt *attempt, const struct mf_late *late)
{
	static const uint8_t zero[THREAD_BYTES_MAX];

	for (size_t i = 0; i < attempt->tracee.n; i++) {
		const struct mf_tracee_thread *thread = &attempt->tracee.threads[i];
		struct user_regs_struct regs;

		if (thread->gone)
			continue;
		if (ptrace(PTRACE_GETREGS, thread->tid, 0, &regs))
			return false;
		/* A thread that is only beginning or has nearly ended has no thread pointer, or no memory there. */
		mf_tracee_write(attempt->tracee.pid, regs.fs_base + (uint64_t)late->thread_offset, zero, late->thread_bytes);
	}
	return true;
}

/* Starts a copy of the shim again. */
static int start_again(struct attempt *attempt, struct mf_error *err)
{
	pid_t pid = attempt->tracee.pid;
	struct mf_late late;
	uint64_t result;
	int ret;

	if (!mf_tracee_read(pid, attempt->idle, &late, sizeof(late)) || late.thread_bytes > THREAD_BYTES_MAX ||
	    !clear_threads(attempt, &late))
		return ended(attempt, err);
	fill_in(attempt, &late);
	if (!mf_tracee_write(pid, attempt->idle, &late, sizeof(late)))
		return ended(attempt, err);
	attempt->injection->late = attempt->idle;
	/* The shim closes it. */
	mf_borrowed_close_later(attempt->borrowed, -1);
	ret = call(attempt, late.again, 0, 0, true, &result, err);
	attempt->session_fd = -1; /* the shim has closed it */
	return ret ? ret : read_answer(attempt, err);
}

/* Have objects been loaded or unloaded since the shim looked at them, or are they being so? */
static bool objects_have_changed(const struct mf_injection *injection)
{
	struct r_debug list;
	struct link_map map;
	uint64_t n = 0;

	if (!mf_tracee_read(injection->pid, injection->answer.objects, &list, sizeof(list)) ||
	    list.r_state != RT_CONSISTENT)
		return true;
	for (uint64_t at = (uint64_t)(uintptr_t)list.r_map; at && n < OBJECTS_MAX; at = (uint64_t)(uintptr_t)map.l_next, n++)
		if (!mf_tracee_read(injection->pid, at, &map, sizeof(map)))
			return true;
	return n != injection->answer.n_objects;
}

/* Any thread of the process that is stopped. */
static pid_t any_thread(const struct mf_tracee *tracee)
{
	for (size_t i = 0; i < tracee->n; i++)
		if (tracee->threads[i].stopped && !tracee->threads[i].gone)
			return tracee->threads[i].tid;
	return 0;
}

/* Stops the process at a moment at which no thread is in the dynamic linker's code, as @is_good says, if there is one. */
static int stop_for_change(struct mf_tracee *tracee, const struct mf_target *target,
			   bool (*is_good)(const struct mf_tracee *tracee, const struct mf_target *target),
			   struct mf_error *err)
{
	int64_t until = tracee->until = mf_tracee_now_ms() + PATIENCE_MS;

	for (size_t turn = 0;; turn++) {
		int ret = mf_tracee_stop(tracee, err);

		if (!ret && is_good(tracee, target))
			return 0;
		if (ret && (ret != -EAGAIN || mf_tracee_now_ms() > until))
			return ret;
		if (mf_tracee_now_ms() > until)
			return mf_error_set(err, -EAGAIN, "process %d is always in its dynamic linker; try again",
					    (int)tracee->pid);
		let_run(tracee, turn);
	}
}

static int commit(struct attempt *attempt, struct mf_error *err)
{
	struct mf_injection *injection = attempt->injection;
	int ret = mf_words_read(injection->pid, &injection->answer, &injection->words, err);
	pid_t tid;

	if (!ret)
		ret = stop_for_change(&attempt->tracee, &attempt->target, mf_moment_is_binding_idle, err);
	if (ret)
		return ret;
	if (objects_have_changed(injection))
		return mf_error_set(err, -EAGAIN, "process %d loads or unloads libraries at this moment; try again",
				    (int)injection->pid);
	tid = any_thread(&attempt->tracee);
	if (!mf_words_write(injection->pid, tid, injection->words, injection->answer.n_words, true))
		return mf_error_set(err, -EIO, "the memory of process %d cannot be changed", (int)injection->pid);
	if (!mf_words_poke(tid, injection->answer.active, injection->answer.counts)) {
		mf_words_write(injection->pid, tid, injection->words, injection->answer.n_words, false);
		return mf_error_set(err, -EIO, "the memory of process %d cannot be changed", (int)injection->pid);
	}
	return 0;
}

/* Removes what only the attach needed, and returns the borrowed thread. */
static bool tidy(struct attempt *attempt)
{
	if (!attempt->borrowed)
		return true;
	if (mf_borrowed_is_abandoned(attempt->borrowed))
		return mf_borrowed_give_back(mf_take(attempt->borrowed, NULL));
	if (attempt->stack)
		mf_borrowed_close_later(attempt->borrowed, -1);
	if (attempt->shim_fd >= 0)
		make_call(attempt, SYS_close, (uint64_t)attempt->shim_fd, 0, 0, 0, 0, 0);
	if (attempt->session_fd >= 0)
		make_call(attempt, SYS_close, (uint64_t)attempt->session_fd, 0, 0, 0, 0, 0);
	attempt->stack = 0;
	attempt->shim_fd = attempt->session_fd = -1;
	return mf_borrowed_give_back(mf_take(attempt->borrowed, NULL));
}

/* Reads the thread pointer of the initial thread, which the shim needs to know its stack. */
static void find_first_thread(struct attempt *attempt)
{
	struct user_regs_struct regs;

	/* If the initial thread has ended, no thread is it. */
	attempt->first_thread = 1;
	if (!ptrace(PTRACE_GETREGS, attempt->tracee.pid, 0, &regs))
		attempt->first_thread = regs.fs_base;
}

/* Borrows thread @tid and loads the shim. Returns 0, -EAGAIN if the linker's lock is taken, or another -errno. */
static int load_in(struct attempt *attempt, pid_t tid, bool *locked, struct mf_error *err)
{
	uint64_t place = mf_restore_stub_place(&attempt->tracee, attempt->target.rooms, attempt->target.n_rooms);
	int ret;

	*locked = false;
	if (!place)
		return mf_error_set(err, -EOPNOTSUPP,
				    "process %d has no room between its functions for the code that an attach needs",
				    (int)attempt->tracee.pid);
	ret = mf_borrowed_take(&attempt->borrowed, &attempt->tracee, tid, place, attempt->target.ret, err);
	find_first_thread(attempt);
	if (!ret)
		ret = make_stack(attempt, err);
	if (!ret) {
		ret = look_before(attempt, err);
		*locked = ret == -EAGAIN;
	}
	if (!ret) {
		find_idle(attempt);
		ret = make_files(attempt, err);
	}
	if (!ret)
		ret = attempt->idle ? start_again(attempt, err) : load(attempt, err);
	if (!tidy(attempt) && !ret)
		ret = ended(attempt, err);
	return ret;
}

/* Gives the words of the copy of the shim at @base their old values. */
static int end_copy(const struct attempt *attempt, uint64_t base, struct mf_error *err)
{
	mf_auto_free struct mf_late_word *words = NULL;
	pid_t pid = attempt->target.pid;
	struct mf_late late;
	uint64_t counts;

	if (!read_copy(attempt, base, &late, &counts))
		return mf_error_set(err, -EBUSY, "another version of massif-ctl was killed while it profiled process %d",
				    (int)pid);
	if (counts)
		return mf_error_set(err, -EBUSY,
				    "process %d is still being profiled, though its massif-ctl was killed; "
				    "massif-ctl rescue %d gets the profile",
				    (int)pid, (int)pid);
	/* It was killed before there were any. */
	if (!late.words)
		return 0;
	if (mf_words_read(pid, &late, &words, err))
		return -EPROTO;
	if (!mf_words_write(pid, any_thread(&attempt->tracee), words, late.n_words, false))
		return mf_error_set(err, -EIO, "the memory of process %d cannot be changed", (int)pid);
	return 0;
}

/* Removes what earlier attaches have left that were killed. */
static int end_orphans(struct attempt *attempt, struct mf_error *err)
{
	const struct mf_target *target = &attempt->target;
	const uint32_t none = 0;
	int ret = 0;

	if (!target->n_orphans)
		return 0;
	ret = stop_for_change(&attempt->tracee, target, mf_moment_is_linker_idle, err);
	for (size_t i = 0; i < target->n_shims && !ret; i++)
		ret = end_copy(attempt, target->shims[i], err);
	for (size_t i = 0; i < target->n_orphans && !ret; i++)
		mf_tracee_write(target->pid, target->orphans[i] + offsetof(struct mf_store_header, pid), &none,
				sizeof(none));
	return ret;
}

static int inject(struct attempt *attempt, struct mf_error *err)
{
	int64_t until = attempt->tracee.until = mf_tracee_now_ms() + PATIENCE_MS;
	pid_t tid = 0;
	bool locked;
	int ret = end_orphans(attempt, err);

	if (ret)
		return ret;
	do {
		ret = wait_for_moment(attempt, until, &tid, err);
		if (ret)
			return ret;
		ret = load_in(attempt, tid, &locked, err);
		if (locked) {
			mf_tracee_resume(&attempt->tracee);
			mf_tracee_pause(PAUSE_US);
			mf_tracee_serve(&attempt->tracee);
		}
	} while (locked && mf_tracee_now_ms() < until);
	return ret ? ret : commit(attempt, err);
}

int mf_injection_begin(struct mf_injection *injection, pid_t pid, int pidfd, const char *shim,
		       int (*create)(void *data, int memory, struct mf_error *err), void *data, struct mf_error *err)
{
	struct attempt attempt = {
		.injection = injection, .pidfd = pidfd, .shim_fd = -1, .session_fd = -1, .create = create, .data = data,
	};
	int ret = mf_target_check(&attempt.target, pid, err);

	*injection = (struct mf_injection){ .pid = pid };
	if (!ret)
		ret = read_shim(&attempt, shim, err);
	if (!ret)
		ret = mf_tracee_seize(&attempt.tracee, pid, attempt.target.restricted, err);
	/* From here on, the id is that of the same process, and massif-ctl is told if it executes another program. */
	if (!ret && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) && errno == ESRCH)
		ret = mf_error_set(err, -ESRCH, "process %d has ended", (int)pid);
	if (!ret)
		ret = mf_target_inspect(&attempt.target, err);
	if (!ret)
		ret = inject(&attempt, err);
	if (ret)
		free(mf_take(injection->words, NULL));
	mf_tracee_release(&attempt.tracee);
	free(attempt.shim);
	return ret;
}

/* Is it still the program that the shim was loaded into? */
static bool is_same(const struct mf_injection *injection)
{
	struct mf_late now;

	return mf_tracee_read(injection->pid, injection->late, &now, sizeof(now)) &&
	       !memcmp(now.magic, MF_LATE_MAGIC, sizeof(MF_LATE_MAGIC)) && now.active == injection->answer.active;
}

int mf_injection_end(struct mf_injection *injection, struct mf_error *err)
{
	struct mf_tracee tracee;
	struct mf_target target;
	int ret = 0;

	if (!injection->words)
		return 0;
	if (!is_same(injection))
		goto out;
	ret = mf_tracee_seize(&tracee, injection->pid, false, err);
	if (!mf_target_ranges(&target, injection->pid) && !ret)
		ret = mf_error_set(err, -E2BIG, "process %d has mapped too many copies of libraries", (int)injection->pid);
	if (!ret)
		ret = stop_for_change(&tracee, &target, mf_moment_is_linker_idle, err);
	if (!ret && is_same(injection)) {
		pid_t tid = any_thread(&tracee);

		mf_words_poke(tid, injection->answer.active, 0);
		if (!mf_words_write(injection->pid, tid, injection->words, injection->answer.n_words, false))
			ret = mf_error_set(err, -EIO, "the memory of process %d cannot be changed", (int)injection->pid);
	}
	mf_tracee_release(&tracee);
	/* In the other program, there is no shim. */
	if (ret == -ECANCELED)
		ret = 0;
out:
	free(mf_take(injection->words, NULL));
	return ret;
}

#else

int mf_injection_begin(struct mf_injection *injection, pid_t pid, int pidfd, const char *shim,
		       int (*create)(void *data, int memory, struct mf_error *err), void *data, struct mf_error *err)
{
	return mf_error_set(err, -ENOTSUP, "attaching to a heap is not implemented for this processor");
}

int mf_injection_end(struct mf_injection *injection, struct mf_error *err)
{
	return 0;
}

#endif
