// SPDX-License-Identifier: GPL-2.0
// Tests that the memory of sessions is limited and is released as soon as they are closed, and that no operation takes
// unbounded time.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/never_read.h"
#include "selftests/lib/process_state.h"

#define USER	1000
#define PAGE	4096ul
#define RING	(1ul << 20)
#define KNOWN	(256u << 10)
/* Locked pages of one session: control page, consumer page, data area, and known stacks. */
#define PAGES	(2 + RING / PAGE + KNOWN / PAGE)

static int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Opens a session. Returns a descriptor, or -errno. */
static int set_up(uint64_t ring_bytes)
{
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.ring_bytes = ring_bytes,
		.max_stack_bytes = 4096,
		.known_bytes = KNOWN,
	};
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, MASSIF_IOC_SETUP, &setup))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * Sets the locked-memory limit to @pages. Call this as root: before Linux 5.16, a user's limit is 64 KiB by default,
 * and only root can raise it.
 */
static int lock_at_most(unsigned long pages)
{
	struct rlimit limit = { pages * PAGE, pages * PAGE };

	return setrlimit(RLIMIT_MEMLOCK, &limit);
}

static int be_user(void)
{
	return setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
	       prctl(PR_SET_DUMPABLE, 1);
}

FIXTURE(memory) {
};

FIXTURE_SETUP(memory)
{
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
}

FIXTURE_TEARDOWN(memory)
{
	chmod(MASSIF_DEVICE, 0660);
}

/*
 * Opens up to ten sessions with RLIMIT_MEMLOCK set to @pages, closes them, and checks that as many can be opened again.
 * Returns how many could be opened.
 */
static int count_sessions(unsigned long pages, bool user)
{
	int count = 0, again = 0, fds[10];

	if (lock_at_most(pages) || (user && be_user()))
		return 100;
	for (; count < 10; count++) {
		fds[count] = set_up(RING);
		if (fds[count] == -EDQUOT)
			break;
		if (fds[count] < 0)
			return 101;
	}
	for (int i = 0; i < count; i++)
		close(fds[i]);
	for (; again < 10; again++) {
		fds[again] = set_up(RING);
		if (fds[again] < 0)
			break;
	}
	return again == count ? count : 102;
}

TEST_F(memory, is_limited_as_locked_memory)
{
	static const struct {
		unsigned long pages;
		bool user;
		int sessions;
	} rows[] = {
		{ PAGES - 1, true, 0 },
		{ PAGES, true, 1 },
		{ 2 * PAGES - 1, true, 1 },
		{ 10 * PAGES - 1, true, 9 },
		{ 10 * PAGES, true, 10 },
		{ 0, true, 0 },
		{ 0, false, 10 },	/* root has CAP_IPC_LOCK, so there is no limit */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(count_sessions(rows[i].pages, rows[i].user));
		EXPECT_EQ(rows[i].sessions, exit_status(pid)) {
			TH_LOG("%lu pages", rows[i].pages);
		}
	}
}

/*
 * All sessions of a user count together towards RLIMIT_MEMLOCK, even those of different processes. If the limit
 * prevents a session from being opened, no memory remains charged for it.
 */
TEST_F(memory, is_the_users)
{
	int ready[2], go[2];
	char byte;
	pid_t first, second;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	first = fork();
	if (!first) {
		if (lock_at_most(PAGES) || be_user() || set_up(RING) < 0)
			_exit(1);
		if (write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		_exit(0);
	}
	close(ready[1]);
	EXPECT_EQ(1, read(ready[0], &byte, 1));
	second = fork();
	if (!second) {
		if (lock_at_most(PAGES) || be_user())
			_exit(1);
		if (set_up(RING) != -EDQUOT)
			_exit(2);
		if (write(go[1], "", 1) != 1)
			_exit(3);
		for (int i = 0; i < 1000; i++) {
			if (set_up(RING) >= 0)
				_exit(0);
			usleep(10000);
		}
		_exit(4);
	}
	EXPECT_EQ(0, exit_status(second));
	EXPECT_EQ(0, exit_status(first));
}

/*
 * If root opened the descriptor but a user calls SETUP on it, the memory is charged to root, but the user's limit
 * applies.
 */
TEST_F(memory, of_a_descriptor_that_was_passed_on)
{
	int fd = open(MASSIF_DEVICE, O_RDWR);
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.ring_bytes = RING,
	};
	pid_t pid = fork();

	if (!pid)
		_exit(lock_at_most(PAGES / 2) || be_user() ? 1 :
		      ioctl(fd, MASSIF_IOC_SETUP, &setup) ? errno : 0);
	EXPECT_EQ(EDQUOT, exit_status(pid));
	EXPECT_EQ(0, ioctl(fd, MASSIF_IOC_SETUP, &setup));
	close(fd);
}

