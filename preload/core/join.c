// SPDX-License-Identifier: GPL-2.0
// Asks massif-ctl for this process's own session.
//
// Uses bare system calls: the C library's functions for them are cancellation points, and the program or another
// preloaded library may define functions of the same names.

#include "join.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/join.h"
#include "descriptor.h"
#include "seccomp.h"

/*
 * Number of seconds to wait for an answer. massif-ctl needs less than that even to look up the names of a large
 * program. The limit keeps a stopped massif-ctl from blocking the program forever.
 */
#define PATIENCE_S 10
#define COMMAND_PATIENCE_S 60 /* seconds; more, because massif-ctl may have to write a report first */

static char name[MF_JOIN_NAME_MAX];
static char secret[MF_JOIN_SECRET_DIGITS];

/* Parses a file descriptor number into *@number; stores -1 if there is none. Returns the rest of the text. */
static char *parse_number(char *text, int *number)
{
	long value = 0;
	char *start = text;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value > INT_MAX / 10 ? value : value * 10 + *text - '0';
	*number = text > start && value <= INT_MAX ? (int)value : -1;
	return text;
}

int mf_join_read(char *value, char **rest)
{
	char *colon;
	int fd;

	*rest = NULL;
	value = parse_number(value, &fd);
	if (!*value)
		return fd;
	colon = strchr(value, ':');
	if (*value != '@' || !colon || (size_t)(colon - value) > sizeof(name) ||
	    strlen(colon + 1) != sizeof(secret))
		return -1;
	memset(name, 0, sizeof(name));
	memcpy(name, value + 1, (size_t)(colon - value) - 1);
	memcpy(secret, colon + 1, sizeof(secret));
	*rest = value;
	return fd;
}

static long without_interruption(long number, int fd, void *pointer, long more)
{
	long ret;

	do
		ret = syscall(number, fd, pointer, more);
	while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

/* Was the listening socket created by root or by this process's user? The kernel remembers the creator. */
static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (!peer.uid || peer.uid == geteuid() || peer.uid == getuid());
}

