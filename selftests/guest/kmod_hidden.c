// SPDX-License-Identifier: GPL-2.0
// Tests what happens when profiled processes leave a session, either because it may no longer observe them or because
// root has attached to them. Many processes leave at once, and some share an address space.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(4 << 20)
#define PAGE	4096ul

/*
 * CROWD is the number of profiled processes that share one address space. HIDDEN is the number of profiled processes
 * that have an address space of their own and that the user of the session later loses permission to profile.
 */
#define CROWD	4000
#define HIDDEN	200

/* Returns the number of profiled processes that share one address space: CROWD, or fewer on slow kernels. */
static unsigned int crowd_size(void)
{
	return CROWD / (patience() ?: 1);
}

/* An empty fixture. It exists because only tests with a fixture can have a time limit of their own. */
FIXTURE(hidden)
{
};

FIXTURE_SETUP(hidden)
{
}

FIXTURE_TEARDOWN(hidden)
{
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Makes the calling process non-dumpable, so the session may no longer observe it. Then maps a page, so that the module
 * notices the change.
 */
static void be_hidden(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void say(int pipe)
{
	if (write(pipe, "", 1) != 1)
		_exit(9);
}

static bool hear(int pipe, int times)
{
	char byte;

	for (int i = 0; i < times; i++)
		if (read(pipe, &byte, 1) != 1)
			return false;
	return true;
}

/* Counts of the records that were read. */
struct seen {
	unsigned int ends[8];	/* number of END records, by reason */
	unsigned int exits, ends_after_exit, execs, forks;
};

static int note(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_end *ended = (const void *)rec;
	struct seen *seen = arg;

	switch (rec->type) {
	case MASSIF_REC_FORK:
		seen->forks++;
		break;
	case MASSIF_REC_EXEC:
		seen->execs++;
		break;
	case MASSIF_REC_EXIT:
		seen->exits++;
		break;
	case MASSIF_REC_END:
		seen->ends[ended->reason & 7]++;
		seen->ends_after_exit += seen->exits;
		break;
	}
	return 0;
}

/*
 * Reads all records in the ring. Does not call poll(), because in poll() the module would remove the processes that
 * the session may no longer observe.
 */
static void read_all(struct kmod_session *session, struct seen *seen)
{
	const struct massif_record *rec;

	while ((rec = kmod_session_next(session)))
		note(rec, seen);
	kmod_session_release(session);
}

static int execute(void *arg)
{
	int *go = arg;

	if (!hear(go[0], 1))
		_exit(1);
	execl("/bin/true", "true", NULL);
	_exit(2);
}

/*
 * Runs in a profiled process. Creates a process that shares this process's address space, makes both non-dumpable, so
 * that the session may no longer observe them, and then lets the new process call exec.
 */
static void share_and_hide(int told)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	int go[2];
	pid_t child;

	if (pipe(go))
		_exit(1);
	child = clone(execute, stack + sizeof(stack), CLONE_VM | SIGCHLD, go);
	be_hidden();
	say(go[1]);
	if (child < 0 || exit_status(child))
		_exit(2);
	say(told);
	for (;;)
		pause();
}

/* Runs in an unprivileged process. Returns 0, or the number of the check that failed. */
static int watch_exec(void)
{
	struct kmod_session session;
	struct seen seen = { 0 };
	int told[2];
	pid_t pid;

	if (kmod_session_be_user() || kmod_session_open(&session, RING, 0) || pipe(told))
		return 20;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (kmod_session_enrol(session.fd))
			_exit(3);
		share_and_hide(told[1]);
	}
	close(told[1]);
	if (!hear(told[0], 1))
		return 21;
	read_all(&session, &seen);
	/* The profiled process also has the session's file open, so the session lasts until that process ends. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (seen.forks != 1)
		return 22;
	if (seen.execs)
		return 23;
	return seen.ends[MASSIF_END_HIDDEN] == 1 ? 0 : 24;
}

/*
 * Two processes share an address space, which then becomes non-dumpable, so the session may no longer observe it. If
 * one of the two processes later calls exec, the session must not follow it into its new address space.
 */
TEST(what_is_hidden_executes_unseen)
{
	pid_t pid = fork();

	if (!pid)
		_exit(watch_exec());
	EXPECT_EQ(0, exit_status(pid));
}

static int stay(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

/* Creates @count processes that share the caller's address space and process group. */
static bool add_crowd(unsigned int count)
{
	const size_t bytes = 8192;
	char *stacks = mmap(NULL, (count + 1) * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stacks == MAP_FAILED)
		return false;
	for (unsigned int i = 1; i <= count; i++)
		if (clone(stay, stacks + i * bytes, CLONE_VM | SIGCHLD, NULL) < 0)
			return false;
	return true;
}

/*
 * Runs in a profiled process. Creates @crowd processes that share the profiled process's address space, and @hidden
 * children with address spaces of their own. When the write end of @go is closed, these children become non-dumpable,
 * so that the session may no longer observe them.
 */
static void lead(unsigned int crowd, unsigned int hidden, int told, const int go[2])
{
	char byte;

	/* Close the write end before creating any process, because each would inherit it and hold it open. */
	close(go[1]);
	if (!add_crowd(crowd))
		_exit(4);
	for (unsigned int i = 0; i < hidden; i++) {
		pid_t pid = fork();

		if (pid < 0)
			_exit(5);
		if (pid)
			continue;
		if (read(go[0], &byte, 1))
			_exit(6);
		be_hidden();
		say(told);
		stay(NULL);
	}
	say(told);
	stay(NULL);
}

/* Starts a profiled process in a process group of its own. The process calls lead(), which creates more processes. */
static pid_t start(struct kmod_session *session, unsigned int crowd, unsigned int hidden, const int told[2],
		   const int go[2])
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		if (kmod_session_enrol(session->fd))
			_exit(3);
		/*
		 * Close the session's descriptor here; otherwise the session would last until the profiled process and
		 * all its children have ended.
		 */
		close(session->fd);
		lead(crowd, hidden, told[1], go);
	}
	setpgid(pid, pid);
	return pid;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* Memory that the unprivileged process shares with the test. */
struct shared {
	double us;
	pid_t pid;
};

/*
 * Runs in an unprivileged process. Measures how long poll() on the session takes when the module must stop following
 * HIDDEN processes that the session may no longer observe. These processes were created after @crowd other profiled
 * processes.
 */
static int time_leaving(unsigned int crowd, struct shared *shared)
{
	struct kmod_session session;
	struct seen seen = { 0 };
	struct pollfd polled;
	int told[2], go[2], err = 0;
	pid_t pid;

	if (kmod_session_be_user() || kmod_session_open(&session, RING, 0) || pipe(told) || pipe(go))
		return 20;
	pid = start(&session, crowd, HIDDEN, told, go);
	close(told[1]);
	if (!hear(told[0], 1))
		err = 21;
	read_all(&session, &seen);
	close(go[1]);
	if (!err && !hear(told[0], HIDDEN))
		err = 22;
	polled = (struct pollfd){ .fd = session.fd, .events = POLLIN };
	shared->us = now();
	poll(&polled, 1, 0);
	shared->us = now() - shared->us;
	read_all(&session, &seen);
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (err)
		return err;
	if (seen.forks != crowd + HIDDEN)
		return 23;
	return seen.ends[MASSIF_END_HIDDEN] == HIDDEN ? 0 : 24;
}

static double least_of(struct __test_metadata *_metadata, unsigned int crowd, struct shared *shared)
{
	double least = 1e9;

	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(time_leaving(crowd, shared));
		EXPECT_EQ(0, exit_status(pid));
		if (shared->us < least)
			least = shared->us;
	}
	return least;
}

