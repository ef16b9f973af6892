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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/join.h"
#include "descriptor.h"
#include "seccomp.h"
#include "session.h"

/*
 * Number of seconds to wait for an answer. Even looking up the names of a large program takes massif-ctl less time than
 * this. The limit keeps a stopped massif-ctl from blocking the program forever.
 */
#define PATIENCE_S 10
/* Number of seconds to wait for the result of a monitor command, for which massif-ctl may have to write a report. */
#define COMMAND_PATIENCE_S 60

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

/*
 * Returns whether the listening socket was created by root or by this process's user. The kernel remembers the creator.
 */
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
 * Stores in @fds the descriptors received with @header. Bit i of @carried is set if massif-ctl has sent a descriptor
 * for @fds[i]. The last descriptors may be missing: the kernel drops those that exceed this process's limit.
 */
static void sort_fds(const struct cmsghdr *header, uint32_t carried, int fds[MF_JOIN_FDS])
{
	size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int), next = 0;
	int received[MF_JOIN_FDS];

	if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS || n > MF_JOIN_FDS)
		return;
	memcpy(received, CMSG_DATA(header), n * sizeof(int));
	for (int i = 0; i < MF_JOIN_FDS && next < n; i++)
		if (carried & 1u << i)
			fds[i] = received[next++];
}

/*
 * Waits for an answer. Returns the answer's code, or -errno if no answer arrived. Only an answer with code 0 can carry
 * descriptors; they are stored in @fds, with -1 in place of any that are missing. Any text that follows the answer is
 * stored, NUL-terminated, in @text, which has room for @room bytes.
 */
static int receive_text(int fd, int fds[MF_JOIN_FDS], char *text, size_t room)
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

	for (int i = 0; i < MF_JOIN_FDS; i++)
		fds[i] = -1;
	if (size >= 0 && header)
		sort_fds(header, answer.fds, fds);
	if (size < (long)sizeof(answer) || answer.magic != MF_JOIN_MAGIC)
		return size < 0 ? (int)size : -EPROTO;
	if (room)
		text[(size_t)size - sizeof(answer) < room ? (size_t)size - sizeof(answer) : room - 1] = '\0';
	return answer.code;
}

static int receive(int fd, int fds[MF_JOIN_FDS])
{
	return receive_text(fd, fds, NULL, 0);
}

static struct mf_join_request make_request(enum mf_join_verb verb)
{
	struct mf_join_request request = { .magic = MF_JOIN_MAGIC, .verb = verb };

	memcpy(request.secret, secret, sizeof(secret));
	return request;
}

static int send_message(int fd, const struct msghdr *message)
{
	return (int)without_interruption(SYS_sendmsg, fd, (void *)message, MSG_NOSIGNAL);
}

