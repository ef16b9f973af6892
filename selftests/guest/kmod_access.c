// SPDX-License-Identifier: GPL-2.0
// Tests that permission to profile a process is checked throughout a session: when the process enrols, and whenever its
// credentials change.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"

#define RING	(1 << 20)
#define STACK	4096
#define USER	1000
#define PAGE	4096ul

/*
 * Lengths of the mappings that this test makes. No other mapping of the process has such a length, so the test
 * recognises the records of its own mappings by length.
 */
#define BEFORE	(101 * PAGE)
#define AFTER	(102 * PAGE)
#define BACK	(103 * PAGE)
#define CHILDS	(104 * PAGE)

/* Limit on user namespaces in the test attach_without_room_keeps_nothing. */
#define NAMESPACES	10
#define NAMESPACES_TEXT	"10"

static void map(size_t bytes)
{
	mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int be_user(void)
{
	return kmod_session_allow() || setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
	       prctl(PR_SET_DUMPABLE, 1);
}

/* Drops the capability that gives access to all processes, and keeps all others. */
static int be_root_without_ptrace(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -1;
	data[0].effective &= ~(1U << CAP_SYS_PTRACE);
	data[0].permitted &= ~(1U << CAP_SYS_PTRACE);
	return syscall(SYS_capset, &header, data);
}

static int stop_being_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0);
}

static int change_user(void)
{
	return kmod_session_allow() || setresuid(USER, USER, USER) || prctl(PR_SET_DUMPABLE, 1);
}

static int change_saved_group(void)
{
	return setresgid(-1, -1, USER) || prctl(PR_SET_DUMPABLE, 1);
}

static int enter_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int enter_namespace_undumpable(void)
{
	return unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 0);
}

static int change_nothing(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

/*
 * A change that a profiled process makes, and whether the change ends the permission to profile the process. The module
 * must make the same decision as ptrace.
 */
static const struct change {
	const char *name;
	int (*be_opener)(void);
	int (*run)(void);
	bool hides;
} changes[] = {
	{ "nothing", be_user, change_nothing, false },
	{ "not dumpable", be_user, stop_being_dumpable, true },
	/* The creator of a user namespace has all capabilities in it, but none over the program that it executes. */
	{ "a namespace of its own", be_user, enter_namespace, false },
	{ "a namespace of its own, not dumpable", be_user, enter_namespace_undumpable, true },
	{ "another user", be_root_without_ptrace, change_user, true },
	{ "another saved group", be_root_without_ptrace, change_saved_group, true },
};

/*
 * Runs in the profiled process. Maps memory, changes its own privileges with @change->run(), and maps memory again.
 * After each step, it writes a byte to @told and waits for a byte from @asked.
 */
static void change_and_map(const struct change *change, int told, int asked)
{
	char byte;

	map(BEFORE);
	if (change->run())
		_exit(1);
	map(AFTER);
	if (!fork()) {
		map(CHILDS);
		_exit(0);
	}
	wait(NULL);
	if (write(told, "", 1) != 1 || read(asked, &byte, 1) != 1)
		_exit(2);
	/* The profiled process becomes dumpable again, but a hidden process is never followed again. */
	prctl(PR_SET_DUMPABLE, 1);
	map(BACK);
	if (write(told, "", 1) != 1)
		_exit(3);
	for (;;)
		pause();
}

/*
 * What the test has read from the session's records: whether mappings of the lengths BEFORE, AFTER, BACK and CHILDS
 * were made; how many times a process forked or exited; and how many times a process left the session because the
 * session was no longer allowed to observe it.
 */
struct seen {
	bool before, after, back, childs;
	unsigned int forks, hidden, exits;
	bool exit_tells;
	uint32_t target;
};

static int note(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_map *mapped = (const void *)rec;
	const struct massif_rec_end *ended = (const void *)rec;
	struct seen *seen = arg;

	switch (rec->type) {
	case MASSIF_REC_ENROL:
		seen->target = rec->target;
		break;
	case MASSIF_REC_MAP:
		seen->before |= mapped->len == BEFORE;
		seen->after |= mapped->len == AFTER;
		seen->back |= mapped->len == BACK;
		seen->childs |= mapped->len == CHILDS;
		break;
	case MASSIF_REC_FORK:
		seen->forks++;
		break;
	case MASSIF_REC_END:
		seen->hidden += ended->reason == MASSIF_END_HIDDEN;
		break;
	case MASSIF_REC_EXIT:
		seen->exits += rec->target == seen->target;
		seen->exit_tells |= rec->target == seen->target &&
				    (rec->total_vm || !(rec->flags & MASSIF_RF_NO_TOTAL));
		break;
	}
	return 0;
}

static bool ptrace_refuses(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return errno == EPERM;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, &status, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return false;
}

/* Runs in a process that opens the device as the given user. Returns 0, or the number of the check that failed. */
static int watch(const struct change *change)
{
	struct kmod_session session;
	struct seen seen = { 0 };
	int told[2], asked[2];
	char byte;
	pid_t pid;

	if (change->be_opener() || pipe(told) || pipe(asked) ||
	    kmod_session_open(&session, RING, STACK))
		return 20;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (kmod_session_enrol(session.fd))
			_exit(4);
		close(session.fd);
		change_and_map(change, told[1], asked[0]);
	}
	close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		return 21;
	if (ptrace_refuses(pid) != change->hides)
		return 22;
	if (write(asked[1], "", 1) != 1 || read(told[0], &byte, 1) != 1)
		return 23;
	if (!change->hides)
		end(pid);
	/*
	 * The session no longer follows any process: the profiled process has either ended, or been hidden from the
	 * session's owner because its privileges or dumpability changed. A hidden process is still running.
	 */
	if (kmod_session_drain(&session, 20000, note, &seen))
		return 24;
	if (change->hides)
		end(pid);
	kmod_session_close(&session);
	if (!seen.before)
		return 25;
	if (seen.after == change->hides || seen.back == change->hides || seen.childs == change->hides)
		return 26;
	if (seen.forks != !change->hides || seen.hidden != change->hides)
		return 27;
	if (seen.exits != 1 || seen.exit_tells == change->hides)
		return 28;
	return 0;
}

