// SPDX-License-Identifier: GPL-2.0
// Requests profiles from running instances of massif-ctl.

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "ctl/message/message.h"

enum {
	PATIENCE_S = 60, /* timeout in seconds for one answer; reading the symbols of a large program takes time */
	/*
	 * number of connection attempts to make while the socket's backlog is full; limited in case the socket belongs
	 * to another program that never accepts connections
	 */
	CONNECT_TRIES = 5,
	CONNECT_WAIT_MS = 10,

	LOOK_AGAIN_MS = 20, /* time between two looks for control sockets */

	CODE_MAX = 4095, /* as in the kernel */
};

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

int mf_ask_connect(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mf_auto_close int fd = -1;
	size_t length = strlen(name);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path + 1, name, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	if (geteuid() && peer.uid != geteuid())
		return -EPERM;
	return mf_take(fd, -1);
}

int mf_ask_send(int guest, enum mf_control_verb verb, pid_t pid)
{
	const struct mf_control_request request = {
		.magic = MF_CONTROL_MAGIC,
		.verb = verb,
		.pid = pid,
	};

	return send(guest, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request) ?
		       0 :
		       -errno;
}

/* Returns the descriptor in @message, or -1 if there is none. @message has room for only one. */
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

ssize_t mf_ask_recvmsg(int connection, struct msghdr *message, int flags)
{
	ssize_t size;

	do
		size = recvmsg(connection, message, flags);
	while (size < 0 && errno == ECONNRESET);
	return size;
}

int mf_ask_receive(int guest, enum mf_control_kind *kind, char **text, int *fd)
{
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
		.msg_controllen = CMSG_LEN(sizeof(int)), /* with the padding, there would be room for two descriptors */
	};
	ssize_t size;

	*fd = -1;
	if (!space)
		return -ENOMEM;
	size = mf_ask_recvmsg(guest, &message, MSG_CMSG_CLOEXEC);
	if (size < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (!size)
		return -ECONNRESET;
	*fd = take_descriptor(&message);
	if (size < (ssize_t)sizeof(answer) || answer.magic != MF_CONTROL_MAGIC ||
	    answer.bytes != (size_t)size - sizeof(answer) || answer.code > 0 || answer.code < -CODE_MAX) {
		if (*fd >= 0)
			close(mf_take(*fd, -1));
		return -EPROTO;
	}
	*kind = answer.kind;
	*text = mf_take(space, NULL);
	return answer.code;
}

/* Sends one request and receives the answer. Returns the same codes as mf_ask_receive(). */
static int ask(const char *name, enum mf_control_verb verb, pid_t pid, char **text, int *fd)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	mf_auto_close int guest = mf_ask_connect(name);
	enum mf_control_kind kind;
	int code;

	*fd = -1;
	for (int i = 1; guest == -EAGAIN && i < CONNECT_TRIES; i++) {
		poll(NULL, 0, CONNECT_WAIT_MS);
		guest = mf_ask_connect(name);
	}
	if (guest < 0)
		return guest;
	/* mf_ask_connect() made the socket non-blocking. From now on, block, but with a timeout. */
	setsockopt(guest, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(guest, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	fcntl(guest, F_SETFL, 0);
	code = mf_ask_send(guest, verb, pid);
	return code ? code : mf_ask_receive(guest, &kind, text, fd);
}

/* Parses one line of a list of running profiles; its fields are separated by tabs. */
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
	/* The text may come from another user's massif-ctl, so remove terminal control characters. */
	if (item->cmd)
		mf_printable_clean(item->cmd);
	list->count++;
	return item->socket && item->mode && item->cmd ? 0 : -ENOMEM;
}

static int add_lines(struct mf_profiled_list *list, const char *socket, char *text)
{
	char *rest = NULL;
	int code = 0;

	for (char *line = strtok_r(text, "\n", &rest); line && !code;
	     line = strtok_r(NULL, "\n", &rest))
		code = add_line(list, socket, line);
	return code;
}

