// SPDX-License-Identifier: GPL-2.0
// Each hook is tested before a session is used; a hook that does not fire is reported by name.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pages/hooktest.h"
#include "base/error.h"
#include "selftests/lib/kmod_session.h"

#define RING	(256 << 10)

/*
 * Argument bits of act(). The child always triggers the mmap() and munmap() hooks. Each bit adds one more call, which
 * triggers another hook: DO_BRK adds a brk(), DO_GROW an mremap() that grows a mapping in place, and DO_MOVE an
 * mremap() that moves a mapping.
 */
#define DO_BRK	1
#define DO_GROW	2
#define DO_MOVE	4
#define DO_ALL	7

static int test(int fd, unsigned int flags, char *dead)
{
	struct massif_test arg = { .size = sizeof(arg), .flags = flags };
	int err = ioctl(fd, MASSIF_IOC_TEST, &arg) ? -errno : 0;

	if (dead)
		memcpy(dead, arg.dead_hook, sizeof(arg.dead_hook));
	return err;
}

static bool act(int what)
{
	size_t page = getpagesize();
	char *base = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *brk = (char *)syscall(SYS_brk, 0);

	if ((what & DO_BRK) && (char *)syscall(SYS_brk, brk + page) != brk + page)
		return false;
	munmap(base + page, 3 * page);
	if (mmap(base + 7 * page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    base + 7 * page)
		return false;
	if ((what & DO_GROW) && mremap(base, page, 2 * page, 0) != base)
		return false;
	if ((what & DO_MOVE) &&
	    mremap(base, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, base + 5 * page) !=
		    base + 5 * page)
		return false;
	return true;
}

/*
 * Makes the memory changes @what (DO_ flags) in a child process that has joined the hook test with MASSIF_TEST_JOIN, so
 * that they fire hooks. Returns the child's wait status, which is 0 on success.
 */
static int run_child(int fd, int what)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(test(fd, MASSIF_TEST_JOIN, NULL) ? 1 : act(what) ? 0 : 2);
	waitpid(pid, &status, 0);
	return status;
}

static int end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

/* Starts a child that makes itself the target of the hook test and waits. */
static pid_t start_joined(int fd)
{
	int ready[2];
	char err = 0;
	pid_t pid;

	if (pipe(ready))
		return -errno;
	pid = fork();
	if (!pid) {
		err = -test(fd, MASSIF_TEST_JOIN, NULL);
		if (write(ready[1], &err, 1) != 1)
			_exit(1);
		close(fd);
		for (;;)
			act(DO_ALL);
	}
	if (read(ready[0], &err, 1) != 1 || err) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = err ? -err : -EIO;
	}
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

FIXTURE(hooktest)
{
	struct kmod_session session;
	char dead[MASSIF_HOOK_NAME];
};

FIXTURE_SETUP(hooktest)
{
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
}

FIXTURE_TEARDOWN(hooktest)
{
	kmod_session_close(&self->session);
}

/* The function that grows a mapping has different names in different kernels, so only check that a name is reported. */
TEST_F(hooktest, names_the_one_that_did_not_fire)
{
	int fd = self->session.fd;

	EXPECT_EQ(-ENODEV, test(fd, 0, self->dead));
	EXPECT_NE(0, strlen(self->dead));

	ASSERT_EQ(0, run_child(fd, DO_BRK | DO_GROW));
	EXPECT_EQ(-ENODEV, test(fd, 0, self->dead));
	EXPECT_STREQ("copy_vma", self->dead);

	ASSERT_EQ(0, run_child(fd, DO_MOVE));
	EXPECT_EQ(0, test(fd, 0, self->dead));
	EXPECT_STREQ("", self->dead);

	/*
	 * The hooks on _install_special_mapping() and expand_downwards() have not fired, because the child has not
	 * mapped a vdso and its stack has not grown.
	 */
	EXPECT_EQ(-ENODEV, test(fd, MASSIF_TEST_SPECIAL, self->dead));
	EXPECT_STREQ("_install_special_mapping", self->dead);
	EXPECT_EQ(-ENODEV, test(fd, MASSIF_TEST_STACK, self->dead));
	EXPECT_STREQ("expand_downwards", self->dead);
}

TEST_F(hooktest, is_begun_anew_when_the_hooks_are_armed)
{
	ASSERT_EQ(0, run_child(self->session.fd, DO_ALL));
	EXPECT_EQ(0, test(self->session.fd, 0, NULL));
	kmod_session_close(&self->session);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	EXPECT_EQ(-ENODEV, test(self->session.fd, 0, NULL));
}

/* The hooks are tested once for all sessions, so a second session can use the first session's result. */
TEST_F(hooktest, is_the_systems_not_the_sessions)
{
	struct kmod_session second;

	ASSERT_EQ(0, run_child(self->session.fd, DO_ALL));
	ASSERT_EQ(0, kmod_session_open(&second, RING, 0));
	EXPECT_EQ(0, test(second.fd, 0, NULL));
	kmod_session_close(&second);
}

