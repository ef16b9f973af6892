// SPDX-License-Identifier: GPL-2.0
// Checks that massif.ko applies the same rules as ptrace when it decides whether a caller may attach to a process.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/take_descriptor.h"

#define RING	(8 << 20)
#define STACK	4096
#define USER	1000
#define OTHER	1001

FIXTURE(permission)
{
	struct kmod_session session;
};

FIXTURE_SETUP(permission)
{
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
}

FIXTURE_TEARDOWN(permission)
{
	kmod_session_close(&self->session);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Which user attaches; unless noted, the same user opens the device. */
enum subject {
	BY_ROOT,
	BY_USER,
	BY_USER_IN_NAMESPACE,	/* a user in a user namespace of its own */
	BY_USER_FROM_ROOT,	/* an ordinary user attaches, with a device that root opened */
	BY_ROOT_FROM_USER,	/* root attaches, with a device that an ordinary user opened */
};

/* Each row: who attaches to which process, who opened the device, and the expected result. */
static const struct permission {
	const char *name;
	uid_t ruid, euid, suid;	/* user ids of the target */
	gid_t rgid, egid, sgid;
	bool dumpable;
	enum subject by;
	int expected;
	bool keeps_capability;	/* the target has CAP_SYS_ADMIN in its permitted set */
	bool lets_anybody;	/* the target allows everyone to trace it (Yama) */
	bool in_namespace;	/* the target is in a user namespace that it created */
} permissions[] = {
	{ "own", USER, USER, USER, USER, USER, USER, true, BY_USER, 0 },
	{ "own, not dumpable", USER, USER, USER, USER, USER, USER, false, BY_USER, -EPERM },
	{ "another's", OTHER, OTHER, OTHER, USER, USER, USER, true, BY_USER, -EPERM },
	{ "another real uid", OTHER, USER, USER, USER, USER, USER, true, BY_USER, -EPERM },
	{ "another effective uid", USER, OTHER, USER, USER, USER, USER, true, BY_USER, -EPERM },
	{ "another saved uid", USER, USER, OTHER, USER, USER, USER, true, BY_USER, -EPERM },
	{ "another real gid", USER, USER, USER, OTHER, USER, USER, true, BY_USER, -EPERM },
	{ "another effective gid", USER, USER, USER, USER, OTHER, USER, true, BY_USER, -EPERM },
	{ "another saved gid", USER, USER, USER, USER, USER, OTHER, true, BY_USER, -EPERM },
	{ "root's", 0, 0, 0, 0, 0, 0, true, BY_USER, -EPERM },
	{ "a user's, by root", OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, true, BY_ROOT, 0 },
	{ "not dumpable, by root", USER, USER, USER, USER, USER, USER, false, BY_ROOT, 0 },
	{ "own, with a capability", USER, USER, USER, USER, USER, USER, true, BY_USER, -EPERM, true },
	{ "with a capability, by root", USER, USER, USER, USER, USER, USER, true, BY_ROOT, 0, true },
	{ "own, outside of the namespace", USER, USER, USER, USER, USER, USER, true,
	  BY_USER_IN_NAMESPACE, -EPERM },
	{ "own, root's descriptor", USER, USER, USER, USER, USER, USER, true, BY_USER_FROM_ROOT, 0 },
	{ "another's, root's descriptor", OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, true,
	  BY_USER_FROM_ROOT, -EPERM },
	{ "root's, root's descriptor", 0, 0, 0, 0, 0, 0, true, BY_USER_FROM_ROOT, -EPERM },
	{ "own, that user's descriptor", USER, USER, USER, USER, USER, USER, true, BY_ROOT_FROM_USER, 0 },
	{ "root's, a user's descriptor", 0, 0, 0, 0, 0, 0, true, BY_ROOT_FROM_USER, -EPERM },
	{ "own, in a namespace of its own", USER, USER, USER, USER, USER, USER, true, BY_USER, 0, .in_namespace = true },
	{ "another's, in a namespace of its own", OTHER, OTHER, OTHER, USER, USER, USER, true,
	  BY_USER, -EPERM, .in_namespace = true },
};

static int permit_only(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .permitted = 1U << capability } };

	return syscall(SYS_capset, &header, data);
}

static void be_target(const struct permission *row, int ready)
{
	if (prctl(PR_SET_KEEPCAPS, row->keeps_capability) ||
	    setgroups(0, NULL) || setresgid(row->rgid, row->egid, row->sgid) ||
	    setresuid(row->ruid, row->euid, row->suid) ||
	    (row->keeps_capability && permit_only(CAP_SYS_ADMIN)) ||
	    (row->in_namespace && unshare(CLONE_NEWUSER)) ||
	    prctl(PR_SET_DUMPABLE, row->dumpable) ||
	    (row->lets_anybody && prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)) || write(ready, "", 1) != 1)
		_exit(9);
	sleep_on();
}

