// SPDX-License-Identifier: GPL-2.0
// The unprivileged child process of a parser, which reads the files it is given.

#include "symbols/parser_child.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/confine.h"
#include "symbols/truncation.h"
#include "symbols/wire.h"

#define FLUSH_BYTES 32768u /* collected answers are sent when their total size in bytes reaches this limit */
/* after an answer, all collected answers are also sent if the last sending was at least this many milliseconds ago */
#define FLUSH_MS    20

/*
 * Answers that have not been sent yet. The buffer always holds only complete messages, because a signal handler may
 * send it at any time.
 */
static uint8_t waiting[FLUSH_BYTES];
static size_t n_waiting;

static void send_all(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t n = write(MF_CONFINE_SOCKET, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		at += n;
		size -= (size_t)n;
	}
}

static void flush(void)
{
	size_t n = n_waiting;

	n_waiting = 0;
	send_all(waiting, n);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void send_message(enum mf_wire_kind kind, const void *contents, size_t size)
{
	const struct mf_wire_head head = { .kind = kind, .size = (uint32_t)size };

	if (n_waiting + sizeof(head) + size > sizeof(waiting))
		flush();
	if (sizeof(head) + size > sizeof(waiting)) {
		send_all(&head, sizeof(head));
		send_all(contents, size);
		return;
	}
	memcpy(waiting + n_waiting, &head, sizeof(head));
	memcpy(waiting + n_waiting + sizeof(head), contents, size);
	n_waiting += sizeof(head) + size;
}

/* Receives @size bytes from the parent process. Returns false if the other end of the socket was closed. */
static bool receive_all(void *bytes, size_t size)
{
	uint8_t *at = bytes;

	while (size) {
		ssize_t n = read(MF_CONFINE_SOCKET, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

/* Asks the parent process to open a file. Also called in a signal handler. */
static int ask_to_open(void *opener, const struct mf_opener_request *request)
{
	struct mf_wire_reply text = { .code = -EIO };
	struct iovec part = { .iov_base = &text, .iov_len = sizeof(text) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;
	int fd;

	send_message(MF_WIRE_REQUEST, request, offsetof(struct mf_opener_request, name) + request->size);
	flush();
	do
		n = recvmsg(MF_CONFINE_SOCKET, &message, MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(text))
		_exit(1);
	if (text.code)
		return text.code;
	if (message.msg_controllen < sizeof(control.head) || control.head.cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

/* The file that is read; NULL until it has been opened. */
static const struct mf_reader *its_reader;

/* Returns whether @fd is another file than the one that shares debug information with the file that is read. */
static bool is_wrong(int fd)
{
	const struct mf_image *image = its_reader ? mf_reader_image(its_reader) : NULL;

	return image && image->shared.size && !mf_shared_file_is(&image->shared, fd);
}

/*
 * Called when a library tries to open a file with its own system call: asks the parent process to open @path instead.
 * Returns a descriptor or -errno.
 */
static int open_other(const char *path)
{
	/* Static, because the stack of a signal handler may be small; this function is never reentered. */
	static struct mf_opener_request request;
	size_t size = strnlen(path, sizeof(request.name));
	int fd;

	if (size == sizeof(request.name))
		return -ENAMETOOLONG;
	request.what = MF_OPENER_OTHER;
	request.size = (uint32_t)size;
	memcpy(request.name, path, size);
	fd = ask_to_open(NULL, &request);
	if (fd < 0 || !is_wrong(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

static void tell_opened(const struct mf_reader *reader, unsigned int confined)
{
	const struct mf_image *image = mf_reader_image(reader);
	struct mf_wire_opened opened = {
		.confined = confined,
		.readable = image->elf || image->debug_elf,
		.found = mf_image_found(image),
		.shares = image->shares,
	};

	if (image->why)
		memcpy(opened.why, image->why, strnlen(image->why, sizeof(opened.why) - 1));
	send_message(MF_WIRE_OPENED, &opened, sizeof(opened));
	flush();
}

static void answer_questions(struct mf_reader *reader, uint64_t count)
{
	static const struct mf_reader_answer nothing;
	static struct mf_reader_answer answer;
	struct mf_wire_buffer buffer = { 0 };
	struct mf_reader_question *questions = calloc(count ? count : 1, sizeof(*questions));
	int64_t flushed = now_ms();

	/*
	 * Read all @count elements of @questions before sending the first answer: the parent reads no answers until it
	 * has sent them all, so if this process answered earlier, the two could wait for each other forever.
	 */
	if (!questions || !receive_all(questions, count * sizeof(*questions)))
		_exit(1);
	for (uint64_t i = 0; i < count; i++) {
		mf_reader_find(reader, &questions[i], &answer);
		buffer.size = 0;
		buffer.failed = false;
		mf_wire_put_answer(&buffer, &answer);
		if (buffer.failed) {
			buffer.size = 0;
			buffer.failed = false;
			mf_wire_put_answer(&buffer, &nothing);
		}
		if (buffer.failed)
			_exit(1);
		send_message(MF_WIRE_ANSWER, buffer.bytes, buffer.size);
		if (now_ms() - flushed >= FLUSH_MS) {
			flush();
			flushed = now_ms();
		}
	}
	flush();
	mf_wire_deinit(&buffer);
	free(questions);
}

_Noreturn void mf_parser_child(const struct mf_object *object, const struct mf_reader_options *options, int socket,
			       unsigned int cpu_s)
{
	struct mf_reader *reader;
	unsigned int confined;
	uint64_t count;

	prctl(PR_SET_NAME, "massif-parser");
	mf_truncation_endure();
	confined = mf_confine(socket, -1, cpu_s, open_other);
	reader = mf_reader_create(object, options, ask_to_open, NULL);
	if (!reader)
		_exit(1);
	its_reader = reader;
	tell_opened(reader, confined);
	while (receive_all(&count, sizeof(count)))
		answer_questions(reader, count);
	_exit(0);
}