FIXTURE(access) {
};

FIXTURE_SETUP(access)
{
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
}

FIXTURE_TEARDOWN(access)
{
	chmod(MASSIF_DEVICE, 0660);
}

TEST_F_TIMEOUT(access, nothing_is_told_of_a_member_that_may_not_be_looked_at, 120)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(watch(&changes[i]));
		EXPECT_EQ(0, exit_status(pid)) {
			TH_LOG("%s", changes[i].name);
		}
	}
}

struct told {
	unsigned int mappings;
	struct seen seen;
};

static int count_mappings(const struct massif_record *rec, void *arg)
{
	struct told *told = arg;

	told->mappings += rec->type == MASSIF_REC_VMA;
	return note(rec, &told->seen);
}

/*
 * Enrols a process that uses this process's address space, and ends. Then the session follows the address space, but no
 * process that uses it.
 */
static int enrol_passing_process(int fd)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(kmod_session_enrol(fd) ? 1 : 0);
	return exit_status(pid);
}

/*
 * Runs a test in which the profiled process makes @change and then stays idle, while the consumer requests a resync.
 * @enrol makes the session follow the address space of the process, and @member says whether the process is a member.
 */
static int ask_again(const struct change *change, int (*enrol)(int fd), bool member)
{
	struct massif_resync resync = { .size = sizeof(resync), .flags = MASSIF_RESYNC_ALL };
	struct told told = { 0 };
	const struct massif_record *rec;
	struct kmod_session session;
	int ready[2];
	char byte;
	pid_t pid;

	if (change->be_opener() || pipe(ready) || kmod_session_open(&session, RING, STACK))
		return 30;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (enrol(session.fd))
			_exit(1);
		close(session.fd);
		if (change->run() || write(ready[1], "", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return 31;
	while ((rec = kmod_session_next(&session)))
		note(rec, &told.seen);
	kmod_session_release(&session);
	if (ioctl(session.fd, MASSIF_IOC_RESYNC, &resync) || resync.remaining)
		return 32;
	if (!change->hides)
		end(pid);
	if (kmod_session_drain(&session, 20000, count_mappings, &told))
		return 33;
	if (change->hides)
		end(pid);
	kmod_session_close(&session);
	if (!told.mappings != change->hides)
		return 34;
	return told.seen.hidden == (member && change->hides) && told.seen.exits == 1 ? 0 : 35;
}

static void ask_after_each_change(struct __test_metadata *_metadata, int (*enrol)(int fd), bool member)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(ask_again(&changes[i], enrol, member));
		EXPECT_EQ(0, exit_status(pid)) {
			TH_LOG("%s", changes[i].name);
		}
	}
}