/* Returns the result of ptrace itself: 0 or an errno value. */
static int ptrace_says(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return errno;
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, &status, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

/*
 * Runs in a child. Attaches to @pid as an unprivileged user. Returns the errno value, or 98 if ptrace's result differs
 * from the module's.
 */
static int attach_as_user(enum subject by, int root_fd, pid_t pid)
{
	struct kmod_session session = { .fd = root_fd };
	int err, says;

	if (kmod_session_allow() || setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		return 99;
	if (by == BY_USER_IN_NAMESPACE && (unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1)))
		return 97;
	if (by != BY_USER_FROM_ROOT && kmod_session_open(&session, 1 << 20, STACK))
		return 96;
	err = -kmod_session_attach(session.fd, pid);
	says = ptrace_says(pid);
	if (err != says)
		printf("# the module says %d, ptrace %d\n", err, says);
	fflush(stdout);
	return err == says ? err : 98;
}

/* Returns the descriptor of a session that an unprivileged user opened and set up, or -1. */
static int open_by_user(void)
{
	int told[2], theirs, fd = -1;
	pid_t pid;

	if (pipe2(told, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		struct kmod_session session;

		if (kmod_session_be_user() || kmod_session_open(&session, 1 << 20, STACK) ||
		    write(told[1], &session.fd, sizeof(session.fd)) != sizeof(session.fd))
			_exit(1);
		sleep_on();
	}
	close(told[1]);
	if (read(told[0], &theirs, sizeof(theirs)) == sizeof(theirs))
		fd = take_descriptor(pid, theirs);
	close(told[0]);
	end(pid);
	return fd;
}

/* Starts a process as described by @row and checks that attaching to it has the expected result. */
static void check_permission(struct __test_metadata *_metadata, FIXTURE_DATA(permission) *self, const struct permission *row)
{
	int status, ready[2];
	pid_t pid, user;
	char byte;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	pid = fork();
	if (!pid)
		be_target(row, ready[1]);
	close(ready[1]);
	EXPECT_EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	user = row->by == BY_ROOT || row->by == BY_ROOT_FROM_USER ? 0 : fork();
	if (row->by == BY_ROOT) {
		EXPECT_EQ(row->expected, kmod_session_attach(self->session.fd, pid)) {
			TH_LOG("%s", row->name);
		}
	} else if (row->by == BY_ROOT_FROM_USER) {
		int fd = open_by_user();

		ASSERT_LE(0, fd);
		EXPECT_EQ(row->expected, kmod_session_attach(fd, pid)) {
			TH_LOG("%s", row->name);
		}
		close(fd);
	} else if (!user) {
		_exit(attach_as_user(row->by, self->session.fd, pid));
	} else {
		waitpid(user, &status, 0);
		EXPECT_EQ(-row->expected, WEXITSTATUS(status)) {
			TH_LOG("%s", row->name);
		}
	}
	end(pid);
}

TEST_F_TIMEOUT(permission, who_may, 60)
{
	ASSERT_EQ(0, chown(MASSIF_DEVICE, 0, USER));
	for (size_t i = 0; i < sizeof(permissions) / sizeof(permissions[0]); i++)
		check_permission(_metadata, self, &permissions[i]);
	EXPECT_EQ(0, chown(MASSIF_DEVICE, 0, 0));
}

/*
 * The setting of Yama, a security module that restricts ptrace. 0: no restriction; 1: without CAP_SYS_PTRACE, the
 * tracer must be an ancestor of the target or be permitted by it; 2: CAP_SYS_PTRACE is required.
 */
#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

static bool set_yama(const char *scope)
{
	int fd = open(YAMA, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, scope, 1) == 1;

	close(fd);
	return ok;
}

#define OWN USER, USER, USER, USER, USER, USER, true

static const struct {
	const char *scope;
	struct permission row;
} with_yama[] = {
	{ "0", { "own", OWN, BY_USER, 0 } },
	{ "1", { "own, with Yama", OWN, BY_USER, -EPERM } },
	{ "1", { "own, root's descriptor, with Yama", OWN, BY_USER_FROM_ROOT, -EPERM } },
	{ "1", { "own, which lets anybody, with Yama", OWN, BY_USER, 0, .lets_anybody = true } },
	{ "1", { "a user's, by root, with Yama", OWN, BY_ROOT, 0 } },
	{ "2", { "own, for administrators only", OWN, BY_USER, -EPERM } },
	{ "2", { "own, which lets anybody, for administrators only", OWN, BY_USER, -EPERM, .lets_anybody = true } },
	{ "2", { "a user's, by root, for administrators only", OWN, BY_ROOT, 0 } },
};

TEST_F_TIMEOUT(permission, who_may_with_yama, 60)
{
	if (access(YAMA, W_OK))
		SKIP(return, "this kernel has no Yama");
	ASSERT_EQ(0, chown(MASSIF_DEVICE, 0, USER));
	for (size_t i = 0; i < sizeof(with_yama) / sizeof(with_yama[0]); i++) {
		EXPECT_TRUE(set_yama(with_yama[i].scope));
		check_permission(_metadata, self, &with_yama[i].row);
	}
	EXPECT_TRUE(set_yama("0"));
	EXPECT_EQ(0, chown(MASSIF_DEVICE, 0, 0));
}

TEST_HARNESS_MAIN
