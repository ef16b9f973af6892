// SPDX-License-Identifier: GPL-2.0
// The socket through which processes join: creates it, checks who may use it, receives requests and sends answers.

#include "join_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { BACKLOG = 128 };

static int make_secret(char secret[MF_JOIN_SECRET_DIGITS + 1])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	snprintf(secret, MF_JOIN_SECRET_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	return 0;
}

static int listen_at(struct mf_join_server *join_server, const char *name, size_t length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path + 1, name, length);
	if (bind(join_server->listener, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
	    listen(join_server->listener, BACKLOG))
		return -errno;
	snprintf(join_server->address, sizeof(join_server->address), "%.*s:%s", (int)length, name, join_server->secret);
	return 0;
}

static int listen_anew(struct mf_join_server *join_server)
{
	uint64_t random;
	char name[MF_JOIN_NAME_MAX];
	int ret = make_secret(join_server->secret), length;

	if (ret)
		return ret;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -errno;
	length = snprintf(name, sizeof(name), MF_JOIN_PREFIX "%d/%016" PRIx64, (int)getpid(),
			  random);
	return listen_at(join_server, name, (size_t)length);
}

/* Listens on the address that an earlier massif-ctl used. Returns 0 or -errno. */
static int listen_again(struct mf_join_server *join_server, const char *address)
{
	size_t length = strcspn(address, ":");

	if (strncmp(address, MF_JOIN_PREFIX, strlen(MF_JOIN_PREFIX)) || length >= MF_JOIN_NAME_MAX ||
	    strlen(address) != length + 1 + MF_JOIN_SECRET_DIGITS)
		return -EINVAL;
	strcpy(join_server->secret, address + length + 1);
	return listen_at(join_server, address, length);
}

int mf_join_server_open(struct mf_join_server *join_server, const char *address)
{
	int yes = 1;

	join_server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Receive the sender's credentials with each message. Accepted connections inherit this option. */
	if (join_server->listener < 0 ||
	    setsockopt(join_server->listener, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)))
		return -errno;
	return address && !listen_again(join_server, address) ? 0 : listen_anew(join_server);
}

void mf_join_server_close(struct mf_join_server *join_server)
{
	if (join_server->listener >= 0)
		close(mf_take(join_server->listener, -1));
}

int mf_join_server_answer_text(int guest, int code, const int fds[MF_JOIN_FDS], const char *text)
{
	struct mf_join_answer head = {.magic = MF_JOIN_MAGIC, .code = code, .fds = 0};
	struct iovec parts[] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = (void *)text, .iov_len = strlen(text)},
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(MF_JOIN_FDS * sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	size_t n = 0;

	for (int i = 0; fds && i < MF_JOIN_FDS; i++) {
		if (fds[i] < 0)
			continue;
		memcpy(CMSG_DATA(&control.header) + n++ * sizeof(int), &fds[i], sizeof(int));
		head.fds |= 1u << i;
	}
	if (n) {
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	return sendmsg(guest, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int mf_join_server_answer(int guest, int code, const int fds[MF_JOIN_FDS])
{
	return mf_join_server_answer_text(guest, code, fds, "");
}

/* Checks that @request is well-formed and contains the secret of @join_server (see protocol/join.h). */
static bool is_legitimate(const struct mf_join_server *join_server, const struct mf_join_request *request,
			  size_t size)
{
	unsigned char differs = 0;

	if (size < sizeof(*request) || request->magic != MF_JOIN_MAGIC ||
	    request->verb >= MF_JOIN_VERBS || request->path_bytes > MF_JOIN_PATH_MAX ||
	    request->args_bytes > MF_JOIN_ARGS_MAX ||
	    size != sizeof(*request) + request->path_bytes + request->args_bytes)
		return false;
	for (size_t i = 0; i < MF_JOIN_SECRET_DIGITS; i++)
		differs |= (unsigned char)(request->secret[i] ^ join_server->secret[i]);
	return !differs;
}

int mf_join_server_receive(const struct mf_join_server *join_server, int guest, struct mf_request *join_request)
{
	char text[MF_JOIN_PATH_MAX + MF_JOIN_ARGS_MAX];
	struct iovec parts[] = {
		{.iov_base = &join_request->request, .iov_len = sizeof(join_request->request)},
		{.iov_base = text, .iov_len = sizeof(text)},
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(guest, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	struct ucred sender;
	uint32_t n;

	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(sender)) ||
	    !is_legitimate(join_server, &join_request->request, (size_t)size))
		return -EPROTO;
	memcpy(&sender, CMSG_DATA(header), sizeof(sender));
	join_request->pid = sender.pid;
	join_request->uid = sender.uid;
	join_request->gid = sender.gid;
	/* NUL-terminate the path and the arguments, whatever the client has sent. */
	n = join_request->request.path_bytes;
	memcpy(join_request->text, text, n);
	join_request->text[n] = '\0';
	memcpy(join_request->text + n + 1, text + n, join_request->request.args_bytes);
	join_request->text[n + 1 + join_request->request.args_bytes] = '\0';
	join_request->path = join_request->text;
	join_request->args = join_request->text + n + 1;
	return 1;
}