TEST_F_TIMEOUT(access, a_resync_tells_nothing_of_a_member_that_may_not_be_looked_at, 120)
{
	ask_after_each_change(_metadata, kmod_session_enrol, true);
}

TEST_F_TIMEOUT(access, a_resync_tells_nothing_of_an_address_space_that_only_others_use, 120)
{
	ask_after_each_change(_metadata, enrol_passing_process, false);
}

/*
 * A process with more privileges than the process that opened /dev/massif is not profiled, even if it enrols itself in
 * the session (MASSIF_IOC_ENROL).
 */
static int enrol_with_more_rights(bool namespace, bool capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .permitted = 1U << CAP_SYS_ADMIN } };
	int ends[2], fd;
	char byte;
	pid_t opener;

	if (pipe(ends))
		return 90;
	/* The opener shares this process's descriptors and drops its own privileges. */
	opener = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!opener) {
		struct kmod_session session;

		if (be_user() || (namespace && (unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1))) ||
		    kmod_session_open(&session, RING, STACK) ||
		    write(ends[1], &session.fd, sizeof(session.fd)) != sizeof(session.fd))
			_exit(1);
		if (read(ends[0], &byte, 0))
			_exit(2);
		for (;;)
			pause();
	}
	if (read(ends[0], &fd, sizeof(fd)) != sizeof(fd))
		return 91;
	if (capability && prctl(PR_SET_KEEPCAPS, 1))
		return 92;
	if (be_user() || (capability && (syscall(SYS_capset, &header, data) || prctl(PR_SET_DUMPABLE, 1))))
		return 93;
	return -kmod_session_enrol(fd);
}

TEST_F_TIMEOUT(access, a_member_has_no_more_rights_than_the_opener, 60)
{
	static const struct {
		bool namespace, capability;
		int expected;
	} rows[] = {
		{ false, false, 0 }, { false, true, EPERM }, { true, false, EPERM },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid = fork();

		if (!pid) {
			setpgid(0, 0);
			_exit(enrol_with_more_rights(rows[i].namespace, rows[i].capability));
		}
		EXPECT_EQ(rows[i].expected, exit_status(pid)) {
			TH_LOG("row %zu", i);
		}
		kill(-pid, SIGKILL);
	}
}

static int end_reason(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_end *ended = (const void *)rec;

	if (rec->type == MASSIF_REC_END)
		*(uint32_t *)arg = ended->reason;
	return 0;
}

/* Runs in a process that opens its own session, enrols itself in it, and keeps the session open. */
static void enrol_first(int ready, int asked)
{
	struct kmod_session session;
	uint32_t reason = 0;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (be_user() || kmod_session_open(&session, RING, STACK) || kmod_session_enrol(session.fd) ||
	    write(ready, "", 1) != 1 || read(asked, &byte, 1) != 1)
		_exit(1);
	if (kmod_session_drain(&session, 20000, end_reason, &reason))
		_exit(2);
	if (reason != MASSIF_END_TAKEN)
		_exit(3);
	if (kmod_session_enrol(session.fd) != -EBUSY)
		_exit(4);
	map(AFTER);
	_exit(kmod_session_next(&session) ? 5 : 0);
}

/*
 * Root can attach to a process that has enrolled itself; otherwise a process could avoid being profiled by
 * enrolling first.
 */