static int send_verb(int fd, enum mf_join_verb verb)
{
	struct mf_join_request request = make_request(verb);
	struct iovec part = { .iov_base = &request, .iov_len = sizeof(request) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return send_message(fd, &message);
}

/*
 * ID of the process that has a session from massif-ctl, and the page that this process shares with massif-ctl. They are
 * 0 and NULL if there is no session or no page. A child inherits both values and keeps them until it calls
 * mf_join_leave(), but the page is not mapped in the child.
 */
static int joined;
static struct mf_join_page *page;

/*
 * Maps the page that this process shares with massif-ctl. @fd is the page's descriptor, or -1 if massif-ctl could not
 * pass it, for example because the limits are too low.
 */
static void map_page(int fd)
{
	long address;

	if (fd < 0)
		return;
	address = syscall(SYS_mmap, NULL, MF_JOIN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (address == -1)
		return;
	/*
	 * Keep the page that is shared with massif-ctl out of forked children: if a child held it, massif-ctl would not
	 * notice that this process has ended.
	 */
	if (syscall(SYS_madvise, address, MF_JOIN_PAGE_BYTES, MADV_DONTFORK)) {
		syscall(SYS_munmap, address, MF_JOIN_PAGE_BYTES);
		return;
	}
	syscall(SYS_madvise, address, MF_JOIN_PAGE_BYTES, MADV_DONTDUMP);
	page = (struct mf_join_page *)address;
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
	ret = send_message(fd, &message);
	ret = ret < 0 ? ret : receive(fd, fds);
	syscall(SYS_close, fd);
	if (ret || fds[MF_JOIN_FD_MEMORY] < 0)
		return ret ? ret : -EPROTO;
	joined = getpid();
	map_page(fds[MF_JOIN_FD_PAGE]);
	if (fds[MF_JOIN_FD_TRACE] >= 0)
		*trace = mf_descriptor_move_high(fds[MF_JOIN_FD_TRACE]);
	return fds[MF_JOIN_FD_MEMORY];
}

/* Sends a request without text and waits for the answer. Returns the answer's code or -errno. */
static int ask(int fd, enum mf_join_verb verb, int fds[MF_JOIN_FDS])
{
	int ret = send_verb(fd, verb);

	return ret < 0 ? ret : receive(fd, fds);
}

/* Like ask(), but opens a connection to massif-ctl for this request only. */
static int ask_once(enum mf_join_verb verb, int fds[MF_JOIN_FDS])
{
	int fd = call(), ret;

	if (fd < 0)
		return fd;
	ret = ask(fd, verb, fds);
	syscall(SYS_close, fd);
	return ret;
}

/* Sends a request without text. The answer, if there is one, is ignored. */
static void send_once(enum mf_join_verb verb)
{
	int fd = call();

	if (fd < 0)
		return;
	send_verb(fd, verb);
	syscall(SYS_close, fd);
}

bool mf_join_fork(struct mf_join_child *child)
{
	int fds[MF_JOIN_FDS], fd = call();

	if (fd < 0)
		return false;
	/*
	 * Store the descriptor in @child at once: if another thread forks now, its child inherits the descriptor, and
	 * closes those that it finds in @child.
	 */
	child->connection = fd;
	if (ask(fd, MF_JOIN_FORK, fds)) {
		mf_join_forget(child);
		return false;
	}
	if (fds[MF_JOIN_FD_PAGE] >= 0)
		child->page = mf_descriptor_move_high(fds[MF_JOIN_FD_PAGE]);
	return true;
}

bool mf_join_go_on(void)
{
	int fds[MF_JOIN_FDS];

	return !ask_once(MF_JOIN_GO_ON, fds);
}

bool mf_join_born(struct mf_join_child *child)
{
	int fds[MF_JOIN_FDS];

	if (ask(child->connection, MF_JOIN_BORN, fds))
		return false;
	joined = getpid();
	map_page(child->page ? child->page : -1);
	child->page = 0;
	return true;
}

void mf_join_forget(struct mf_join_child *child)
{
	if (child->connection > 0)
		syscall(SYS_close, child->connection);
	if (child->page > 0)
		syscall(SYS_close, child->page);
	*child = (struct mf_join_child){ 0 };
}

int mf_join_copy(void)
{
	int fds[MF_JOIN_FDS], ret = ask_once(MF_JOIN_COPY, fds);

	if (ret)
		return ret < 0 ? ret : -EPROTO;
	return fds[MF_JOIN_FD_MEMORY] < 0 ? -EPROTO : mf_descriptor_move_high(fds[MF_JOIN_FD_MEMORY]);
}

void mf_join_without(void)
{
	if (page)
		__atomic_store_n(&page->without, 1, __ATOMIC_RELAXED);
	else
		send_once(MF_JOIN_WITHOUT);
}

void mf_join_leave(void)
{
	joined = 0;
	page = NULL;
}

void mf_join_executing(bool begins)
{
	int fds[MF_JOIN_FDS];

	/*
	 * A vfork child shares its parent's variables. @joined is then the parent's ID, and the session is the
	 * parent's.
	 */
	if (mf_seccomp_is_on() || !joined || joined != getpid())
		return;
	/*
	 * Report the exec, or its failure, in the page that this process shares with massif-ctl, or by a message if
	 * there is no such page. A child that was made without calling the fork handlers sends a message, too, because
	 * the page is not mapped in it. Such a child has no active session. (It gets here only if it is in another PID
	 * namespace and happens to have the same pid there as the process that joined.)
	 */
	if (!page || !mf_session_is_active()) {
		ask_once(begins ? MF_JOIN_EXECUTES : MF_JOIN_STAYS, fds);
		return;
	}
	__atomic_store_n(&page->executes, begins, __ATOMIC_RELAXED);
	/* The exec has failed, so tell massif-ctl not to expect the program that mf_join_starts() announced. */
	if (!begins && mf_session_store.header->traces_children)
		send_once(MF_JOIN_STAYS);
}

/*
 * Maximum length in bytes of a working directory that is prepended to a relative path. If the directory is longer, the
 * path stays relative, and massif-ctl looks up the process's directory itself.
 */
#define DIRECTORY_MAX 1024

void mf_join_starts(const char *path, const char *directories)
{
	struct mf_join_request request = make_request(MF_JOIN_STARTS);
	int saved = errno, fd = call();
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
		/* The length that getcwd(2) returns includes the NUL. Replace the NUL with a slash. */
		long length = syscall(SYS_getcwd, directory, sizeof(directory));

		if (length > 0) {
			directory[length - 1] = '/';
			parts[1].iov_len = (size_t)length;
		}
	}
	request.path_bytes = (uint32_t)(parts[1].iov_len + parts[2].iov_len);
	if (fd >= 0 && request.path_bytes <= MF_JOIN_PATH_MAX)
		send_message(fd, &message);
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
}

#define DIGITS 12 /* maximum number of bytes in the decimal representation of an int, including sign and NUL */

/*
 * Writes @number (>= 0) in decimal so that the text ends at the end of @digits. Returns the start of the text, which is
 * empty if @number is 0.
 */
static const char *print_number(char digits[DIGITS], int number)
{
	char *at = digits + DIGITS - 1;

	for (*at = '\0'; number > 0; number /= 10)
		*--at = (char)('0' + number % 10);
	return at;
}

/* Sends massif-ctl a request with two strings. Returns 0 or -errno. */
static int send_texts(int fd, enum mf_join_verb verb, const char *path, const char *arg)
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
	ret = send_message(fd, &message);
	return ret < 0 ? ret : 0;
}