/* Returns memory to use as a stack. Its pages are never provided, so any access to them blocks. */
static char *unfilled_stack(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *stack = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register reg = {
		.range = { (uintptr_t)stack, 16 * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd < 0 || stack == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		return MAP_FAILED;
	return stack;
}

/*
 * Calls brk while running on a stack whose memory is never provided, so that copying the stack blocks. *@arg is the
 * file that backs the memory, or -1 for userfaultfd.
 */
static int sleep_in_the_copy(void *arg)
{
	int file = *(int *)arg, pid;
	char *stack = file < 0 ? unfilled_stack() : mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (stack == MAP_FAILED)
		return 1;
	/*
	 * brk itself does not access the stack, but the module copies the stack, and blocks when it reaches a missing
	 * page. So the code after the system call is never reached.
	 */
	__asm__ volatile("mov %%rsp, %%rbx; mov %1, %%rsp; xor %%r9d, %%r9d; syscall; mov %%rbx, %%rsp"
			 : "=a"(pid)
			 : "r"(stack + PAGE), "a"(SYS_brk), "D"((char *)sbrk(0) + PAGE)
			 : "rbx", "rcx", "r9", "r11", "memory");
	return 2;
}

static int be_user_and_close_below_a_sleeper(int told, int asked, bool in_file)
{
	struct massif_status status = {};
	struct kmod_session session;
	char byte, state;
	int err = -EAGAIN, file = -1, looks = 0;
	pid_t pid, server = 0;

	if (lock_at_most(2 + RING / PAGE) || be_user())
		return 1;
	if (in_file)
		file = never_read_open(&server);
	if ((in_file && file < 0) || kmod_session_open(&session, RING, 4096))
		return 7;
	pid = kmod_session_call(&session, sleep_in_the_copy, &file);
	for (unsigned int i = 0; i < 4000 * patience() && looks < 5; i++) {
		usleep(10000);
		if (kmod_session_status(&session, &status))
			return 2;
		state = process_state(pid);
		looks = status.captures && status.pending == 1 && (state == 'S' || state == 'D') ? looks + 1 : 0;
	}
	if (looks < 5)
		return 3;
	kmod_session_close(&session);
	if (write(told, "", 1) != 1 || read(asked, &byte, 1) != 1)
		return 4;
	err = kmod_session_open(&session, RING, 4096);
	if (waitpid(pid, NULL, WNOHANG))
		return 5;
	kill(pid, SIGKILL);
	/*
	 * A process that is waiting for a FUSE file does not end when it is killed, but only when the FUSE server has
	 * ended.
	 */
	if (in_file)
		kill(server, SIGKILL);
	waitpid(pid, NULL, 0);
	return err ? 6 : 0;
}

/* Returns the number of kernel memory areas used by rings. */
static int rings(void)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char line[1024];
	int count = 0;

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, "massif_ring_init") != NULL;
	if (file)
		fclose(file);
	return count;
}

static int allow_userfaultfd(int allow)
{
	FILE *file = fopen("/proc/sys/vm/unprivileged_userfaultfd", "w");

	return !file || fprintf(file, "%d\n", allow) < 0 || fclose(file);
}