TEST_F_TIMEOUT(access, root_attaches_to_what_has_enrolled_itself, 60)
{
	struct kmod_session session, second;
	struct kmod_model model;
	int ready[2], asked[2];
	struct seen seen = { 0 };
	char byte;
	pid_t pid;

	kmod_model_init(&model);
	ASSERT_EQ(0, kmod_session_open(&session, RING, STACK));
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(asked, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		close(session.fd);
		close(second.fd);
		enrol_first(ready[1], asked[0]);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(0, kmod_session_attach(session.fd, pid));
	/* If two sessions are both permitted to profile a process, the process stays with the first. */
	EXPECT_EQ(-EBUSY, kmod_session_attach(second.fd, pid));
	ASSERT_EQ(1, write(asked[1], "", 1));
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, kmod_session_drain(&session, 20000, note, &seen));
	EXPECT_TRUE(seen.after);
	kmod_session_close(&session);
	kmod_session_close(&second);
	kmod_model_destroy(&model);
}

static bool fill(struct kmod_session *session)
{
	/* The module treats a ring with an invalid tail as full. */
	session->consumer->tail = 1;
	return kmod_session_attach(session->fd, getpid()) == -ENOSPC;
}

/*
 * Creates a user namespace and attaches to this process. The namespace exists as long as the process's credentials do.
 */
static int attach_without_room(void)
{
	struct kmod_session session;
	int tries = 0;

	/*
	 * Each call of this function creates a user namespace in a new process. The kernel does not release a namespace
	 * until some time after its process has ended, so creating one may fail for a while because the limit on user
	 * namespaces has been reached.
	 */
	while (unshare(CLONE_NEWUSER)) {
		if (errno != ENOSPC || ++tries == 100)
			return 1;
		usleep(50000);
	}
	if (prctl(PR_SET_DUMPABLE, 1) || kmod_session_open(&session, RING, STACK))
		return 2;
	if (!fill(&session))
		return 3;
	/* ATTACH failed with ENOSPC because the ring was full, so nothing is counted as lost. */
	return session.control->lost ? 4 : 0;
}

static int attach_often(void)
{
	for (int i = 0; i < 3 * NAMESPACES; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(attach_without_room());
		status = exit_status(pid);
		if (status)
			return status;
	}
	return 0;
}

static bool limit_namespaces(const char *limit)
{
	int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
	ssize_t length = strlen(limit), written = write(fd, limit, length);

	close(fd);
	return written == length;
}

/*
 * If attaching fails because the ring is full, the module must not keep a reference to the process's credentials.
 * Leaked references would eventually exhaust the limit on user namespaces.
 */