/* An instance of massif-ctl to which a LIST request is sent. */
struct asked {
	char *socket; /* name of the control socket; owned, like @text */
	char *text;   /* list of profiled processes received from this instance */
	int tries;    /* remaining attempts to connect */
};

/*
 * LIST requests to all sockets with massif-ctl's name prefix. They are sent in parallel, because such a socket may
 * belong to another program that never answers.
 */
struct round {
	struct asked *asked;
	struct pollfd *polled; /* the connection to each instance; fd is negative if not connected */
	size_t n, waiting; /* number of instances, and how many of them have not answered yet */
};

static void end_round(struct round *round)
{
	for (size_t i = 0; i < round->n; i++) {
		free(round->asked[i].socket);
		free(round->asked[i].text);
		if (round->polled[i].fd >= 0)
			close(round->polled[i].fd);
	}
	free(round->asked);
	free(round->polled);
}

static int add_asked(struct round *round, const char *socket)
{
	struct asked *asked = reallocarray(round->asked, round->n + 1, sizeof(*asked));
	struct pollfd *polled;

	if (!asked)
		return -ENOMEM;
	round->asked = asked;
	polled = reallocarray(round->polled, round->n + 1, sizeof(*polled));
	if (!polled)
		return -ENOMEM;
	round->polled = polled;
	asked[round->n] = (struct asked){ .socket = strdup(socket), .tries = CONNECT_TRIES };
	polled[round->n] = (struct pollfd){ .fd = -1, .events = POLLIN };
	return asked[round->n++].socket ? 0 : -ENOMEM;
}

/* Finds the control sockets in /proc/net/unix. */
static int find_asked(struct round *round, FILE *sockets)
{
	mf_auto_free char *line = NULL;
	size_t room = 0;
	int code = 0;

	while (!code && getline(&line, &room, sockets) > 0) {
		/*
		 * /proc/net/unix lists a listening socket and its connections under the same name. Skip the
		 * connections.
		 */
		char *name = strstr(line, " @" MF_CONTROL_PREFIX);
		unsigned int flags;

		if (!name || sscanf(line, "%*s %*x %*x %x", &flags) != 1 || !(flags & 0x10000))
			continue;
		name += 2;
		name[strcspn(name, "\n")] = '\0';
		code = add_asked(round, name);
	}
	return code;
}

/* Connects and sends the request. Returns true if the backlog was full and another attempt should be made. */
static bool try_to_ask(struct asked *asked, struct pollfd *polled)
{
	int fd;

	if (!asked->tries)
		return false;
	asked->tries--;
	fd = mf_ask_connect(asked->socket);
	if (fd == -EAGAIN)
		return asked->tries;
	asked->tries = 0;
	if (fd >= 0 && !mf_ask_send(fd, MF_CONTROL_LIST, 0))
		polled->fd = fd;
	else if (fd >= 0)
		close(fd);
	return false;
}