void mf_join_leaves(const char *path, int code)
{
	int saved = errno, fds[MF_JOIN_FDS], fd = call();
	char digits[DIGITS];

	if (fd >= 0) {
		if (!send_texts(fd, MF_JOIN_LEAVES, path, print_number(digits, -code)))
			receive(fd, fds);
		syscall(SYS_close, fd);
	}
	errno = saved;
}

int mf_join_borrow(int parent)
{
	int fds[MF_JOIN_FDS], fd = call(), ret;
	char digits[DIGITS];

	if (fd < 0)
		return fd;
	ret = send_texts(fd, MF_JOIN_BORROW, print_number(digits, parent), "");
	ret = ret ? ret : receive(fd, fds);
	syscall(SYS_close, fd);
	if (ret)
		return ret < 0 ? ret : -EPROTO;
	return fds[MF_JOIN_FD_MEMORY] < 0 ? -EPROTO : fds[MF_JOIN_FD_MEMORY];
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
	ret = send_texts(fd, MF_JOIN_COMMAND, text, "");
	ret = ret ? ret : receive_text(fd, fds, file->name, sizeof(file->name));
	if (ret || fds[MF_JOIN_FD_MEMORY] < 0) {
		syscall(SYS_close, fd);
		return ret;
	}
	file->connection = fd;
	file->contents = fds[MF_JOIN_FD_MEMORY];
	return 0;
}

void mf_join_written(const struct mf_join_file *file, const char *path, int code)
{
	char digits[DIGITS];

	send_texts(file->connection, MF_JOIN_WRITTEN, path, print_number(digits, -code));
	syscall(SYS_close, file->contents);
	syscall(SYS_close, file->connection);
}
