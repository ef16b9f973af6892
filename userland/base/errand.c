// SPDX-License-Identifier: GPL-2.0
// Processes a possibly hostile file in an unprivileged child process.

#include "base/errand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"

#define ROOM_FIRST 65536u

/* Runs in the child: processes the file and sends the result to @socket. */
static _Noreturn void run(const struct mf_errand *errand, int socket)
{
	const uint8_t *at;
	size_t size = 0;

	prctl(PR_SET_NAME, "massif-errand");
	mf_confine(socket, errand->file, errand->patience_ms / 1000 + 1, NULL);
	at = errand->run(errand->data, MF_CONFINE_FILE, &size);
	while (at && size) {
		ssize_t n = write(MF_CONFINE_SOCKET, at, size);

		if (n <= 0)
			_exit(1);
		at += n;
		size -= (size_t)n;
	}
	_exit(0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Enlarges the buffer *@bytes if a result of @size bytes fills it. The buffer has room for *@room bytes. Returns 0,
 * -ENOMEM, or -EFBIG if the result is larger than @most bytes.
 */
static int grow(uint8_t **bytes, size_t size, size_t *room, size_t most)
{
	uint8_t *more;

	if (size < *room)
		return 0;
	if (*room > most)
		return -EFBIG;
	*room = *room ? *room * 2 : ROOM_FIRST;
	/* Read up to one byte more than allowed, to detect a result that is too large. */
	if (*room > most)
		*room = most + 1;
	more = realloc(*bytes, *room);
	if (!more)
		return -ENOMEM;
	*bytes = more;
	return 0;
}

/* Receives everything that the child sends. Returns the number of bytes, or -errno. */
static int64_t receive(const struct mf_errand *errand, int socket, uint8_t **bytes)
{
	int64_t end = now_ms() + errand->patience_ms;
	size_t size = 0, room = 0;

	for (;;) {
		struct pollfd polled = { .fd = socket, .events = POLLIN };
		int64_t left = end - now_ms();
		int code = grow(bytes, size, &room, errand->bytes_max);
		ssize_t n;

		if (code)
			return code;
		if (left <= 0)
			return -ETIME;
		if (poll(&polled, 1, (int)left) <= 0)
			continue;
		n = recv(socket, *bytes + size, room - size, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return size > errand->bytes_max ? -EFBIG : (int64_t)size;
		size += (size_t)n;
	}
}

int64_t mf_errand_run(const struct mf_errand *errand, uint8_t **result)
{
	mf_auto_free uint8_t *bytes = NULL;
	int sockets[2], status = 0;
	int64_t size;
	pid_t pid, waited;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid == 0)
		run(errand, sockets[1]);
	size = pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (pid > 0)
		size = receive(errand, sockets[0], &bytes);
	close(sockets[0]);
	if (pid < 0)
		return size;
	kill(pid, SIGKILL);
	do
		waited = waitpid(pid, &status, 0);
	while (waited < 0 && errno == EINTR);
	if (size < 0)
		return size;
	/* If the child did not exit normally, its result may be incomplete. */
	if (!size || waited != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		return -ENODATA;
	*result = mf_take(bytes, NULL);
	return size;
}
