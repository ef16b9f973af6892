// SPDX-License-Identifier: GPL-2.0
// A confined process can do only what parsing requires, regardless of the privileges that it had before.
//
// The child tries each forbidden action. Its exit status says which of them, if any, succeeded.

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "kselftest_harness.h"
#include "selftests/lib/skip.h"

#define PLAIN_USER 12345

/* Exit status of the confined child. */
enum {
	FINE,
	NOT_ALL_GIVEN_UP = 100,
	HAS_DESCRIPTORS,
	SEES_SHARED_MEMORY,
	CANNOT_READ,
	CANNOT_HAVE_MEMORY,
	HAS_NO_LIMIT,
	NO_STAND_IN,
};

static pid_t parent, other;
static char executable[] = "/bin/true";

static long try_open(void)
{
	/* Make the system call directly; other tests cover the wrapper functions of the C library. */
	return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &(uint64_t[3]){ O_RDONLY }, 24);
}

static long try_create(void)
{
	return open("confine.tmp", O_WRONLY | O_CREAT, 0600);
}

static long try_exec(void)
{
	return execl(executable, executable, NULL);
}

static long try_execveat(void)
{
	return syscall(SYS_execveat, AT_FDCWD, executable, NULL, NULL, 0);
}

static long try_fork(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long try_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0);
}

static long try_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_SEIZE, other, NULL, NULL);
}

static long try_memory_of_another(void)
{
	char bytes[1];
	struct iovec here = { .iov_base = bytes, .iov_len = 1 }, there = { .iov_base = &other, .iov_len = 1 };

	return process_vm_readv(other, &here, 1, &there, 1, 0);
}

static long try_kill(void)
{
	return kill(other, SIGTERM);
}

static long try_kill_parent(void)
{
	return syscall(SYS_tgkill, parent, parent, 0);
}

static long try_mount(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long try_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static long try_root_again(void)
{
	return setuid(0);
}

static long try_executable_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long try_to_make_memory_executable(void)
{
	return mprotect((void *)((uintptr_t)&parent & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static long try_ioctl(void)
{
	return syscall(SYS_ioctl, MF_CONFINE_SOCKET, 0x541b /* FIONREAD, an ioctl request */, &(int){ 0 });
}

static long try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0) < 0 && errno == EPERM ? -1 : 0;
}

static long try_limits(void)
{
	return setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
}

static long try_unlink(void)
{
	return unlink("confine.kept");
}

static long try_to_look(void)
{
	struct stat status;

	return syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &status, 0);
}

static long (*const tries[])(void) = {
	try_open,	     try_create,	   try_exec,		  try_execveat,
	try_fork,	     try_socket,	   try_unix_socket,	  try_ptrace,
	try_memory_of_another, try_kill,	   try_kill_parent,	  try_mount,
	try_namespace,	     try_root_again,	   try_executable_memory, try_to_make_memory_executable,
	try_ioctl,	     try_bpf,		   try_limits,		  try_unlink,
	try_to_look,
};

static int *shared;
static char opened[64];

static int stand_in(const char *path)
{
	strncpy(opened, path, sizeof(opened) - 1);
	return -ELOOP;
}

/* Returns whether the page at @address is mapped. */
static bool is_mapped(void *address)
{
	return madvise(address, 4096, MADV_NORMAL) == 0;
}

static int check_state(unsigned int given_up)
{
	char byte;

	if (given_up != MF_CONFINED_ALL)
		return NOT_ALL_GIVEN_UP;
	for (int fd = 1; fd < 1024; fd++)
		if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF)
			return HAS_DESCRIPTORS;
	if (is_mapped(shared))
		return SEES_SHARED_MEMORY;
	/* Reading from and writing to the socket that connects the confined child to its parent must still work. */
	if (read(MF_CONFINE_SOCKET, &byte, 1) != 1 || byte != 'x')
		return CANNOT_READ;
	if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
	    !malloc(1 << 24))
		return CANNOT_HAVE_MEMORY;
	if (mmap(NULL, MF_CONFINE_MEMORY_MAX + (1 << 20), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0) != MAP_FAILED)
		return HAS_NO_LIMIT;
	if (open("/etc/passwd", O_RDONLY) >= 0 || errno != ELOOP || strcmp(opened, "/etc/passwd") != 0)
		return NO_STAND_IN;
	return FINE;
}

