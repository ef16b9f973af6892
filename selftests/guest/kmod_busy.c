// SPDX-License-Identifier: GPL-2.0
// Sessions begin and end while a thread of the kernel neither sleeps nor returns to user mode.
//
// ftrace waits for such a thread when a function is no longer hooked. Every user can have one: io_uring looks for new
// requests in a loop (IORING_SETUP_SQPOLL).
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define PAGE	4096ul

/* Length of the mapping by which the test recognises its own records; no other mapping has it. */
#define MAPPED	(101 * PAGE)

/* A session takes less than this many seconds. If its end waits for the busy thread, it takes BUSY seconds. */
#define SOON	40
#define BUSY	60

#define BUSY_THREADS	9
#define ROUNDS		5

/* How long a thread populates memory, in seconds, before it falls asleep; and what one request can populate, in bytes. */
#define POPULATES	10
#define POPULATED_MOST	((1ul << 32) - 16 * PAGE)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif

/* Begins to be busy, and waits to be killed. Writes the result of io_uring_setup() to @to. */
static void be_busy(int to)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1000 * 1000 * 1000 };
	int ring = syscall(SYS_io_uring_setup, 4, &params), result = ring < 0 ? -errno : 0;
	struct io_uring_sqe *entry = MAP_FAILED;
	char *queue = MAP_FAILED;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!result) {
		queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
		entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	}
	if (!result && (queue == MAP_FAILED || entry == MAP_FAILED))
		result = -ENOMEM;
	/* The thread looks for further requests after the first one. */
	if (!result) {
		*entry = (struct io_uring_sqe){ .opcode = IORING_OP_NOP };
		*(uint32_t *)(queue + params.sq_off.array) = 0;
		__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0) < 0)
			result = -errno;
	}
	if (write(to, &result, sizeof(result)) == sizeof(result))
		pause();
	_exit(0);
}

/* Returns a mapping of @bytes whose pages the kernel populates one by one, or MAP_FAILED. */
static char *map_small_pages(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at != MAP_FAILED)
		madvise(at, bytes, MADV_NOHUGEPAGE);
	return at;
}

/* Returns how many seconds it takes to populate @bytes; 0 if this kernel has no MADV_POPULATE_READ. */
static double time_populated(size_t bytes)
{
	struct timespec begin, end;
	char *at = map_small_pages(bytes);
	int err;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	err = at == MAP_FAILED || madvise(at, bytes, MADV_POPULATE_READ);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (err)
		return 0;
	munmap(at, bytes);
	return end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
}

/*
 * Returns how many bytes are populated in POPULATES seconds; 0 if this kernel has no MADV_POPULATE_READ. The shortest of
 * several times counts: the processor may have other work now, and less of it later.
 */
static size_t bytes_populated(void)
{
	const size_t tried = 128 << 20;
	double shortest = time_populated(tried), bytes;

	if (!shortest)
		return 0;
	for (int i = 0; i < 4; i++) {
		double time = time_populated(tried);

		if (time && time < shortest)
			shortest = time;
	}
	bytes = tried * (double)POPULATES / shortest;
	return bytes < POPULATED_MOST ? (size_t)bytes & ~(PAGE - 1) : POPULATED_MOST;
}

/* Makes the page at @at one for which faults wait. Returns the userfaultfd, or -errno. */
static int make_faults_wait(const char *at)
{
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)at, .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) ? -errno : fd;
}

/*
 * Has a thread of io_uring populate memory, for which it does not sleep, and then the page of a userfaultfd, for which it
 * sleeps until the process is killed. Writes 0 or -errno to @to, and 0 when the thread sleeps.
 */