/* Closes the session while a profiled process is blocked because its stack is being copied. */
static void close_below_a_sleeper(struct __test_metadata *_metadata, bool in_file)
{
	int told[2], asked[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(told));
	ASSERT_EQ(0, pipe(asked));
	pid = fork();
	if (!pid)
		_exit(be_user_and_close_below_a_sleeper(told[1], asked[0], in_file));
	close(told[1]);
	EXPECT_EQ(1, read(told[0], &byte, 1));
	EXPECT_EQ(0, rings());
	EXPECT_EQ(1, write(asked[1], "", 1));
	EXPECT_EQ(0, exit_status(pid));
}

TEST_F_TIMEOUT(memory, of_the_ring_goes_with_close, 60)
{
	ASSERT_EQ(0, allow_userfaultfd(1));
	close_below_a_sleeper(_metadata, false);
	allow_userfaultfd(0);
}

TEST_F_TIMEOUT(memory, of_the_ring_goes_with_close_below_a_file, 60)
{
	if (!never_read_available())
		SKIP(return, "this kernel has no FUSE");
	close_below_a_sleeper(_metadata, true);
}

/*
 * Returns a page registered with a userfaultfd, so that the first access to the page blocks: with
 * UFFDIO_REGISTER_MODE_MISSING any access, with UFFDIO_REGISTER_MODE_WP only a write.
 */
static void *page_that_waits(uint64_t mode)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register reg = { .range = { (uintptr_t)page, PAGE }, .mode = mode };
	struct uffdio_writeprotect protect = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	if (mode == UFFDIO_REGISTER_MODE_WP)
		*(struct massif_setup *)page = (struct massif_setup){
			.size = sizeof(struct massif_setup),
			.abi = MASSIF_ABI,
			.ring_bytes = MASSIF_RING_MIN,
		};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return NULL;
	if (mode == UFFDIO_REGISTER_MODE_WP && ioctl(fd, UFFDIO_WRITEPROTECT, &protect))
		return NULL;
	return page;
}

/*
 * Runs as an unprivileged user. Calls SETUP with an argument on a page that is controlled by userfaultfd. The call
 * blocks until the page is provided or becomes writable, and neither ever happens.
 */
static void set_up_with(uint64_t mode)
{
	void *page;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kmod_session_be_user())
		_exit(1);
	page = page_that_waits(mode);
	fd = open(MASSIF_DEVICE, O_RDWR);
	if (!page || fd < 0)
		_exit(2);
	ioctl(fd, MASSIF_IOC_SETUP, page);
	_exit(3);
}

/* Waits until the process is sleeping in an ioctl. Returns false if this does not happen. */
static bool waits_in_ioctl(pid_t pid)
{
	char path[64], state = 0;
	long number = -1;
	FILE *file;

	for (int i = 0; i < 2000; i++) {
		usleep(10000);
		snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
		file = fopen(path, "r");
		if (!file)
			return false;
		if (fscanf(file, "%ld", &number) != 1)
			number = -1;
		fclose(file);
		state = process_state(pid);
		if (number == SYS_ioctl && (state == 'S' || state == 'D'))
			return true;
	}
	return false;
}

/*
 * A process calls SETUP with an argument in a page that userfaultfd never provides or never makes writable. While it is
 * blocked in the module, it blocks no other process, and it can be killed.
 */
TEST_F_TIMEOUT(memory, that_is_not_there_is_waited_for_alone, 60)
{
	static const uint64_t modes[] = { UFFDIO_REGISTER_MODE_MISSING, UFFDIO_REGISTER_MODE_WP };
	pid_t waiters[2], other;
	int status;

	ASSERT_EQ(0, allow_userfaultfd(1));
	for (size_t i = 0; i < 2; i++) {
		waiters[i] = fork();
		if (!waiters[i])
			set_up_with(modes[i]);
	}
	for (size_t i = 0; i < 2; i++) {
		EXPECT_TRUE(waits_in_ioctl(waiters[i])) {
			TH_LOG("waiter %zu", i);
		}
	}
	other = fork();
	if (!other) {
		struct kmod_session session;

		alarm(10);
		if (kmod_session_be_user() || kmod_session_open(&session, RING, 4096))
			_exit(1);
		kmod_session_close(&session);
		_exit(0);
	}
	EXPECT_EQ(0, exit_status(other));
	for (size_t i = 0; i < 2; i++) {
		EXPECT_EQ(0, waitpid(waiters[i], NULL, WNOHANG));
		kill(waiters[i], SIGKILL);
		EXPECT_EQ(waiters[i], waitpid(waiters[i], &status, 0));
	}
	allow_userfaultfd(0);
}