/* Reads one process's answer. If the process has ended or is not massif-ctl, @asked->text stays NULL. */
static void take_answer(struct asked *asked, struct pollfd *polled)
{
	mf_auto_close int fd = -1;
	enum mf_control_kind kind;

	if (mf_ask_receive(polled->fd, &kind, &asked->text, &fd)) {
		free(asked->text);
		asked->text = NULL;
	}
	close(mf_take(polled->fd, -1));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void hold_round(struct round *round, int patience_ms)
{
	int64_t end = now_ms() + patience_ms, left = patience_ms;
	bool again = true;

	for (; left > 0; left = end - now_ms()) {
		if (again) {
			again = false;
			for (size_t i = 0; i < round->n; i++)
				again |= try_to_ask(&round->asked[i], &round->polled[i]);
		}
		round->waiting = 0;
		for (size_t i = 0; i < round->n; i++)
			round->waiting += round->polled[i].fd >= 0;
		if (!again && !round->waiting)
			return;
		if (poll(round->polled, (nfds_t)round->n, again ? CONNECT_WAIT_MS : (int)left) < 0 &&
		    errno != EINTR)
			return;
		for (size_t i = 0; i < round->n; i++)
			if (round->polled[i].fd >= 0 && round->polled[i].revents)
				take_answer(&round->asked[i], &round->polled[i]);
	}
}

static int ask_all(struct mf_profiled_list *list, int patience_ms, struct mf_error *err)
{
	__attribute__((cleanup(end_round))) struct round round = { 0 };
	mf_auto_fclose FILE *sockets = fopen("/proc/net/unix", "re");
	int code;

	*list = (struct mf_profiled_list){ 0 };
	if (!sockets)
		return mf_error_set(err, -errno,
				    "cannot look for running profiles: /proc/net/unix: %s",
				    strerror(errno));
	code = find_asked(&round, sockets);
	if (!code)
		hold_round(&round, patience_ms);
	list->n_silent = round.waiting;
	for (size_t i = 0; !code && i < round.n; i++)
		if (round.asked[i].text)
			code = add_lines(list, round.asked[i].socket, round.asked[i].text);
	if (code) {
		mf_ask_free(list);
		return mf_error_set(err, code, "out of memory");
	}
	return 0;
}

int mf_ask_list(struct mf_profiled_list *list, int patience_ms, struct mf_error *err)
{
	int code = ask_all(list, patience_ms, err);

	if (code || list->count || list->n_silent)
		return code;
	/*
	 * The kernel returns /proc/net/unix in parts, and finds the place of the next part by counting. If other sockets
	 * are closed between two parts, it skips some that remain. So look twice before saying that there is none.
	 */
	poll(NULL, 0, LOOK_AGAIN_MS);
	return ask_all(list, patience_ms, err);
}

void mf_ask_say_silent(const struct mf_profiled_list *list)
{
	if (list->n_silent)
		mf_message_say(MF_MESSAGE_PROBLEM, "%zu processes that may be massif-ctl did not answer",
			       list->n_silent);
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

/*
 * The message in @err asks the user to choose a profile. Appends one line to it for each aggregator, with the pid and
 * command line of the first process that the aggregator lists. Stops when the message is full.
 */
static void list_candidates(const struct mf_profiled_list *list, const char *option, struct mf_error *err)
{
	size_t used = strlen(err->text);

	for (size_t i = 0; i < list->count; i++) {
		const struct mf_profiled *item = &list->items[i];
		size_t room = sizeof(err->text) - used;
		int length;

		if (!item->is_first)
			continue;
		length = snprintf(err->text + used, room, "\n  %s%d  %.80s", option, (int)item->pid,
				  item->cmd);
		if (length < 0 || (size_t)length >= room) {
			err->text[used] = '\0';
			return;
		}
		used += (size_t)length;
	}
}

const struct mf_profiled *mf_ask_choose(const struct mf_profiled_list *list, pid_t pid, const char *option,
					struct mf_error *err)
{
	const struct mf_profiled *chosen = NULL;
	size_t n_first = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct mf_profiled *item = &list->items[i];

		n_first += item->is_first;
		if (pid ? item->pid == pid : item->is_first && !chosen)
			chosen = item;
	}
	if (!list->count) {
		mf_error_set(err, -ESRCH, "no profile of this user is running");
	} else if (!chosen) {
		mf_error_set(err, -ESRCH,
			     "process %d is not being profiled; massif-ctl list shows the processes that are",
			     (int)pid);
	} else if (!pid && n_first > 1) {
		mf_error_set(err, -EINVAL, "%zu profiles are running; choose one of", n_first);
		list_candidates(list, option, err);
	} else {
		return chosen;
	}
	return NULL;
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
	/* Accept only sealed memory: its contents cannot change, and reading it cannot block. */
	if ((fcntl(*fd, F_GET_SEALS) & SEALS) != SEALS || lseek(*fd, 0, SEEK_SET) < 0)
		return mf_error_set(err, -EPROTO, "the massif-ctl that profiles process %d sent no file",
				    (int)profiled->pid);
	return 0;
}