static void be_busy_and_sleep(int to)
{
	struct io_uring_params params = { 0 };
	struct io_uring_sqe *entry = MAP_FAILED;
	char *queue = MAP_FAILED, *memory;
	size_t bytes = bytes_populated();
	int ring, result = 0, waits;
	struct pollfd poll_for = { .events = POLLIN };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memory = map_small_pages(bytes + PAGE);
	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring >= 0) {
		queue = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
		entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	}
	waits = bytes && memory != MAP_FAILED && queue != MAP_FAILED && entry != MAP_FAILED ?
		make_faults_wait(memory + bytes) : -EOPNOTSUPP;
	if (waits < 0) {
		result = waits;
	} else {
		*entry = (struct io_uring_sqe){
			.opcode = IORING_OP_MADVISE,
			.addr = (uintptr_t)memory,
			.len = bytes + PAGE,
			.fadvise_advice = MADV_POPULATE_READ,
		};
		*(uint32_t *)(queue + params.sq_off.array) = 0;
		__atomic_store_n((uint32_t *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
			result = -errno;
	}
	if (write(to, &result, sizeof(result)) != sizeof(result) || result)
		_exit(0);
	poll_for.fd = waits;
	if (poll(&poll_for, 1, -1) == 1 && write(to, &result, sizeof(result)) == sizeof(result))
		pause();
	_exit(0);
}

static int touch(void *unused)
{
	char *at = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	if (at == MAP_FAILED)
		return 1;
	madvise(at, MAPPED, MADV_NOHUGEPAGE);
	for (unsigned long i = 0; i < MAPPED; i += PAGE)
		at[i] = 1;
	return munmap(at, MAPPED);
}

struct seen {
	unsigned int maps;
	int64_t pages;		/* that became resident in the mapping */
	uint64_t from;
};

static int note(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_resident *resident = (const void *)rec;
	const struct massif_rec_map *map = (const void *)rec;
	struct seen *seen = arg;

	if (rec->type == MASSIF_REC_MAP && map->len == MAPPED) {
		seen->maps++;
		seen->from = map->addr;
	}
	if (rec->type == MASSIF_REC_RESIDENT && resident->cause == MASSIF_RESIDENT_FAULT &&
	    resident->addr - seen->from < MAPPED)
		seen->pages += resident->change[MASSIF_RSS_ANON];
	return 0;
}

/* Runs a program in a session. Returns 0 if the session has seen each change once. */
static int run_session(void)
{
	struct massif_setup setup = { .ring_bytes = 1 << 20, .flags = MASSIF_SETUP_RESIDENT };
	struct kmod_session session;
	struct seen seen = { 0 };
	int code = -1;
	pid_t pid;

	if (kmod_session_open_as(&session, &setup))
		return 1;
	pid = kmod_session_call(&session, touch, NULL);
	if (pid < 0 || kmod_session_drain(&session, 20000, note, &seen) || waitpid(pid, &code, 0) != pid || code)
		return 2;
	kmod_session_close(&session);
	return seen.maps == 1 && seen.pages == MAPPED / PAGE ? 0 : 3;
}

/* Starts a process that has a busy thread. Stores the result of io_uring_setup() in @result. */
static pid_t start_busy(int *result)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid)
		be_busy(ends[1]); /* does not return */
	close(ends[1]);
	if (pid > 0 && read(ends[0], result, sizeof(*result)) != sizeof(*result))
		*result = -EIO;
	close(ends[0]);
	return pid;
}

FIXTURE(busy)
{
	pid_t busy;
	int result;	/* of io_uring_setup() */
};

FIXTURE_SETUP(busy)
{
	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(""));
	self->busy = start_busy(&self->result);
	ASSERT_LT(0, self->busy);
}