static int child(int socket)
{
	unsigned int given_up = mf_confine(socket, -1, 60, stand_in);
	int state = check_state(given_up);

	if (state)
		return state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		if (tries[i]() >= 0)
			return (int)i + 1;
	return FINE;
}

FIXTURE(confined) {
	int sockets[2];
	int file;
};

FIXTURE_VARIANT(confined) {
	uid_t user;
};

FIXTURE_VARIANT_ADD(confined, of_root) { .user = 0 };
FIXTURE_VARIANT_ADD(confined, of_a_plain_user) { .user = PLAIN_USER };

FIXTURE_SETUP(confined)
{
	if (variant->user == 0 && geteuid())
		SKIP_SETUP("not root");
	if (geteuid() == 0)
		ASSERT_EQ(0, setresuid(variant->user, variant->user, variant->user));
	/*
	 * setresuid() cleared the dumpable flag. Set it again, to match a process that has always run as that user and
	 * therefore has it set.
	 */
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	parent = getpid();
	other = fork();
	if (other == 0) {
		for (;;)
			pause();
	}
	ASSERT_LT(0, other);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->sockets));
	ASSERT_EQ(1, write(self->sockets[0], "x", 1));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	self->file = open("/proc/self/exe", O_RDONLY);
}

FIXTURE_TEARDOWN(confined)
{
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

TEST_F(confined, can_do_nothing_else)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(child(self->sockets[1]));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status)) {
		TH_LOG("signal %d", WTERMSIG(status));
	}
	EXPECT_EQ(FINE, WEXITSTATUS(status)) {
		TH_LOG("%s %d", WEXITSTATUS(status) < NOT_ALL_GIVEN_UP ? "try" : "state", WEXITSTATUS(status));
	}
	/* The process @other still runs, so the confined child could not kill it. */
	EXPECT_EQ(0, waitpid(other, NULL, WNOHANG));
}

/* Checks what /proc reports about a confined child: its ids, capabilities and seccomp filter. */
TEST_F(confined, seen_from_outside)
{
	char path[64], text[8192] = "";
	ssize_t n;
	int status, fd;
	pid_t pid = fork();

	if (pid == 0) {
		char byte;

		mf_confine(self->sockets[1], -1, 60, stand_in);
		/* Reads the byte that the test sends, then waits for a second byte, which never comes. */
		while (write(MF_CONFINE_SOCKET, "y", 1) == 1 && read(MF_CONFINE_SOCKET, &byte, 1) == 1 &&
		       read(MF_CONFINE_SOCKET, &byte, 1) == 1)
			;
		_exit(0);
	}
	close(self->sockets[1]);
	ASSERT_EQ(1, read(self->sockets[0], text, 1));
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	n = read(fd, text, sizeof(text) - 1);
	ASSERT_LT(0, n);
	close(fd);
	EXPECT_NE(NULL, strstr(text, "NoNewPrivs:\t1\n"));
	EXPECT_NE(NULL, strstr(text, "Seccomp:\t2\n"));
	EXPECT_NE(NULL, strstr(text, "CapInh:\t0000000000000000\n"));
	EXPECT_NE(NULL, strstr(text, "CapPrm:\t0000000000000000\n"));
	EXPECT_NE(NULL, strstr(text, "CapEff:\t0000000000000000\n"));
	EXPECT_NE(NULL, strstr(text, "CapAmb:\t0000000000000000\n"));
	if (variant->user == 0) {
		EXPECT_NE(NULL, strstr(text, "Uid:\t65534\t65534\t65534\t65534\n"));
		EXPECT_NE(NULL, strstr(text, "Gid:\t65534\t65534\t65534\t65534\n"));
		EXPECT_NE(NULL, strstr(text, "Groups:\t \n"));
	}
	/*
	 * Even another process that runs as the same user as the child must not be able to access the child's memory.
	 */
	if (variant->user) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		EXPECT_EQ(-1, open(path, O_RDONLY));
		EXPECT_EQ(-1, ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	}
	close(self->sockets[0]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* The CPU time limit ends a child that loops. */
TEST_F(confined, does_not_compute_for_ever)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		mf_confine(self->sockets[1], -1, 1, stand_in);
		for (;;)
			__asm__ volatile("");
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGXCPU, WTERMSIG(status));
}

TEST_HARNESS_MAIN
