// SPDX-License-Identifier: GPL-2.0
// Children that ask massif-ctl for the session memory of their parent, as the shim does in a child that a signal handler
// forked in the middle of an event. Run as root. Prints for each child: the answer's code, whether the descriptor permits
// writing, and whether user nobody can open its file again for writing.

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/join.h"

enum { NOBODY = 65534 };

static char address[MF_JOIN_NAME_MAX + MF_JOIN_SECRET_DIGITS + 2];

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(2);
}

/* Stores in @address the address of massif-ctl's socket, which is in the session memory, in the file @fd. */
static void find_address_in(int fd)
{
	static char text[65536];
	ssize_t n;

	for (off_t at = 0; !*address && (at = lseek(fd, at, SEEK_DATA)) >= 0; at += n) {
		const char *found;

		n = pread(fd, text, sizeof(text), at);
		if (n <= 0)
			return;
		found = memmem(text, (size_t)n, MF_JOIN_PREFIX, strlen(MF_JOIN_PREFIX));
		if (found && memchr(found, '\0', sizeof(address)))
			strcpy(address, found);
	}
}

static void find_address(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], path[128] = "/proc/self/map_files/";
	int fd = -1;

	while (maps && fd < 0 && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "memfd:massif-session"))
			continue;
		strncat(path, line, strcspn(line, " "));
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	check(fd < 0, "session");
	find_address_in(fd);
	check(!*address, "no address");
	close(fd);
	fclose(maps);
}

/* Asks for the session memory of process @pid. Returns the answer's code, and stores the descriptor, or -1. */
static int borrow(pid_t pid, int *memory)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct mf_join_request request = { .magic = MF_JOIN_MAGIC, .verb = MF_JOIN_BORROW };
	struct mf_join_answer answer = { 0 };
	char message[sizeof(request) + 16], control[CMSG_SPACE(MF_JOIN_FDS * sizeof(int))];
	struct iovec part = { &answer, sizeof(answer) };
	struct msghdr received = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	size_t length = strcspn(address, ":"), bytes;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path + 1, address, length);
	memcpy(request.secret, address + length + 1, sizeof(request.secret));
	request.path_bytes = (uint32_t)snprintf(message + sizeof(request), 16, "%d", (int)pid);
	memcpy(message, &request, sizeof(request));
	bytes = sizeof(request) + request.path_bytes;
	check(connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
	      "connect");
	check(send(fd, message, bytes, 0) != (ssize_t)bytes, "send");
	check(recvmsg(fd, &received, 0) != sizeof(answer), "recvmsg");
	*memory = -1;
	if (received.msg_controllen)
		memcpy(memory, CMSG_DATA(CMSG_FIRSTHDR(&received)), sizeof(*memory));
	close(fd);
	return answer.code;
}

static void stay(void)
{
}

static void become_nobody(void)
{
	check(setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1), "setuid");
}

static void change_group(void)
{
	check(setgid(NOBODY), "setgid");
}

static void keep_saved_id(void)
{
	check(setresuid(NOBODY, NOBODY, 0), "setresuid");
}

static void keep_real_id(void)
{
	check(setresuid(0, NOBODY, NOBODY), "setresuid");
}

static void leave_users(void)
{
	check(unshare(CLONE_NEWUSER), "unshare");
}

static const struct {
	const char *name;
	void (*change)(void);
} ways[] = {
	{ "same", stay },
	{ "nobody", become_nobody },
	{ "group", change_group },
	{ "saved", keep_saved_id },
	{ "real", keep_real_id },
	{ "container", leave_users },
};

int main(void)
{
	pid_t parent = getpid();

	find_address();
	free(malloc(1000));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pid_t child = fork();
		char link[32];
		int memory, code;

		check(child < 0 || (child && waitpid(child, NULL, 0) != child), "fork");
		if (child)
			continue;
		ways[i].change();
		code = borrow(parent, &memory);
		printf("%s: %d", ways[i].name, code);
		if (memory >= 0) {
			printf(" %s", (fcntl(memory, F_GETFL) & O_ACCMODE) == O_RDONLY ? "reads" : "writes");
			if (!geteuid())
				become_nobody();
			snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
			printf(" %s", open(link, O_RDWR | O_CLOEXEC) < 0 ? "only" : "reopened");
		}
		printf("\n");
		fflush(stdout);
		_exit(0);
	}
	return 0;
}