static struct shared *share(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/*
 * When a session is no longer permitted to observe some processes, the module removes them from it. The time that this
 * takes must not depend on how many other processes the session has.
 */
TEST_F_TIMEOUT(hidden, many_that_are_hidden_leave_in_linear_time, 240)
{
	struct shared *shared = share();
	double alone, behind;

	ASSERT_NE(MAP_FAILED, shared);
	alone = least_of(_metadata, 0, shared);
	behind = least_of(_metadata, crowd_size(), shared);
	/* On a busy machine, all three runs may have been interrupted. */
	for (int i = 0; i < 3 && behind >= 5 * alone; i++) {
		double again = least_of(_metadata, crowd_size(), shared);

		behind = again < behind ? again : behind;
	}
	TH_LOG("%d leave in %.0f us, behind %u others in %.0f us", HIDDEN, alone, crowd_size(), behind);
	/*
	 * An earlier version of the module searched all processes of the session for each process that it removed. In
	 * that version, 2000 other processes made the removal 9 times slower.
	 */
	EXPECT_LT(behind, 5 * alone);
	munmap(shared, PAGE);
}

/*
 * Runs in an unprivileged process. When it has written to @ready, root tries to attach to that process's children in
 * vain, and writes to @tried. When this process has written to @ready again, root attaches to its children, which then
 * belong to root's session, and writes to @tried when ATTACH has returned: until then they must live.
 */
static int lose_crowd(struct shared *shared, int ready, int tried)
{
	struct kmod_session session;
	struct seen seen = { 0 };
	int told[2], go[2];
	pid_t pid;

	if (kmod_session_be_user() || kmod_session_open(&session, RING, 0) || pipe(told) || pipe(go))
		return 20;
	pid = start(&session, crowd_size(), 0, told, go);
	close(told[1]);
	if (!hear(told[0], 1))
		return 21;
	shared->pid = pid;
	say(ready);
	/* Root's first attempt, for which its ring has no room, must not take any process out of this session. */
	if (!hear(tried, 1))
		return 25;
	read_all(&session, &seen);
	if (seen.ends[MASSIF_END_TAKEN] || seen.exits)
		return 26;
	say(ready);
	if (kmod_session_drain(&session, 60000, note, &seen))
		return 22;
	if (!hear(tried, 1))
		return 27;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (seen.forks != crowd_size() || seen.ends[MASSIF_END_TAKEN] != crowd_size() + 1)
		return 23;
	return seen.exits == 1 && !seen.ends_after_exit ? 0 : 24;
}

static void take_crowd(struct __test_metadata *_metadata)
{
	struct shared *shared = share();
	struct kmod_session session;
	int ready[2], tried[2];
	pid_t pid;

	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, kmod_session_open(&session, RING, 0));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(tried));
	pid = fork();
	if (!pid)
		_exit(lose_crowd(shared, ready[1], tried[0]));
	close(ready[1]);
	close(tried[0]);
	ASSERT_TRUE(hear(ready[0], 1));
	/* The module treats a ring with an invalid tail as full. */
	session.consumer->tail = 1;
	EXPECT_EQ(-ENOSPC, kmod_session_attach(session.fd, shared->pid));
	session.consumer->tail = 0;
	say(tried[1]);
	ASSERT_TRUE(hear(ready[0], 1));
	EXPECT_EQ(0, kmod_session_attach(session.fd, shared->pid));
	say(tried[1]);
	EXPECT_EQ(0, exit_status(pid));
	kmod_session_close(&session);
	munmap(shared, PAGE);
}

