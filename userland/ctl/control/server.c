// SPDX-License-Identifier: GPL-2.0
// The control socket: answers requests from other massif-ctl commands about running profiles.

#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
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
#include "base/reopen.h"

enum {
	/* maximum number of connections whose request is pending; if exceeded, the oldest is dropped */
	CONNS_MAX = 8,
	WATCHERS_MAX = 8, /* maximum number of connections that watch profiles; one more is refused */
	TRIES = 8,
};

struct mf_control {
	const struct mf_control_ops *ops;
	void *data;
	int poller, listener;
	/* descriptor of /dev/null, closed for a moment to refuse connections when there is no other descriptor; or -1 */
	int reserve;
	int conns[CONNS_MAX]; /* connections whose request is pending, oldest first */
	int n_conns;
	int watchers[WATCHERS_MAX]; /* connections that stay open */
	int n_watchers;
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

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
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
	made->reserve = open_reserve();
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
	for (int i = 0; i < control->n_watchers; i++)
		close(control->watchers[i]);
	if (control->reserve >= 0)
		close(control->reserve);
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

/* Removes @fd from the @n connections in @conns. Returns whether it was there. */
static bool take_out(int *conns, int *n, int fd)
{
	int i = 0;

	while (i < *n && conns[i] != fd)
		i++;
	if (i == *n)
		return false;
	memmove(&conns[i], &conns[i + 1], (size_t)(--*n - i) * sizeof(conns[0]));
	return true;
}

static void drop(struct mf_control *control, int fd)
{
	if (take_out(control->conns, &control->n_conns, fd) ||
	    take_out(control->watchers, &control->n_watchers, fd))
		close(fd);
}

/*
 * Refuses the next connection when there is no descriptor for it. Otherwise the listening socket would stay readable,
 * and the main loop would not sleep. If even the reserve cannot be opened again, tries again at the next connection.
 */
static void refuse(struct mf_control *control)
{
	int fd;

	if (control->reserve >= 0)
		close(control->reserve);
	fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	control->reserve = open_reserve();
}

static void admit(struct mf_control *control)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		refuse(control);
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
 * Sends a message with @text, and with @fd unless it is negative. Drops the message if the peer cannot receive it
 * immediately.
 */
static void send_message(int guest, enum mf_control_kind kind, int code, const char *text, int fd)
{
	struct mf_control_answer answer = {
		.magic = MF_CONTROL_MAGIC,
		.kind = kind,
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

static void send_answer(int guest, int code, const char *text, int fd)
{
	send_message(guest, MF_CONTROL_ANSWER, code, text, fd);
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

/* Keeps the connection @guest open. Returns false if there are too many. */
static bool keep_open(struct mf_control *control, int guest)
{
	for (int i = 0; i < control->n_watchers; i++)
		if (control->watchers[i] == guest)
			return true;
	if (control->n_watchers == WATCHERS_MAX)
		return false;
	take_out(control->conns, &control->n_conns, guest);
	control->watchers[control->n_watchers++] = guest;
	return true;
}

/* Returns whether the connection stays open. */
static bool answer_watch(struct mf_control *control, int guest, pid_t pid)
{
	struct mf_control_watched watched = { .memory = -1 };
	mf_auto_free char *text = NULL;
	mf_auto_close int fd = -1;
	struct mf_error err;
	bool kept = keep_open(control, guest);
	int code;

	if (!kept)
		code = mf_error_set(&err, -EBUSY, "%d other commands already watch this profile", WATCHERS_MAX);
	else
		code = control->ops->watch(control->data, pid, &watched, &err);
	if (!code) {
		/* The client is this user's or root's, and only reads. Its mistakes must not change the session. */
		fd = mf_reopen_to_read(watched.memory);
		if (fd < 0)
			code = mf_error_set(&err, fd, "cannot open the memory of the profile: %s", strerror(-fd));
	}
	if (!code && asprintf(&text, "%d\t%s\t%" PRIu64 "\t%.4096s", (int)watched.pid, watched.mode, watched.start_ns,
			      watched.cmd) < 0)
		code = mf_error_set(&err, -ENOMEM, "out of memory");
	send_answer(guest, code, code ? err.text : text, code ? -1 : fd);
	return kept;
}

/* Answers a valid request. Returns whether the connection stays open. */
static bool answer_request(struct mf_control *control, int guest, const struct mf_control_request *request)
{
	switch (request->verb) {
	case MF_CONTROL_LIST:
		answer_list(control, guest);
		return false;
	case MF_CONTROL_WATCH:
		return answer_watch(control, guest, request->pid);
	default:
		answer_file(control, guest, request);
		return false;
	}
}

static void answer(struct mf_control *control, int guest)
{
	struct mf_control_request request;
	ssize_t size = recv(guest, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Invalid requests are not answered. */
	if (size == (ssize_t)sizeof(request) && request.magic == MF_CONTROL_MAGIC &&
	    request.verb < MF_CONTROL_VERBS && request.pid >= 0 && answer_request(control, guest, &request))
		return;
	drop(control, guest);
}

void mf_control_serve(struct mf_control *control)
{
	struct epoll_event events[CONNS_MAX + WATCHERS_MAX + 1];
	int n = epoll_wait(control->poller, events, CONNS_MAX + WATCHERS_MAX + 1, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == control->listener)
			admit(control);
		else
			answer(control, events[i].data.fd);
	}
}

static void tell_written(void *data, pid_t pid, const char *path)
{
	const struct mf_control *control = data;
	mf_auto_free char *directory = *path == '/' ? NULL : getcwd(NULL, 0), *text = NULL;

	if (asprintf(&text, "%d\t%s%s%s", (int)pid, directory ?: "", directory ? "/" : "", path) < 0)
		return;
	for (int i = 0; i < control->n_watchers; i++)
		send_message(control->watchers[i], MF_CONTROL_WRITTEN, 0, text, -1);
}

void mf_control_follow(struct mf_control *control, struct mf_outputs *outputs)
{
	mf_outputs_tell(outputs, control ? tell_written : NULL, control);
}