TEST_F(hooktest, what_massif_ctl_does_fires_all)
{
	struct massif_hook_info info = { .size = sizeof(info) };
	struct mf_error err = {};

	EXPECT_EQ(0, mf_hooktest_run(self->session.fd, &err));
	/*
	 * Debian's kernels support ARCH_MAP_VDSO_64, so the hook on _install_special_mapping() must have fired as well.
	 */
	EXPECT_EQ(0, test(self->session.fd, MASSIF_TEST_SPECIAL | MASSIF_TEST_STACK, self->dead)) {
		TH_LOG("%s", self->dead);
	}
	for (; !ioctl(self->session.fd, MASSIF_IOC_HOOK, &info); info.index++) {
		EXPECT_EQ(info.kind != MASSIF_HOOK_TRACEPOINT, info.state & MASSIF_HOOK_FIRED) {
			TH_LOG("%s", info.name);
		}
	}
}

static int set_up_resident(int fd)
{
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.flags = MASSIF_SETUP_RESIDENT,
		.ring_bytes = RING,
	};

	return ioctl(fd, MASSIF_IOC_SETUP, &setup) ? -errno : 0;
}

/* For a session with resident pages, the hook test also includes the hooks on page faults. */
TEST_F(hooktest, of_faults)
{
	unsigned int all = MASSIF_TEST_SPECIAL | MASSIF_TEST_STACK;
	int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	struct mf_error err = {};

	ASSERT_EQ(0, set_up_resident(fd));
	ASSERT_EQ(0, mf_hooktest_run(self->session.fd, &err));
	EXPECT_EQ(0, test(self->session.fd, all, self->dead));
	EXPECT_EQ(-ENODEV, test(fd, all, self->dead));
	EXPECT_NE(NULL, strstr(self->dead, "fault"));
	EXPECT_EQ(0, mf_hooktest_run(fd, &err));
	EXPECT_EQ(0, test(fd, all, self->dead)) {
		TH_LOG("%s", self->dead);
	}
	close(fd);
}

/*
 * SETUP does not touch the caller's memory, so a caller cannot use userfaultfd or FUSE to block others. Nor may the
 * caller's resource limits make the hook test fail.
 */
TEST_F_TIMEOUT(hooktest, setup_touches_no_memory, 60)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_STACK, RLIMIT_DATA };
	struct mf_error err = {};
	pid_t pid;

	kmod_session_close(&self->session);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		pid = fork();
		if (!pid) {
			struct rlimit none = {};
			int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);

			if (setrlimit(limits[i], &none))
				_exit(1);
			_exit(-set_up_resident(fd));
		}
		EXPECT_EQ(0, end_of(pid));
	}
	/*
	 * If the hook test cannot be run because of one of the caller's resource limits, no hook is reported as
	 * failing.
	 */
	pid = fork();
	if (!pid) {
		struct rlimit small = { .rlim_cur = 4096, .rlim_max = 4096 };
		int fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);

		if (setrlimit(RLIMIT_STACK, &small) || set_up_resident(fd))
			_exit(1);
		_exit(mf_hooktest_run(fd, &err) ? 2 : 0);
	}
	EXPECT_EQ(0, end_of(pid));
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
}

TEST_F(hooktest, writes_no_record)
{
	struct massif_status status;

	ASSERT_EQ(0, run_child(self->session.fd, DO_ALL));
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.records);
	EXPECT_EQ(0, status.targets);
	EXPECT_EQ(0, status.processes);
}

TEST_F(hooktest, one_at_a_time)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };
	int fd = self->session.fd;
	pid_t pid = start_joined(fd);
	int status;

	ASSERT_LT(0, pid);
	EXPECT_EQ(-EBUSY, test(fd, MASSIF_TEST_JOIN, NULL));
	end(pid);
	EXPECT_EQ(0, run_child(fd, DO_ALL));
	EXPECT_EQ(-EINVAL, test(fd, 8, NULL));

	/* A process that a session follows cannot become the target of a hook test, and vice versa. */
	pid = fork();
	if (!pid) {
		if (ioctl(fd, MASSIF_IOC_ENROL, &enrol))
			_exit(1);
		_exit(test(fd, MASSIF_TEST_JOIN, NULL) == -EBUSY ? 0 : 2);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pid = fork();
	if (!pid) {
		if (test(fd, MASSIF_TEST_JOIN, NULL))
			_exit(1);
		_exit(ioctl(fd, MASSIF_IOC_ENROL, &enrol) && errno == EBUSY ? 0 : 2);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* A child is the target of a session's hook test, and continues to run after the session has ended. */
TEST_F(hooktest, outlived_by_its_process)
{
	pid_t pid = start_joined(self->session.fd);

	ASSERT_LT(0, pid);
	usleep(20000);
	kmod_session_close(&self->session);
	usleep(20000);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	EXPECT_EQ(0, run_child(self->session.fd, DO_ALL));
	EXPECT_EQ(0, test(self->session.fd, 0, NULL));
	end(pid);
}

TEST_HARNESS_MAIN
