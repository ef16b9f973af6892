// SPDX-License-Identifier: GPL-2.0
// Connections to the join server whose requests have not arrived yet or are still being served.

#include "join_conns.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"

enum {
	/* limit on connections from other users: anybody can connect, and a program may have changed its uid */
	STRANGERS_MAX = 16,
};

int mf_join_conns_watch(const struct mf_join_conns *conns, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .fd = fd } };

	return epoll_ctl(conns->poller, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void mf_join_conns_init(struct mf_join_conns *conns, mf_join_conns_serve *serve, void *data)
{
	*conns = (struct mf_join_conns){
		.join_server.listener = -1, .poller = -1, .serve = serve, .data = data,
	};
}

int mf_join_conns_open(struct mf_join_conns *conns, const char *address)
{
	int ret = mf_join_server_open(&conns->join_server, address);

	if (ret)
		return ret;
	conns->poller = epoll_create1(EPOLL_CLOEXEC);
	return conns->poller < 0 ? -errno : mf_join_conns_watch(conns, conns->join_server.listener);
}

/* Removes the connection from the list and frees it, but leaves its descriptor open. */
static void forget(struct mf_join_conn **at)
{
	struct mf_join_conn *guest = *at;

	*at = guest->next;
	if (guest->contents >= 0)
		close(guest->contents);
	free(guest);
}

static void dismiss(struct mf_join_conn **at)
{
	close((*at)->fd);
	forget(at);
}

void mf_join_conns_close(struct mf_join_conns *conns)
{
	while (conns->first)
		dismiss(&conns->first);
	mf_join_server_close(&conns->join_server);
	if (conns->poller >= 0)
		close(mf_take(conns->poller, -1));
}

static struct mf_join_conn **find(struct mf_join_conns *conns, int fd)
{
	struct mf_join_conn **at = &conns->first;

	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	return at;
}

static void serve(struct mf_join_conns *conns, struct mf_join_conn *guest)
{
	struct mf_request *join_request = malloc(sizeof(*join_request));
	int ret = join_request ? mf_join_server_receive(&conns->join_server, guest->fd, join_request) : -ENOMEM;
	int fd = guest->fd;

	if (ret > 0)
		ret = conns->serve(conns->data, guest, join_request);
	else if (!ret)
		ret = EINPROGRESS;
	if (ret != EINPROGRESS) {
		forget(find(conns, fd));
		if (ret < 0)
			mf_join_server_answer(fd, ret, NULL);
		if (ret)
			close(fd);
	}
	free(join_request);
}

/*
 * If there are too many connections from other users, closes the oldest of them, provided that it has not sent a
 * request. This keeps other users from using up all descriptors.
 */
static void limit_strangers(struct mf_join_conns *conns)
{
	struct mf_join_conn **at = &conns->first, **oldest = NULL;
	int n = 0, fd;

	for (; *at; at = &(*at)->next) {
		if ((*at)->is_stranger) {
			oldest = at;
			n++;
		}
	}
	if (n <= STRANGERS_MAX)
		return;
	fd = (*oldest)->fd;
	serve(conns, *oldest);
	at = find(conns, fd);
	if (*at && (*at)->is_stranger)
		dismiss(at);
}

static bool is_stranger(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	       (peer.uid && peer.uid != geteuid());
}

static void admit(struct mf_join_conns *conns)
{
	int fd = accept4(conns->join_server.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct mf_join_conn *guest = calloc(1, sizeof(*guest));

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "too many open files: further processes are not profiled; raise the limit "
			       "(ulimit -n)");
		mf_join_server_close(&conns->join_server);
	}
	if (fd < 0 || !guest || mf_join_conns_watch(conns, fd)) {
		if (fd >= 0)
			close(fd);
		free(guest);
		return;
	}
	*guest = (struct mf_join_conn){
		.next = conns->first, .fd = fd, .is_stranger = is_stranger(fd), .contents = -1,
	};
	conns->first = guest;
	if (guest->is_stranger)
		limit_strangers(conns);
}

bool mf_join_conns_look(struct mf_join_conns *conns, int fd)
{
	struct mf_join_conn *guest = *find(conns, fd);

	if (fd == conns->join_server.listener)
		admit(conns);
	else if (guest)
		serve(conns, guest);
	else
		return false;
	return true;
}