FIXTURE_TEARDOWN(busy)
{
	int tries;

	kill(self->busy, SIGKILL);
	waitpid(self->busy, NULL, 0);
	/* The functions are disarmed now, and then the module can be unloaded. */
	for (tries = 0; tries < 10 && kmod_module_users() > 0; tries++)
		sleep(2);
	if (kmod_module_users() >= 0)
		EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

/* Waits until @pid has ended, but not longer than BUSY seconds. Stores its exit status in @status. */
static double wait_for(pid_t pid, int *status)
{
	struct timespec begin, now;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		usleep(100 * 1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
		seconds = now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9;
	} while (!waitpid(pid, status, WNOHANG) && seconds < BUSY);
	return seconds;
}

TEST_F_TIMEOUT(busy, nobody_waits_for_a_thread_that_never_sleeps, 300)
{
	if (self->result)
		SKIP(return, "no busy thread: io_uring: error %d", -self->result);
	/* The second session uses the hooks that the first one has left. */
	for (int i = 0; i < 2; i++) {
		int status = -1;
		double seconds;
		pid_t pid = fork();

		if (!pid)
			_exit(run_session());
		ASSERT_LT(0, pid);
		seconds = wait_for(pid, &status);
		TH_LOG("session %d: %.1f s", i, seconds);
		ASSERT_GT(SOON, seconds);
		EXPECT_EQ(0, status);
	}
}

/* A grace period that has begun does not wait for threads that begin later, but ftrace's own does, after it. */
TEST_F_TIMEOUT(busy, nobody_waits_for_one_that_begins_later, 300)
{
	int status = -1, result = 0;
	double seconds;
	pid_t pid, second;

	if (self->result)
		SKIP(return, "no busy thread: io_uring: error %d", -self->result);
	/* If the first thread reports no quiescent state, close() leaves the hooks armed, and a grace period waits for it. */
	ASSERT_EQ(0, run_session());
	second = start_busy(&result);
	ASSERT_LT(0, second);
	ASSERT_EQ(0, result);
	kill(self->busy, SIGKILL);
	/* That grace period would end, and ftrace be asked. */
	sleep(8);
	pid = fork();
	if (!pid)
		_exit(run_session());
	seconds = wait_for(pid, &status);
	TH_LOG("session: %.1f s", seconds);
	EXPECT_GT(SOON, seconds);
	EXPECT_EQ(0, status);
	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	if (seconds >= BUSY)
		waitpid(pid, NULL, 0);
}

/*
 * A thread is asked to report a quiescent state, but falls asleep before it has looked at its task_work. It does not keep
 * the module loaded.
 */
TEST_F_TIMEOUT(busy, nor_is_one_that_falls_asleep, 120)
{
	struct massif_setup setup = { .ring_bytes = 1 << 20 };
	int ends[2], result = -EIO, tries;
	struct kmod_session session;
	pid_t pid;

	if (self->result)
		SKIP(return, "no busy thread: io_uring: error %d", -self->result);
	ASSERT_EQ(0, kmod_session_open_as(&session, &setup));
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		close(session.fd);
		be_busy_and_sleep(ends[1]);
	}
	ASSERT_LT(0, pid);
	close(ends[1]);
	ASSERT_EQ(sizeof(result), read(ends[0], &result, sizeof(result)));
	/* The thread does not report while it populates memory, so that close() leaves the hooks armed. */
	kmod_session_close(&session);
	if (result) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		SKIP(return, "no thread that populates memory: error %d", -result);
	}
	EXPECT_LT(0, kmod_module_users());
	ASSERT_EQ(sizeof(result), read(ends[0], &result, sizeof(result)));
	/* Disarming waits for three grace periods, in each of which the other thread is asked to report. */
	for (tries = 0; tries < SOON && kmod_module_users() > 0; tries++)
		sleep(1);
	TH_LOG("not in use after %d s", tries);
	EXPECT_EQ(0, kmod_module_users());
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* While a thread is busy, the module is used, becomes idle, and is unloaded. */
TEST_F_TIMEOUT(busy, nor_does_rmmod, 300)
{
	int status = -1, tries;
	double seconds;
	pid_t pid;

	if (self->result)
		SKIP(return, "no busy thread: io_uring: error %d", -self->result);
	ASSERT_EQ(0, run_session());
	for (tries = 0; tries < 10 && kmod_module_users() > 0; tries++)
		sleep(2);
	ASSERT_EQ(0, kmod_module_users());
	pid = fork();
	if (!pid)
		_exit(syscall(SYS_delete_module, "massif", O_NONBLOCK) ? 1 : 0);
	seconds = wait_for(pid, &status);
	TH_LOG("rmmod: %.1f s", seconds);
	EXPECT_GT(SOON, seconds);
	EXPECT_EQ(0, status);
}

/*
 * Unloads the module while threads are asked to report, so that some may be in the function that does. Nothing is left of
 * their work then.
 */
TEST_F_TIMEOUT(busy, again_and_again, 600)
{
	pid_t others[BUSY_THREADS];
	int result = 0, i;

	if (self->result)
		SKIP(return, "no busy thread: io_uring: error %d", -self->result);
	for (i = 0; i < BUSY_THREADS; i++) {
		others[i] = start_busy(&result);
		ASSERT_LT(0, others[i]);
		ASSERT_EQ(0, result);
	}
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, run_session());
		ASSERT_EQ(0, kmod_module_unload_soon("massif"));
		ASSERT_EQ(0, kmod_module_load(""));
	}
	for (i = 0; i < BUSY_THREADS; i++) {
		kill(others[i], SIGKILL);
		ASSERT_EQ(others[i], waitpid(others[i], NULL, 0));
	}
}

TEST_HARNESS_MAIN