static long read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long number = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static bool write_words(const char *path, const char *words)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, words, strlen(words)) == (ssize_t)strlen(words);

	if (fd >= 0)
		close(fd);
	return ok;
}

/*
 * Runs in a cgroup, as a user: SETUP charges the size of the ring to the cgroup's memory, and the ring can be mapped
 * and read. Returns 0, or the number of the step that failed.
 */
static int set_up_in(const char *cgroup)
{
	struct kmod_session session = { 0 };
	char path[PATH_MAX + 16];
	long before;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	if (!write_words(path, "0") || kmod_session_be_user())
		return 1;
	snprintf(path, sizeof(path), "%s/memory.current", cgroup);
	before = read_number(path);
	session.fd = set_up(4 * RING);
	if (before < 0 || session.fd < 0)
		return 2;
	/* The cgroup's counter is inexact, because each processor holds a reserve of charged pages. */
	if (read_number(path) - before < (long)(3 * RING))
		return 3;
	if (kmod_session_map(&session, 4 * RING))
		return 4;
	return session.control->data_bytes == 4 * RING && !session.data[4 * RING - 1] ? 0 : 5;
}

/* If root limits the memory of a cgroup, the rings of the cgroup's processes count toward the limit. */
TEST_F(memory, is_the_cgroups)
{
	char root[256], path[PATH_MAX];
	pid_t pid;

	snprintf(root, sizeof(root), "%.200s/cgroup", getenv("TMPDIR") ?: "/tmp");
	mkdir(root, 0755);
	if (mount("none", root, "cgroup2", 0, NULL))
		SKIP(return, "this kernel has no cgroups");
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	if (!write_words(path, "+memory")) {
		umount(root);
		SKIP(return, "this kernel has no cgroups of memory");
	}
	snprintf(path, sizeof(path), "%s/massif", root);
	ASSERT_EQ(0, mkdir(path, 0755));
	pid = fork();
	if (!pid)
		_exit(set_up_in(path));
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, rmdir(path));
	EXPECT_EQ(0, umount(root));
}

#define SESSIONS 300

/* Starts a process that enrols itself in the session that the descriptor @fd refers to, and then sleeps. */
static pid_t start_member(int fd)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };
	int told[2];
	char byte;
	pid_t pid;

	if (pipe2(told, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ioctl(fd, MASSIF_IOC_ENROL, &enrol) || write(told[1], "", 1) != 1)
			_exit(1);
		close_range(3, ~0u, 0);
		for (;;)
			pause();
	}
	close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		pid = -1;
	close(told[0]);
	return pid;
}

/*
 * Runs as an unprivileged user. Opens as many sessions as the locked-memory limit allows, with one profiled process
 * each, closes them all, and then opens the same number again. If closing the first sessions did not release all their
 * memory, the second round fails. Returns 0, or the number of the step that failed.
 */
static int have_many_sessions(void)
{
	const unsigned long pages = SESSIONS * (2 + MASSIF_RING_MIN / PAGE + KNOWN / PAGE);
	static pid_t members[SESSIONS];
	static int fds[SESSIONS];

	if (lock_at_most(pages) || be_user())
		return 1;
	for (int i = 0; i < SESSIONS; i++) {
		fds[i] = set_up(MASSIF_RING_MIN);
		if (fds[i] < 0)
			return 2;
		members[i] = start_member(fds[i]);
		if (members[i] < 0)
			return 3;
	}
	if (set_up(MASSIF_RING_MIN) != -EDQUOT)
		return 4;
	for (int i = 0; i < SESSIONS; i++)
		close(fds[i]);
	for (int i = 0; i < SESSIONS; i++) {
		if (waitpid(members[i], NULL, WNOHANG))
			return 5;
		kill(members[i], SIGKILL);
		waitpid(members[i], NULL, 0);
	}
	for (int i = 0; i < SESSIONS; i++)
		if (set_up(MASSIF_RING_MIN) < 0)
			return 6;
	return 0;
}