/* Connects to massif-ctl. Returns the connection or -errno. */
static int call(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	size_t length = strnlen(name, sizeof(name));
	int fd, ret;

	if (!length)
		return -ENOTCONN;
	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	memcpy(address.sun_path + 1, name, length);
	ret = (int)without_interruption(SYS_connect, fd, &address,
					(long)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	if (!ret && !is_ours(fd))
		ret = -EPERM;
	if (!ret)
		return mf_descriptor_move_high(fd);
	syscall(SYS_close, fd);
	return ret;
}

/*
 * Waits for an answer. Returns the answer's code, or -errno if there was none. Only an answer with code 0 can carry
 * descriptors; @fds receives them, or -1 for each missing one. Text that follows the answer is stored, NUL-terminated,
 * in @text, which has room for @room bytes.
 */
static int hear_text(int fd, int fds[MF_JOIN_FDS], char *text, size_t room)
{
	struct mf_join_answer answer = { 0 };
	struct iovec parts[] = {
		{ .iov_base = &answer, .iov_len = sizeof(answer) },
		{ .iov_base = text, .iov_len = room },
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MF_JOIN_FDS * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = parts, .msg_iovlen = 2,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	long size = without_interruption(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	fds[0] = fds[1] = -1;
	if (size >= 0 && header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS && header->cmsg_len >= CMSG_LEN(sizeof(int)) &&
	    header->cmsg_len <= CMSG_LEN(MF_JOIN_FDS * sizeof(int)))
		memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	if (size < (long)sizeof(answer) || answer.magic != MF_JOIN_MAGIC)
		return size < 0 ? (int)size : -EPROTO;
	if (room)
		text[(size_t)size - sizeof(answer) < room ? (size_t)size - sizeof(answer) : room - 1] = '\0';
	return answer.code;
}

static int hear(int fd, int fds[MF_JOIN_FDS])
{
	return hear_text(fd, fds, NULL, 0);
}

static struct mf_join_request make_request(enum mf_join_verb verb)
{
	struct mf_join_request request = { .magic = MF_JOIN_MAGIC, .verb = verb };

	memcpy(request.secret, secret, sizeof(secret));
	return request;
}

static int tell(int fd, const struct msghdr *message, int flags)
{
	return (int)without_interruption(SYS_sendmsg, fd, (void *)message, MSG_NOSIGNAL | flags);
}

static int tell_verb(int fd, enum mf_join_verb verb, int flags)
{
	struct mf_join_request request = make_request(verb);
	struct iovec part = { .iov_base = &request, .iov_len = sizeof(request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return tell(fd, &message, flags);
}

/* The open connection to massif-ctl, and the process that opened it; both 0 if there is none. */
static int connection, owner;
static struct stat connection_file;

static void keep(int fd)
{
	if (fstat(fd, &connection_file))
		return;
	owner = getpid();
	connection = fd;
}

/*
 * Is @connection still our socket? The program may have closed the descriptor and opened another file under the same
 * number.
 */
static bool is_still_there(void)
{
	struct stat now;

	return connection && !mf_seccomp_is_on() && fstat(connection, &now) == 0 &&
	       now.st_dev == connection_file.st_dev && now.st_ino == connection_file.st_ino;
}

int mf_join_executed(long argc, char *const *argv, int *trace)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	struct mf_join_request request = make_request(MF_JOIN_EXECUTED);
	struct iovec parts[] = {
		{ .iov_base = &request, .iov_len = sizeof(request) },
		{ .iov_base = (void *)(path ? path : "") },
		{ .iov_base = (void *)(argc > 0 ? argv[0] : "") },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	int fds[MF_JOIN_FDS], fd = call(), ret;

	*trace = -1;
	if (fd < 0)
		return fd;
	parts[1].iov_len = request.path_bytes =
		(uint32_t)strnlen(parts[1].iov_base, MF_JOIN_PATH_MAX);
	/* The kernel stores the argument strings contiguously, so they can be sent as one piece. */
	if (argc > 0) {
		size_t bytes = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);

		/* massif-ctl recognises a truncated list by the missing NUL at its end. */
		if (bytes > MF_JOIN_ARGS_MAX)
			bytes = MF_JOIN_ARGS_MAX - !argv[0][MF_JOIN_ARGS_MAX - 1];
		parts[2].iov_len = request.args_bytes = (uint32_t)bytes;
	}
	ret = tell(fd, &message, 0);
	ret = ret < 0 ? ret : hear(fd, fds);
	if (!ret && fds[0] < 0)
		ret = -EPROTO;
	if (ret) {
		syscall(SYS_close, fd);
		return ret;
	}
	keep(fd);
	if (fds[1] >= 0)
		*trace = mf_descriptor_move_high(fds[1]);
	return fds[0];
}

/* Sends a request without text and waits for the answer. Returns the answer's code or -errno. */
static int ask(int fd, enum mf_join_verb verb, int fds[MF_JOIN_FDS])
{
	int ret = tell_verb(fd, verb, 0);

	return ret < 0 ? ret : hear(fd, fds);
}

int mf_join_fork(void)
{
	int fds[MF_JOIN_FDS], fd = call(), ret;

	if (fd < 0)
		return fd;
	ret = ask(fd, MF_JOIN_FORK, fds);
	if (!ret)
		return fd;
	syscall(SYS_close, fd);
	return ret < 0 ? ret : -EPROTO;
}

bool mf_join_go_on(void)
{
	int fds[MF_JOIN_FDS], fd = call(), ret;

	if (fd < 0)
		return false;
	ret = ask(fd, MF_JOIN_GO_ON, fds);
	syscall(SYS_close, fd);
	return !ret;
}

bool mf_join_born(int fd)
{
	int fds[MF_JOIN_FDS];

	if (ask(fd, MF_JOIN_BORN, fds))
		return false;
	keep(fd);
	return true;
}

int mf_join_copy(void)
{
	bool stands = is_still_there();
	int fds[MF_JOIN_FDS], fd = stands ? connection : call(), ret;

	if (fd < 0)
		return fd;
	ret = ask(fd, MF_JOIN_COPY, fds);
	if (!stands)
		syscall(SYS_close, fd);
	if (ret)
		return ret < 0 ? ret : -EPROTO;
	return fds[0] < 0 ? -EPROTO : mf_descriptor_move_high(fds[0]);
}

void mf_join_without(void)
{
	if (is_still_there())
		tell_verb(connection, MF_JOIN_WITHOUT, MSG_DONTWAIT);
}

void mf_join_leave(void)
{
	if (is_still_there())
		syscall(SYS_close, connection);
	connection = owner = 0;
}

void mf_join_executing(bool begins)
{
	enum mf_join_verb verb = begins ? MF_JOIN_EXECUTES : MF_JOIN_STAYS;
	int fds[MF_JOIN_FDS], fd;

	/* A vfork child shares this memory, but the connection belongs to its parent. */
	if (mf_seccomp_is_on() || !owner || owner != getpid())
		return;
	if (is_still_there()) {
		tell_verb(connection, verb, MSG_DONTWAIT);
		return;
	}
	/* The program has closed the descriptor: many programs close all unknown descriptors before they call exec. */
	fd = call();
	if (fd < 0)
		return;
	if (tell_verb(fd, verb, 0) >= 0)
		hear(fd, fds);
	syscall(SYS_close, fd);
}

/*
 * Maximum length in bytes of a working directory that is prepended to a relative path. If the directory is longer, the
 * path stays relative, and massif-ctl looks up the process's directory itself.
 */
#define DIRECTORY_MAX 1024

void mf_join_starts(const char *path, const char *directories)
{
	struct mf_join_request request = make_request(MF_JOIN_STARTS);
	bool stands = owner && owner == getpid() && is_still_there();
	int saved = errno, fd = stands ? connection : call();
	char directory[DIRECTORY_MAX];
	struct iovec parts[] = {
		{ .iov_base = &request, .iov_len = sizeof(request) },
		{ .iov_base = directory },
		{ .iov_base = (void *)path, .iov_len = strnlen(path, MF_JOIN_PATH_MAX) },
		{ .iov_base = (void *)directories },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 4 };

	if (directories) {
		request.args_bytes = (uint32_t)strnlen(directories, MF_JOIN_ARGS_MAX);
		parts[3].iov_len = request.args_bytes;
	} else if (*path != '/') {
		/* The length includes the NUL, which a slash replaces. */
		long length = syscall(SYS_getcwd, directory, sizeof(directory));

		if (length > 0) {
			directory[length - 1] = '/';
			parts[1].iov_len = (size_t)length;
		}
	}
	request.path_bytes = (uint32_t)(parts[1].iov_len + parts[2].iov_len);
	if (fd >= 0 && request.path_bytes <= MF_JOIN_PATH_MAX)
		tell(fd, &message, stands ? MSG_DONTWAIT : 0);
	if (fd >= 0 && !stands)
		syscall(SYS_close, fd);
	errno = saved;
}

#define DIGITS 12 /* size of an int as decimal text, with sign and NUL */

/*
 * Writes @number (>= 0) in decimal to the end of @digits. Returns the beginning of the text, which is empty if @number
 * is 0.
 */
static const char *print_number(char digits[DIGITS], int number)
{
	char *at = digits + DIGITS - 1;

	for (*at = '\0'; number > 0; number /= 10)
		*--at = (char)('0' + number % 10);
	return at;
}

/* Sends a request with two texts. Returns 0 or -errno. */
static int tell_texts(int fd, enum mf_join_verb verb, const char *path, const char *arg)
{
	struct mf_join_request request = make_request(verb);
	struct iovec parts[] = {
		{ .iov_base = &request, .iov_len = sizeof(request) },
		{ .iov_base = (void *)path, .iov_len = strnlen(path, MF_JOIN_PATH_MAX) },
		{ .iov_base = (void *)arg, .iov_len = strnlen(arg, MF_JOIN_ARGS_MAX) },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	int ret;

	request.path_bytes = (uint32_t)parts[1].iov_len;
	request.args_bytes = (uint32_t)parts[2].iov_len;
	ret = tell(fd, &message, 0);
	return ret < 0 ? ret : 0;
}

int mf_join_borrow(int parent)
{
	int fds[MF_JOIN_FDS], fd = call(), ret;
	char digits[DIGITS];

	if (fd < 0)
		return fd;
	ret = tell_texts(fd, MF_JOIN_BORROW, print_number(digits, parent), "");
	ret = ret ? ret : hear(fd, fds);
	syscall(SYS_close, fd);
	if (ret)
		return ret < 0 ? ret : -EPROTO;
	return fds[0] < 0 ? -EPROTO : fds[0];
}

int mf_join_command(const char *text, struct mf_join_file *file)
{
	struct timeval patience = { .tv_sec = COMMAND_PATIENCE_S };
	int fds[MF_JOIN_FDS], fd = call(), ret;

	_Static_assert(sizeof(file->name) == MF_JOIN_PATH_MAX, "a name's room");
	file->connection = file->contents = -1;
	if (fd < 0)
		return fd;
	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ret = tell_texts(fd, MF_JOIN_COMMAND, text, "");
	ret = ret ? ret : hear_text(fd, fds, file->name, sizeof(file->name));
	if (ret || fds[0] < 0) {
		syscall(SYS_close, fd);
		return ret;
	}
	file->connection = fd;
	file->contents = fds[0];
	return 0;
}

void mf_join_written(const struct mf_join_file *file, const char *path, int code)
{
	char digits[DIGITS];

	tell_texts(file->connection, MF_JOIN_WRITTEN, path, print_number(digits, -code));
	syscall(SYS_close, file->contents);
	syscall(SYS_close, file->connection);
}
