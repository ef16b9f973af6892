// SPDX-License-Identifier: GPL-2.0
// Connections to a running massif-ctl: many processes that join, commands that read the profiles, and other
// users.

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define OTHER 65534 /* user id of a user other than the one who runs massif-ctl */
#define CROWD 500
#define ROOM  200 /* massif-ctl's soft limit on file descriptors */
#define SOFT  64

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

FIXTURE(door) {
	struct ctl_result result;
};

FIXTURE_SETUP(door)
{
	ctl_remove_files("massif.out");
	unsetenv("MASSIF_OPTS");
}

FIXTURE_TEARDOWN(door)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
}

/* massif-ctl list lists all profiled processes that are running. */
TEST_F(door, listed)
{
	const char *shell, *itself;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--trace-children=yes", "sh", "-c",
		"\"$0\" list; :", ctl_path());
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	shell = strstr(self->result.out, "sh -c \"$0\" list; : ");
	itself = strstr(self->result.out, "/massif-ctl list\n");
	EXPECT_NE(NULL, shell);
	EXPECT_LT(shell, itself) {
		TH_LOG("%s", self->result.out);
	}
}

static void limit_softly(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = SOFT;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * More processes are profiled than massif-ctl's soft limit on descriptors would allow; the program's own limit is
 * unchanged.
 */
TEST_F_TIMEOUT(door, many, 120)
{
#ifdef __SANITIZE_THREAD__
	SKIP(return, "ThreadSanitizer leaves massif-ctl address space for some 20 profiles, not for 41");
#endif
	ctl_run(&self->result, NULL, limit_softly,
		ARGS("massif-ctl", "-q", "--time-unit=B", "--massif-out-file=massif.out.%p",
		     ctl_target("heap_children"), "many", "64"));
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(41, ctl_find_files("massif.out", NULL));
}

/* Finds the socket through which processes join the massif-ctl whose pid is @pid. */
static bool find_door(pid_t pid, struct sockaddr_un *address, socklen_t *size)
{
	FILE *file = fopen("/proc/net/unix", "r");
	char line[512], prefix[64];
	bool found = false;

	snprintf(prefix, sizeof(prefix), "@massif-join/%d/", (int)pid);
	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *name = strstr(line, prefix);

		if (!name)
			continue;
		*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strcspn(name, "\n"));
		address->sun_family = AF_UNIX;
		address->sun_path[0] = '\0';
		memcpy(address->sun_path + 1, name + 1, strcspn(name, "\n") - 1);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

static void await_door(struct __test_metadata *_metadata, pid_t pid, struct sockaddr_un *address,
		       socklen_t *size)
{
	int tries = 0;

	while (!find_door(pid, address, size) && tries++ < 6000)
		usleep(10000);
	ASSERT_LT(tries, 6000);
}

static int gate[2];

static void wait_at_gate(void)
{
	dup2(gate[0], STDIN_FILENO);
}

/*
 * A client of the socket that does not know the session's secret gets nothing and does not disturb other connections.
 */
TEST_F_TIMEOUT(door, strangers, 120)
{
	static const char *const sent[] = { "", "x", "nioj\0\0\0\0\0\0\0\0\0\0\0\0"
						     "00000000000000000000000000000000" };
	static const size_t sizes[] = { 0, 1, 48 };
	struct sockaddr_un address;
	socklen_t size;
	char answer[64];
	int status;
	pid_t pid;

	/* The program runs until this test has finished with the socket. */
	ASSERT_EQ(0, pipe2(gate, O_CLOEXEC));
	pid = ctl_start(wait_at_gate, ARGS("massif-ctl", "-q", "--trace-children=yes", "sh", "-c",
					   "read word; exit 5"));
	await_door(_metadata, pid, &address, &size);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		ssize_t n;

		ASSERT_EQ(0, connect(fd, (struct sockaddr *)&address, size));
		ASSERT_EQ((ssize_t)sizes[i], send(fd, sent[i], sizes[i], MSG_NOSIGNAL));
		/* massif-ctl answers the peer with an error, or closes the connection. */
		n = recv(fd, answer, sizeof(answer), 0);
		EXPECT_TRUE(n <= 0 || ((int *)answer)[1] < 0);
		close(fd);
	}
	ASSERT_EQ(1, write(gate[1], "\n", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(5, WEXITSTATUS(status));
}

/* Starts a process of another user that opens as many connections as possible and sends nothing. */
static pid_t start_crowd(const struct sockaddr_un *address, socklen_t size)
{
	const struct rlimit many = { CROWD + 100, CROWD + 100 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (setrlimit(RLIMIT_NOFILE, &many) || setuid(OTHER))
		_exit(1);
	for (int i = 0; i < CROWD; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (const struct sockaddr *)address, size))
			close(fd);
	}
	for (;;)
		pause();
}

static void limit_descriptors(void)
{
	const struct rlimit few = { ROOM, ROOM };

	setrlimit(RLIMIT_NOFILE, &few);
}

/*
 * Other users cannot, by opening connections, exhaust the descriptors that massif-ctl needs for the profiled processes.
 */
TEST_F_TIMEOUT(door, crowd, 120)
{
	struct sockaddr_un address;
	pid_t pid, others;
	socklen_t size;
	int status;

	if (geteuid())
		SKIP(return, "only root can be another user");
	setenv("TARGET", ctl_target("heap_children"), 1);
	pid = ctl_start(limit_descriptors,
			ARGS("massif-ctl", "-q", "--trace-children=yes", "--time-unit=B",
			     "--massif-out-file=massif.out.%p", "sh", "-c",
			     "sleep 2; \"$TARGET\" leaf; exit 5"));
	await_door(_metadata, pid, &address, &size);
	others = start_crowd(&address, size);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(5, WEXITSTATUS(status));
	EXPECT_EQ(0, waitpid(others, &status, WNOHANG));
	kill(others, SIGKILL);
	waitpid(others, &status, 0);
	/* Three processes write profiles: the shell, sleep, and the target. */
	EXPECT_EQ(3, ctl_find_files("massif.out", NULL));
}

TEST_HARNESS_MAIN