TEST_F_TIMEOUT(access, attach_without_room_keeps_nothing, 120)
{
	char before[32] = "";
	int fd = open("/proc/sys/user/max_user_namespaces", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	ASSERT_LT(0, read(fd, before, sizeof(before) - 1));
	close(fd);
	ASSERT_TRUE(limit_namespaces(NAMESPACES_TEXT));
	pid = fork();
	if (!pid)
		_exit(be_user() ? 10 : attach_often());
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_TRUE(limit_namespaces(before));
}

/*
 * Runs in a process that makes itself the target of its own session's hook test, in which the module checks that its
 * hooks fire. The process remains the target until it ends.
 */
static void join_first(int ready, int asked)
{
	struct massif_test join = { .size = sizeof(join), .flags = MASSIF_TEST_JOIN };
	struct kmod_session session;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (be_user() || kmod_session_open(&session, RING, STACK) ||
	    ioctl(session.fd, MASSIF_IOC_TEST, &join) || write(ready, "", 1) != 1 ||
	    read(asked, &byte, 1) != 1)
		_exit(1);
	map(AFTER);
	/* A process that a session follows cannot become the target of a hook test. */
	if (!ioctl(session.fd, MASSIF_IOC_TEST, &join) || errno != EBUSY)
		_exit(2);
	kmod_session_close(&session);
	_exit(0);
}

/*
 * Root can attach to a process that is the target of a hook test, in which the module checks that its hooks fire.
 * Otherwise a process could avoid being profiled by remaining the target of such a test.
 */
TEST_F_TIMEOUT(access, root_attaches_to_what_tries_the_hooks, 60)
{
	struct kmod_session session, second;
	struct seen seen = { 0 };
	int ready[2], asked[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, kmod_session_open(&session, RING, STACK));
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(asked, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		close(session.fd);
		close(second.fd);
		join_first(ready[1], asked[0]);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	EXPECT_EQ(0, kmod_session_attach(session.fd, pid));
	EXPECT_EQ(-EBUSY, kmod_session_attach(second.fd, pid));
	ASSERT_EQ(1, write(asked[1], "", 1));
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, kmod_session_drain(&session, 20000, note, &seen));
	EXPECT_TRUE(seen.after);
	kmod_session_close(&session);
	kmod_session_close(&second);
}

/* Results of attaching to processes while they call exec: how often it succeeded, and which records followed. */
struct race {
	unsigned int attached;		/* number of attach calls that succeeded, before the exec */
	unsigned int refused;		/* number of attach calls that were refused, during or after the exec */
	unsigned int ends;		/* END records */
	unsigned int wrong_ends;	/* number of END records with a reason other than MASSIF_END_SECURE */
	unsigned int execs;		/* EXEC records */
};

static int count_ends(const struct massif_record *rec, void *arg)
{
	struct race *race = arg;

	race->execs += rec->type == MASSIF_REC_EXEC;
	if (rec->type == MASSIF_REC_END) {
		race->ends++;
		race->wrong_ends += ((const struct massif_rec_end *)rec)->reason != MASSIF_END_SECURE;
	}
	return 0;
}

#define RACES	200
#define DELAYS	40 /* number of different delays */

/*
 * Runs as an unprivileged user. Does the following RACES times: starts a process that executes @program, which gains
 * privileges when it is executed, and attaches to that process. The delay before attaching varies, so that some
 * attempts come before the exec and some after it. If all come before it, the delays grow: an exec takes long in a debug
 * kernel. Returns 0, or the number of the step that failed.
 */
static int attach_amid_exec(const char *program)
{
	struct kmod_session session;
	struct race race = { 0 };
	unsigned int step = 20; /* in microseconds */
	int i, status;

	if (be_user() || kmod_session_open(&session, RING, STACK))
		return 1;
	for (i = 0; i < RACES; i++) {
		pid_t pid = fork();
		int err, tries;

		if (!pid) {
			execl(program, "sleep", "100", NULL);
			_exit(9);
		}
		if (i && i % DELAYS == 0 && !race.refused)
			step *= 8;
		usleep(i % DELAYS * step);
		for (tries = 0; (err = kmod_session_attach(session.fd, pid)) && tries < 20; tries++)
			if (err != -EPERM && err != -EAGAIN)
				return 2;
		race.attached += !err;
		race.refused += !!err;
		/* If the process had been attached to before the exec, wait for its END record. */
		for (tries = 0; !err && race.ends < race.attached && tries < 5000; tries++) {
			const struct massif_record *rec;

			usleep(500);
			while ((rec = kmod_session_next(&session)))
				count_ends(rec, &race);
			kmod_session_release(&session);
		}
		if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			return 3;
		if (race.ends < race.attached)
			break;
	}
	fprintf(stderr, "# %u attached before, %u refused after the exec\n", race.attached, race.refused);
	if (i == RACES && (!race.attached || !race.refused))
		return 4;
	if (race.execs || race.wrong_ends || race.ends != race.attached)
		return 5;
	return 0;
}

/* Attaches during the exec of a set-uid program, and during the exec of a program with a file capability. */
TEST_F_TIMEOUT(access, attach_in_a_race_with_an_exec_that_gains_rights, 120)
{
	const struct vfs_cap_data capability = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = 1 << CAP_NET_RAW,
	};
	char dir[] = "/tmp/race.XXXXXX", program[64], command[256];

	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, chmod(dir, 0755));
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", program);
	ASSERT_EQ(0, system(command));
	for (int by_file = 0; by_file < 2; by_file++) {
		pid_t pid;

		ASSERT_EQ(0, chmod(program, by_file ? 0755 : 04755));
		if (by_file)
			ASSERT_EQ(0, setxattr(program, "security.capability", &capability, sizeof(capability), 0));
		pid = fork();
		if (!pid)
			_exit(attach_amid_exec(program));
		EXPECT_EQ(0, exit_status(pid)) {
			TH_LOG("%s", by_file ? "a capability of the file" : "set-uid");
		}
	}
	unlink(program);
	rmdir(dir);
}

TEST_HARNESS_MAIN