TEST_F_TIMEOUT(memory, of_hundreds_of_sessions, 200)
{
	pid_t pid = fork();

	if (!pid)
		_exit(have_many_sessions());
	EXPECT_EQ(0, exit_status(pid));
}

/*
 * The number of targets that a test creates, unless the environment variable MASSIF_TARGETS is set. With 10,000 targets
 * the guest needs 3 GB of memory.
 */
#define TARGETS	1200

/* A profiled process that forks as many children as requested. */
static int fork_sleepers(void *arg)
{
	int *asked = arg, count;

	signal(SIGCHLD, SIG_IGN);
	while (read(*asked, &count, sizeof(count)) == sizeof(count))
		while (count--)
			if (!fork())
				for (;;)
					pause();
	kill(0, SIGKILL);
	return 0;
}

/* Returns how long a poll() takes, in seconds: the minimum of several measurements. */
static double time_of_poll(int fd)
{
	struct pollfd what = { fd, POLLIN, 0 };
	double shortest = 1e9;

	for (int i = 0; i < 20; i++) {
		struct timespec begin, end;
		double took;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		poll(&what, 1, 0);
		clock_gettime(CLOCK_MONOTONIC, &end);
		took = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9;
		if (took < shortest)
			shortest = took;
	}
	return shortest;
}

static void until_targets(struct __test_metadata *_metadata, struct kmod_session *session, unsigned int count)
{
	struct massif_status status = {};

	for (int i = 0; i < 6000 && status.targets < count; i++) {
		usleep(10000);
		ASSERT_EQ(0, kmod_session_status(session, &status));
	}
	ASSERT_EQ(count, status.targets);
}

/*
 * A walk over all targets disables interrupts only for one step at a time. The time per step does not grow with the
 * number of targets.
 */
TEST_F_TIMEOUT(memory, many_targets_take_their_time_once, 600)
{
	const char *wanted = getenv("MASSIF_TARGETS");
	const int all = wanted ? atoi(wanted) : TARGETS, quarter = all / 4;
	int few = quarter - 1, more = all - quarter, asked[2];
	struct kmod_session session;
	double time_few, time_many;
	pid_t pid;

	ASSERT_EQ(0, pipe(asked));
	ASSERT_EQ(0, kmod_session_open(&session, 64 << 20, 0));
	pid = fork();
	if (!pid) {
		struct massif_enrol enrol = { .size = sizeof(enrol) };

		setpgid(0, 0);
		close(asked[1]);
		_exit(ioctl(session.fd, MASSIF_IOC_ENROL, &enrol) || close(session.fd) ||
		      fork_sleepers(&asked[0]));
	}
	close(asked[0]);
	ASSERT_EQ(sizeof(few), write(asked[1], &few, sizeof(few)));
	until_targets(_metadata, &session, (unsigned int)quarter);
	time_few = time_of_poll(session.fd);
	ASSERT_EQ(sizeof(more), write(asked[1], &more, sizeof(more)));
	until_targets(_metadata, &session, (unsigned int)all);
	time_many = time_of_poll(session.fd);
	/* On a busy machine, all measurements of one round can be disturbed. */
	for (int i = 0; i < 10 && 9 * time_few <= time_many; i++) {
		double again;

		sleep(1);
		again = time_of_poll(session.fd);
		time_many = again < time_many ? again : time_many;
	}
	fprintf(stderr, "# a poll takes %.2f ms with %d targets, %.2f ms with %d\n", time_few * 1e3, quarter,
		time_many * 1e3, all);
	/*
	 * The second measurement has four times as many targets as the first, so a quadratic algorithm would take 16
	 * times as long.
	 */
	EXPECT_GT(9 * time_few, time_many);
	close(asked[1]);
	waitpid(pid, NULL, 0);
	kmod_session_close(&session);
}

TEST_HARNESS_MAIN
