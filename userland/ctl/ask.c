// SPDX-License-Identifier: GPL-2.0
// Asks running aggregators for their profiles.

#include "ctl/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	PATIENCE_S = 60, /* symbols of a large program take their time */
	CONNECT_TRIES = 5, /* others may be before us; but a socket that never accepts is no aggregator */
	CONNECT_WAIT_MS = 10,
};

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* As connect(), but does not wait for ever where the queue is full. */
static int connect_soon(int fd, const struct sockaddr_un *address, socklen_t size)
{
	for (int i = 0; i < CONNECT_TRIES; i++) {
		if (connect(fd, (const struct sockaddr *)address, size) == 0)
			return 0;
		if (errno != EAGAIN)
			return -errno;
		poll(NULL, 0, CONNECT_WAIT_MS);
	}
	return -EAGAIN;
}

/* Connects to the abstract @name, if it is of who we believe. Returns a descriptor or -errno. */
static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	mf_auto_close int fd = -1;
	size_t length = strlen(name);
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int code;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	code = connect_soon(fd, &address,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
	if (code)
		return code;
	/* From here on it waits, and not too long. */
	fcntl(fd, F_SETFL, 0);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	if (geteuid() && peer.uid != geteuid())
		return -EPERM;
	return mf_take(fd, -1);
}

/* The descriptor in @message, or -1; there is room for one. */
static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	int fd;

	if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
	    control->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

/*
 * One question and its answer. *@text is owned by the caller. *@fd is -1 if none came. Returns what
 * the aggregator says, or -EPROTO when it does not speak our language.
 */
static int ask(const char *name, enum mf_control_verb verb, pid_t pid, char **text, int *fd)
{
	struct mf_control_request request = {
		.magic = MF_CONTROL_MAGIC,
		.verb = verb,
		.pid = pid,
	};
	mf_auto_free char *space = calloc(1, MF_CONTROL_TEXT + 1);
	struct mf_control_answer answer;
	struct iovec parts[] = {
		{ .iov_base = &answer, .iov_len = sizeof(answer) },
		{ .iov_base = space, .iov_len = MF_CONTROL_TEXT },
	};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	mf_auto_close int guest = connect_to(name);
	ssize_t size;

	*fd = -1;
	if (guest < 0)
		return guest;
	if (!space)
		return -ENOMEM;
	if (send(guest, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return -errno;
	size = recvmsg(guest, &message, MSG_CMSG_CLOEXEC);
	if (size < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*fd = take_descriptor(&message);
	if (size < (ssize_t)sizeof(answer) || answer.magic != MF_CONTROL_MAGIC ||
	    answer.bytes != (size_t)size - sizeof(answer)) {
		if (*fd >= 0)
			close(mf_take(*fd, -1));
		return -EPROTO;
	}
	*text = mf_take(space, NULL);
	return answer.code;
}

/* Takes a line of a list apart, at its tabs. */
static int add_line(struct mf_profiled_list *list, const char *socket, const char *line)
{
	struct mf_profiled *items, *item;
	char mode[16];
	int pid, at = 0;

	items = realloc(list->items, (list->count + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	item = &items[list->count];
	*item = (struct mf_profiled){ 0 };
	if (sscanf(line, "%d\t%15[^\t]\t%" SCNu64 "\t%" SCNd64 "\t%n", &pid, mode, &item->bytes,
		   &item->ms, &at) != 4 || !at)
		return 0;
	item->pid = pid;
	item->is_first = !list->count || strcmp(items[list->count - 1].socket, socket) != 0;
	item->socket = strdup(socket);
	item->mode = strdup(mode);
	item->cmd = strdup(line + at);
	/* Of any user, to root: nothing that a terminal would obey. */
	for (char *c = item->cmd; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	list->count++;
	return item->socket && item->mode && item->cmd ? 0 : -ENOMEM;
}

static int add_aggregator(struct mf_profiled_list *list, const char *socket)
{
	mf_auto_free char *text = NULL;
	mf_auto_close int fd = -1;
	int code = ask(socket, MF_CONTROL_LIST, 0, &text, &fd);
	char *rest = NULL;

	/* It ended meanwhile, or is not what its name says. */
	if (code)
		return 0;
	for (char *line = strtok_r(text, "\n", &rest); line && !code;
	     line = strtok_r(NULL, "\n", &rest))
		code = add_line(list, socket, line);
	return code;
}

int mf_ask_list(struct mf_profiled_list *list, struct mf_error *err)
{
	mf_auto_fclose FILE *sockets = fopen("/proc/net/unix", "re");
	mf_auto_free char *line = NULL;
	size_t room = 0;
	int code = 0;

	*list = (struct mf_profiled_list){ 0 };
	if (!sockets)
		return mf_error_set(err, -errno,
				    "cannot look for running profiles: /proc/net/unix: %s",
				    strerror(errno));
	while (!code && getline(&line, &room, sockets) > 0) {
		/* Only a socket that listens has its name there once; connections have it, too. */
		char *name = strstr(line, " @" MF_CONTROL_PREFIX);
		unsigned int flags;

		if (!name || sscanf(line, "%*s %*x %*x %x", &flags) != 1 || !(flags & 0x10000))
			continue;
		name += 2;
		name[strcspn(name, "\n")] = '\0';
		code = add_aggregator(list, name);
	}
	if (code) {
		mf_ask_free(list);
		return mf_error_set(err, code, "out of memory");
	}
	return 0;
}

void mf_ask_free(struct mf_profiled_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].socket);
		free(list->items[i].mode);
		free(list->items[i].cmd);
	}
	free(list->items);
	*list = (struct mf_profiled_list){ 0 };
}

int mf_ask_file(const struct mf_profiled *profiled, enum mf_control_verb verb, int *fd,
		struct mf_error *err)
{
	mf_auto_free char *text = NULL;
	int code = ask(profiled->socket, verb, profiled->pid, &text, fd);

	if (code && text && *text)
		return mf_error_set(err, code, "%.900s", text);
	if (!code && *fd < 0)
		code = -EPROTO;
	if (code)
		return mf_error_set(err, code,
				    "the massif-ctl that profiles process %d does not answer: %s",
				    (int)profiled->pid, strerror(-code));
	/* Memory that stays as it is, and nothing that could keep us waiting. */
	if ((fcntl(*fd, F_GET_SEALS) & SEALS) != SEALS || lseek(*fd, 0, SEEK_SET) < 0)
		return mf_error_set(err, -EPROTO, "no file came from the massif-ctl that profiles "
						  "process %d",
				    (int)profiled->pid);
	return 0;
}
