// SPDX-License-Identifier: GPL-2.0
// Watches a running profile over a connection that stays open.

#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "client.h"

int mf_watch_open(struct mf_watch *watch, const char *socket, pid_t pid, struct mf_error *err)
{
	*watch = (struct mf_watch){ .pid = pid, .fd = mf_ask_connect(socket) };
	if (watch->fd < 0)
		return mf_error_set(err, watch->fd, "the massif-ctl that profiles process %d does not answer: %s",
				    (int)pid, strerror(-watch->fd));
	mf_watch_ask(watch);
	return 0;
}

void mf_watch_close(struct mf_watch *watch)
{
	if (watch->fd >= 0)
		close(mf_take(watch->fd, -1));
	watch->waits = false;
}

void mf_watch_ask(struct mf_watch *watch)
{
	if (watch->fd >= 0 && !watch->waits)
		watch->waits = !mf_ask_send(watch->fd, MF_CONTROL_WATCH, watch->pid);
}

/* Takes the pid, and what follows after a tab, from @news->text. Returns NULL if the text has another form. */
static char *take_pid(struct mf_watch_news *news)
{
	int pid, at = 0;

	if (sscanf(news->text, "%d\t%n", &pid, &at) != 1 || !at || pid <= 0)
		return NULL;
	news->pid = pid;
	return news->text + at;
}

/* Leaves of the text what begins at @rest. */
static bool keep_rest(struct mf_watch_news *news, const char *rest)
{
	if (!rest || !*rest)
		return false;
	memmove(news->text, rest, strlen(rest) + 1);
	mf_printable_clean(news->text);
	return true;
}

/* Parses the answer with the session memory. Returns whether it is valid. */
static bool parse_session(struct mf_watch_news *news)
{
	const char *rest = take_pid(news);
	char mode[16];
	int at = 0;

	news->kind = MF_WATCH_SESSION;
	if (!rest || news->memory < 0 || sscanf(rest, "%15[^\t]\t%" SCNu64 "\t%n", mode, &news->start_ns, &at) != 2 || !at)
		return false;
	news->pages = strcmp(mode, "pages") == 0;
	return (news->pages || strcmp(mode, "heap") == 0) && keep_rest(news, rest + at);
}

/* Sorts a message of the server. Returns false if it is none. */
static bool sort_message(struct mf_watch *watch, enum mf_control_kind kind, int code, struct mf_watch_news *news)
{
	if (kind == MF_CONTROL_WRITTEN) {
		news->kind = MF_WATCH_WRITTEN;
		return !code && keep_rest(news, take_pid(news));
	}
	if (kind != MF_CONTROL_ANSWER || !watch->waits)
		return false;
	watch->waits = false;
	if (!code)
		return parse_session(news);
	news->kind = code == -EAGAIN ? MF_WATCH_LATER : MF_WATCH_GONE;
	return keep_rest(news, news->text);
}

void mf_watch_next(struct mf_watch *watch, struct mf_watch_news *news)
{
	enum mf_control_kind kind = MF_CONTROL_ANSWER;
	char first;
	struct iovec part = { .iov_base = &first, .iov_len = sizeof(first) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t size;
	int code;

	*news = (struct mf_watch_news){ .memory = -1 };
	if (watch->fd < 0)
		return;
	size = mf_ask_recvmsg(watch->fd, &message, MSG_PEEK | MSG_DONTWAIT);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		news->kind = MF_WATCH_CLOSED;
		mf_watch_close(watch);
		return;
	}
	code = mf_ask_receive(watch->fd, &kind, &news->text, &news->memory);
	if (news->text && sort_message(watch, kind, code, news))
		return;
	news->kind = MF_WATCH_GARBAGE;
	mf_watch_close(watch);
}

void mf_watch_free(struct mf_watch_news *news)
{
	if (news->memory >= 0)
		close(mf_take(news->memory, -1));
	free(mf_take(news->text, NULL));
}