TEST_F_TIMEOUT(hidden, root_takes_an_address_space_of_many, 120)
{
	take_crowd(_metadata);
}

/* True if the process has begun to exit: its flags in /proc/PID/stat include PF_EXITING. */
static bool is_exiting(pid_t pid)
{
	char path[64], text[512] = "", *fields;
	unsigned int flags = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return true;
	fields = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	return !fields || sscanf(fields, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 || flags & 4;
}

/*
 * Runs in an unprivileged process. The session's only member becomes hidden and exits. poll() is called only when it has
 * begun to exit, because otherwise poll() would remove it. Adds to @hidden whether it was removed because it was hidden: to
 * read its flags keeps its address space for a moment, and if that is the last use of it, the exit is noticed first.
 */
static int read_what_exits(unsigned int *hidden)
{
	struct kmod_session session;
	struct seen seen = { 0 };
	pid_t pid;

	if (kmod_session_open(&session, RING, 0))
		return 20;
	pid = fork();
	if (!pid) {
		if (kmod_session_enrol(session.fd))
			_exit(1);
		close(session.fd);
		be_hidden();
		_exit(0);
	}
	while (!is_exiting(pid))
		sched_yield();
	if (kmod_session_drain(&session, 20000, note, &seen))
		return 21;
	kmod_session_close(&session);
	if (exit_status(pid) || seen.ends[MASSIF_END_HIDDEN] + seen.ends[MASSIF_END_EXIT] != 1)
		return 22;
	*hidden += seen.ends[MASSIF_END_HIDDEN];
	return seen.exits == 1 ? 0 : 23;
}

static int read_what_exits_often(void)
{
	int err = kmod_session_be_user() ? 24 : 0;
	unsigned int hidden = 0;

	/* Whether a process leaves because it is hidden depends on when it is looked at. */
	for (int i = 0; i < (hidden ? 10 : 60) && !err; i++)
		err = read_what_exits(&hidden);
	return err || hidden ? err : 25;
}

/* Loads a test module that delays the last record of a target, and each removal of a target. */
FIXTURE(slow)
{
};

FIXTURE_SETUP(slow)
{
	ASSERT_EQ(0, kmod_module_load_own("massif_slow"));
}

FIXTURE_TEARDOWN(slow)
{
	kmod_module_unload_soon("massif_slow");
}

/*
 * POLLHUP tells the consumer to read the ring to its end once more, and to stop. So it must not come before the last
 * record of the last target, although the target leaves the module's tables first.
 */
TEST_F_TIMEOUT(slow, no_record_follows_the_hangup, 120)
{
	pid_t pid = fork();

	if (!pid)
		_exit(read_what_exits_often());
	EXPECT_EQ(0, exit_status(pid));
}

/* The same, if root takes the session's only member. */
TEST_F_TIMEOUT(slow, no_record_follows_the_hangup_of_what_is_taken, 120)
{
	take_crowd(_metadata);
}

TEST_HARNESS_MAIN
