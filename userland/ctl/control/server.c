// SPDX-License-Identifier: GPL-2.0
// The control socket: answers requests from other massif-ctl commands about running profiles.

#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	/* maximum number of connections whose request is pending; if exceeded, the oldest is dropped */
	CONNS_MAX = 8,
	TRIES = 8,
};

struct mf_control {
	const struct mf_control_ops *ops;
	void *data;
	int poller, listener;
	int conns[CONNS_MAX]; /* connections whose request is pending, oldest first */
	int n_conns;
};

void mf_control_print_profile(FILE *out, pid_t pid, const char *mode, uint64_t bytes, int64_t ms,
			      const char *cmd)
{
	fprintf(out, "%d\t%s\t%" PRIu64 "\t%" PRId64 "\t", (int)pid, mode, bytes, ms);
	/* Replace control characters, so that each profile takes up one line. */
	for (; *cmd; cmd++)
		fputc((unsigned char)*cmd < ' ' ? ' ' : *cmd, out);
	fputc('\n', out);
}

static int listen_somewhere(int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	for (int i = 0; i < TRIES; i++) {
		uint64_t random;
		int length;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -errno;
		length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
				  MF_CONTROL_PREFIX "%d/%016" PRIx64, (int)getpid(), random);
		if (bind(fd, (struct sockaddr *)&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				     (size_t)length)) == 0)
			return listen(fd, CONNS_MAX) ? -errno : 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

static int watch(struct mf_control *control, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .fd = fd } };

	return epoll_ctl(control->poller, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int mf_control_open(const struct mf_control_ops *ops, void *data, struct mf_control **control,
		    struct mf_error *err)
{
	struct mf_control *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->ops = ops;
	made->data = data;
	made->poller = epoll_create1(EPOLL_CLOEXEC);
	made->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	code = made->poller < 0 || made->listener < 0 ? -errno : listen_somewhere(made->listener);
	if (!code)
		code = watch(made, made->listener);
	if (code) {
		mf_control_close(made);
		return mf_error_set(err, code,
				    "cannot create a socket for other massif-ctl commands: %s",
				    strerror(-code));
	}
	*control = made;
	return 0;
}

void mf_control_close(struct mf_control *control)
{
	if (!control)
		return;
	for (int i = 0; i < control->n_conns; i++)
		close(control->conns[i]);
	if (control->listener >= 0)
		close(control->listener);
	if (control->poller >= 0)
		close(control->poller);
	free(control);
}

int mf_control_fd(const struct mf_control *control)
{
	return control ? control->poller : -1;
}

static void drop(struct mf_control *control, int fd)
{
	int i = 0;

	while (i < control->n_conns && control->conns[i] != fd)
		i++;
	if (i == control->n_conns)
		return;
	memmove(&control->conns[i], &control->conns[i + 1],
		(size_t)(--control->n_conns - i) * sizeof(control->conns[0]));
	close(fd);
}

static void admit(struct mf_control *control)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid && peer.uid != geteuid()) || watch(control, fd)) {
		close(fd);
		return;
	}
	if (control->n_conns == CONNS_MAX)
		drop(control, control->conns[0]);
	control->conns[control->n_conns++] = fd;
}

/*
 * Sends an answer with @text, and with @fd unless it is negative. Drops the answer if the peer cannot receive it
 * immediately.
 */
static void send_answer(int guest, int code, const char *text, int fd)
{
	struct mf_control_answer answer = {
		.magic = MF_CONTROL_MAGIC,
		.code = code,
		.bytes = (uint32_t)strnlen(text, MF_CONTROL_TEXT),
	};
	struct iovec parts[] = {
		{ .iov_base = &answer, .iov_len = sizeof(answer) },
		{ .iov_base = (void *)text, .iov_len = answer.bytes },
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
			      .cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS,
		      } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t sent;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	sent = sendmsg(guest, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)sent;
}

static void answer_list(struct mf_control *control, int guest)
{
	mf_auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	control->ops->list(control->data, out);
	if (fclose(out) == 0)
		send_answer(guest, 0, text, -1);
}

static void answer_file(struct mf_control *control, int guest,
			const struct mf_control_request *request)
{
	mf_auto_close int fd = memfd_create("massif-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	mf_auto_fclose FILE *out = NULL;
	struct mf_error err = { "" };
	int code = -errno, copy;

	if (fd >= 0) {
		copy = dup(fd);
		out = copy < 0 ? NULL : fdopen(copy, "w");
		code = out ? 0 : -errno;
	}
	if (code)
		mf_error_set(&err, code, "cannot create a file in memory: %s", strerror(-code));
	else
		code = control->ops->snapshot(control->data, request->verb, request->pid, out,
					      &err);
	if (!code && (fflush(out) ||
		      fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)))
		code = mf_error_set(&err, -errno, "cannot create a file in memory: %s", strerror(errno));
	send_answer(guest, code, code ? err.text : "", code ? -1 : fd);
}

static void answer(struct mf_control *control, int guest)
{
	struct mf_control_request request;
	ssize_t size = recv(guest, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Invalid requests are not answered. */
	if (size == (ssize_t)sizeof(request) && request.magic == MF_CONTROL_MAGIC &&
	    request.verb < MF_CONTROL_VERBS && request.pid >= 0) {
		if (request.verb == MF_CONTROL_LIST)
			answer_list(control, guest);
		else
			answer_file(control, guest, &request);
	}
	drop(control, guest);
}

void mf_control_serve(struct mf_control *control)
{
	struct epoll_event events[CONNS_MAX + 1];
	int n = epoll_wait(control->poller, events, CONNS_MAX + 1, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == control->listener)
			admit(control);
		else
			answer(control, events[i].data.fd);
	}
}
