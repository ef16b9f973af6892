// SPDX-License-Identifier: GPL-2.0
// Tests process ids: errors do not reveal which pids exist, a reused pid is treated as a different process, and pids
// are reported as seen from the opener's namespace.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"

#define RING	(1 << 20)
#define STACK	4096
#define USER	1000
#define PAGE	4096ul

/*
 * Length of the mapping that this test's process makes. No other mapping has this length, so the test uses it to
 * recognise that process's records.
 */
#define AFTER	(102 * PAGE)

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

FIXTURE(pid) {
};

FIXTURE_SETUP(pid)
{
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
}

FIXTURE_TEARDOWN(pid)
{
	chmod(MASSIF_DEVICE, 0660);
}

/*
 * Checks the errors returned to a user who attaches to processes that do not exist or that belong to other users.
 * Returns 0 if they are as expected.
 */
static int ask_for_others(pid_t none, pid_t zombie)
{
	struct kmod_session session;

	if (be_user() || kmod_session_open(&session, RING, STACK))
		return 1;
	if (kmod_session_attach(session.fd, none) != -EPERM || kmod_session_attach(session.fd, 0x7fffffff) != -EPERM)
		return 2;
	/* The init process and kthreadd belong to root. */
	if (kmod_session_attach(session.fd, 1) != -EPERM || kmod_session_attach(session.fd, 2) != -EPERM)
		return 3;
	return kmod_session_attach(session.fd, zombie) == -EPERM ? 0 : 4;
}

TEST_F(pid, errors_do_not_tell_whether_there_is_a_process)
{
	pid_t none = fork(), zombie, pid;
	siginfo_t info;

	if (!none)
		_exit(0);
	waitpid(none, NULL, 0);
	zombie = fork();
	if (!zombie)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, zombie, &info, WEXITED | WNOWAIT));
	pid = fork();
	if (!pid)
		_exit(ask_for_others(none, zombie));
	EXPECT_EQ(0, exit_status(pid));
	waitpid(zombie, NULL, 0);
}

static int note(const struct massif_record *rec, void *arg)
{
	if (rec->type == MASSIF_REC_MAP)
		*(bool *)arg |= ((const struct massif_rec_map *)rec)->len == AFTER;
	return 0;
}

static pid_t fork_as(pid_t wanted)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file || fprintf(file, "%d", (int)wanted - 1) < 0 || fclose(file))
		return -1;
	return fork();
}

/* A process that reuses a profiled process's pid is not profiled. */
TEST_F_TIMEOUT(pid, a_number_that_is_used_again, 60)
{
	struct kmod_session session, second;
	bool after = false;
	pid_t pid, again = 0;

	ASSERT_EQ(0, kmod_session_open(&session, RING, STACK));
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	ASSERT_EQ(0, kmod_session_attach(session.fd, pid));
	end(pid);
	for (int i = 0; i < 50 && again != pid; i++) {
		again = fork_as(pid);
		if (!again) {
			map(AFTER);
			for (;;)
				pause();
		}
		ASSERT_LT(0, again);
		if (again != pid)
			end(again);
	}
	ASSERT_EQ(pid, again);
	EXPECT_EQ(0, kmod_session_drain(&session, 20000, note, &after));
	EXPECT_FALSE(after);
	EXPECT_EQ(0, kmod_session_attach(second.fd, pid));
	end(again);
	kmod_session_close(&session);
	kmod_session_close(&second);
}

/* Runs in its own pid namespace, where @outside has no pid. Pids are looked up in the opener's namespace. */
static int attach_in_namespace(pid_t outside)
{
	struct kmod_session session;
	pid_t pid;
	int err;

	if (kmod_session_open(&session, RING, STACK))
		return 1;
	if (kmod_session_attach(session.fd, outside) != -ESRCH)
		return 2;
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	err = kmod_session_attach(session.fd, pid);
	end(pid);
	return err || pid > 10 ? 3 : 0;
}

/* The pids that a session has reported. */
struct numbers {
	uint32_t attached, parent, child, ended[2];
	unsigned int ends;
};

static int note_numbers(const struct massif_record *rec, void *arg)
{
	const struct massif_rec_enrol *enrolled = (const void *)rec;
	const struct massif_rec_fork *forked = (const void *)rec;
	const struct massif_rec_end *ended = (const void *)rec;
	struct numbers *numbers = arg;

	if (rec->type == MASSIF_REC_ATTACH)
		numbers->attached = enrolled->tgid;
	if (rec->type == MASSIF_REC_FORK) {
		numbers->parent = forked->parent_tgid;
		numbers->child = forked->child_tgid;
	}
	if (rec->type == MASSIF_REC_END && numbers->ends < 2)
		numbers->ended[numbers->ends++] = ended->tgid;
	return 0;
}

/* Profiled processes in a pid namespace of their own are reported with their pids in the opener's namespace. */
TEST_F(pid, a_member_in_another_pid_namespace)
{
	struct kmod_session session;
	struct numbers numbers = {};
	int told[2], asked[2];
	char byte;
	pid_t outer, pid;

	ASSERT_EQ(0, pipe2(told, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(asked, O_CLOEXEC));
	ASSERT_EQ(0, kmod_session_open(&session, RING, STACK));
	outer = fork();
	if (!outer) {
		close(session.fd);
		if (unshare(CLONE_NEWPID))
			_exit(10);
		pid = fork();
		if (!pid) {
			if (getpid() != 1 || read(asked[0], &byte, 1) != 1)
				_exit(11);
			pid = fork();
			if (!pid)
				_exit(0);
			_exit(waitpid(pid, NULL, 0) == 2 ? 0 : 12);
		}
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(13);
		_exit(exit_status(pid));
	}
	ASSERT_EQ(sizeof(pid), read(told[0], &pid, sizeof(pid)));
	ASSERT_LT(1, pid);
	ASSERT_EQ(0, kmod_session_attach(session.fd, pid));
	ASSERT_EQ(1, write(asked[1], "", 1));
	EXPECT_EQ(0, exit_status(outer));
	EXPECT_EQ(0, kmod_session_drain(&session, 20000, note_numbers, &numbers));
	EXPECT_EQ(pid, numbers.attached);
	EXPECT_EQ(pid, numbers.parent);
	EXPECT_LT(pid, numbers.child);
	EXPECT_EQ(2, numbers.ends);
	EXPECT_EQ(numbers.child, numbers.ended[0]);
	EXPECT_EQ(pid, numbers.ended[1]);
	kmod_session_close(&session);
}

TEST_F(pid, numbers_are_those_of_the_openers_namespace)
{
	pid_t pid = fork();

	if (!pid) {
		pid_t inner, outside;

		if (unshare(CLONE_NEWPID))
			_exit(10);
		outside = getpid();
		inner = fork();
		if (!inner)
			_exit(attach_in_namespace(outside));
		_exit(exit_status(inner));
	}
	EXPECT_EQ(0, exit_status(pid));
}

TEST_HARNESS_MAIN
