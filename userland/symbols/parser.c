// SPDX-License-Identifier: GPL-2.0
// Reads the names of one object in an unprivileged child process.

#include "symbols/parser.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "symbols/opener.h"
#include "symbols/parser_child.h"
#include "symbols/wire.h"

#define CHUNK 65536u /* number of bytes to receive at once */

struct mf_parser {
	const struct mf_object *object;
	struct mf_parser_options options;
	struct mf_opener opener;
	struct mf_parser_state state;
	char why[128]; /* buffer for state.why */
	int64_t left_ms; /* remaining part of the time limit for all answers together, in ms */
	pid_t pid;     /* process id of the child, or 0 if there is none */
	int socket;
	uint8_t *bytes; /* received bytes; those from @at to @end have not been decoded yet */
	size_t at, end, room;
	struct mf_reader *reader; /* reads the files in this process; NULL if a child process reads them */
	struct mf_reader_answer answer;
};

struct mf_parser *mf_parser_create(const struct mf_object *object, const struct mf_parser_options *options)
{
	struct mf_parser *parser = calloc(1, sizeof(*parser));

	if (!parser)
		return NULL;
	parser->object = object;
	parser->options = *options;
	parser->left_ms = options->patience_ms ? options->patience_ms : MF_PARSER_PATIENCE_S * 1000;
	parser->socket = -1;
	mf_opener_init(&parser->opener, object, options->search);
	parser->state.sources = &parser->opener.sources;
	parser->state.confined = MF_CONFINED_ALL;
	return parser;
}

/*
 * Kills the child and returns its status in the format of waitpid(2), or 0 if there is no child. If the child has
 * already exited or crashed, the status says how.
 */
static int end_child(struct mf_parser *parser)
{
	int status = 0;

	if (parser->pid) {
		kill(parser->pid, SIGKILL);
		while (waitpid(parser->pid, &status, 0) < 0 && errno == EINTR)
			;
		parser->pid = 0;
	}
	if (parser->socket >= 0)
		close(parser->socket);
	parser->socket = -1;
	parser->at = parser->end = 0;
	return status;
}

void mf_parser_rest(struct mf_parser *parser)
{
	end_child(parser);
	free(mf_take(parser->bytes, NULL));
	parser->room = 0;
}

bool mf_parser_is_resting(const struct mf_parser *parser)
{
	return !parser->pid;
}

void mf_parser_destroy(struct mf_parser *parser)
{
	if (!parser)
		return;
	mf_parser_rest(parser);
	mf_reader_destroy(parser->reader);
	mf_opener_deinit(&parser->opener);
	free(parser);
}

const struct mf_parser_state *mf_parser_state(const struct mf_parser *parser)
{
	return &parser->state;
}

static void __attribute__((format(printf, 2, 3))) lose(struct mf_parser *parser, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(parser->why, sizeof(parser->why), format, arguments);
	va_end(arguments);
	parser->state.why = parser->why;
	parser->state.is_open = true;
	parser->state.lost = true;
}

/* Kills a child that has failed to answer, and records the reason. */
static void bury(struct mf_parser *parser)
{
	bool in_time = parser->left_ms > 0;
	int status = end_child(parser);

	if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		lose(parser, "reading its debug information took too long");
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		lose(parser, "it is damaged: the process that read it was killed by '%s'", strsignal(WTERMSIG(status)));
	else
		lose(parser, "the process that read it was killed or gave an invalid answer");
}

/* Starts a child process. Returns 0 or -errno. */
static int start(struct mf_parser *parser)
{
	int64_t cpu_s = (parser->left_ms + 999) / 1000;
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int code = -errno;

		close(sockets[0]);
		close(sockets[1]);
		return code;
	}
	if (pid == 0)
		mf_parser_child(parser->object, &parser->options.reader, sockets[1], (unsigned int)cpu_s);
	close(sockets[1]);
	parser->pid = pid;
	parser->socket = sockets[0];
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the socket is ready for @events. Returns false if the time limit expires first. */
static bool wait_for(struct mf_parser *parser, short events)
{
	struct pollfd polled = { .fd = parser->socket, .events = events };

	while (parser->left_ms > 0) {
		int64_t start = now_ms();
		int n = poll(&polled, 1, (int)parser->left_ms);
		int code = errno;

		parser->left_ms -= now_ms() - start;
		if (n > 0)
			return true;
		if (n < 0 && code != EINTR)
			return false;
	}
	return false;
}

/* Sends all @size bytes. Returns false on failure. */
static bool send_bytes(struct mf_parser *parser, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t n = send(parser->socket, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!wait_for(parser, POLLOUT))
				return false;
		} else if (errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* Receives until @size bytes are available; @size is at most MF_WIRE_BYTES_MAX plus a header. */
static bool receive(struct mf_parser *parser, size_t size)
{
	if (parser->at && parser->room - parser->at < size + CHUNK) {
		memmove(parser->bytes, parser->bytes + parser->at, parser->end - parser->at);
		parser->end -= parser->at;
		parser->at = 0;
	}
	if (parser->room - parser->at < size + CHUNK) {
		uint8_t *more = realloc(parser->bytes, parser->at + size + CHUNK);

		if (!more)
			return false;
		parser->bytes = more;
		parser->room = parser->at + size + CHUNK;
	}
	while (parser->end - parser->at < size) {
		/* recv() discards any descriptors that the child may send. */
		ssize_t n = recv(parser->socket, parser->bytes + parser->end, parser->room - parser->end,
				 MSG_DONTWAIT);

		if (n > 0)
			parser->end += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
		else if (errno == EAGAIN && !wait_for(parser, POLLIN))
			return false;
	}
	return true;
}

/* Receives the next message, which stays valid until the following one is received. Returns false on failure. */
static bool next_message(struct mf_parser *parser, struct mf_wire_head *head, const uint8_t **contents)
{
	if (!receive(parser, sizeof(*head)))
		return false;
	memcpy(head, parser->bytes + parser->at, sizeof(*head));
	if (head->size > MF_WIRE_BYTES_MAX || !receive(parser, sizeof(*head) + head->size))
		return false;
	*contents = parser->bytes + parser->at + sizeof(*head);
	parser->at += sizeof(*head) + head->size;
	return true;
}

static bool reply(struct mf_parser *parser, int fd)
{
	struct mf_wire_reply text = { .code = fd < 0 ? fd : 0 };
	struct iovec part = { .iov_base = &text, .iov_len = sizeof(text) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	/* This does not block: the child is waiting for the reply, so the socket has room. */
	return sendmsg(parser->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(text);
}

static bool serve_request(struct mf_parser *parser, const uint8_t *contents, size_t size)
{
	struct mf_opener_request request = { 0 };
	mf_auto_close int fd = -1;

	if (size < offsetof(struct mf_opener_request, name) || size > sizeof(request))
		return false;
	memcpy(&request, contents, size);
	if (request.size != size - offsetof(struct mf_opener_request, name))
		return false;
	fd = mf_opener_open(&parser->opener, &request);
	return reply(parser, fd);
}

/* Receives the next message of @kind, and serves any requests from the child that precede it. */
static bool next_answer(struct mf_parser *parser, uint32_t kind, const uint8_t **contents, size_t *size)
{
	struct mf_wire_head head;

	for (;;) {
		if (!next_message(parser, &head, contents))
			return false;
		*size = head.size;
		if (head.kind == kind)
			return true;
		if (head.kind != MF_WIRE_REQUEST || !serve_request(parser, *contents, head.size))
			return false;
	}
}

static bool receive_opened(struct mf_parser *parser)
{
	struct mf_wire_opened opened;
	const uint8_t *contents;
	size_t size;

	if (!next_answer(parser, MF_WIRE_OPENED, &contents, &size) || size != sizeof(opened))
		return false;
	memcpy(&opened, contents, sizeof(opened));
	opened.why[sizeof(opened.why) - 1] = '\0';
	snprintf(parser->why, sizeof(parser->why), "%s", opened.why);
	parser->state.is_open = true;
	parser->state.readable = opened.readable;
	parser->state.found = opened.found;
	parser->state.shares |= opened.shares;
	parser->state.why = *parser->why ? parser->why : NULL;
	parser->state.confined = opened.confined & MF_CONFINED_ALL;
	return true;
}

static int open_here(void *opener, const struct mf_opener_request *request)
{
	return mf_opener_open(opener, request);
}

/* Creates a reader that reads the files in this process. */
static void open_reader(struct mf_parser *parser)
{
	const struct mf_image *image;

	parser->reader = mf_reader_create(parser->object, &parser->options.reader, open_here, &parser->opener);
	if (!parser->reader) {
		lose(parser, "out of memory");
		return;
	}
	image = mf_reader_image(parser->reader);
	parser->state.is_open = true;
	parser->state.readable = image->elf || image->debug_elf;
	parser->state.found = mf_image_found(image);
	parser->state.shares = image->shares;
	parser->state.why = image->why;
}

/*
 * Starts a child, or opens a reader in this process, unless there is already one of either. Returns false if no answers
 * can be obtained.
 */
static bool is_ready(struct mf_parser *parser)
{
	int code;

	if (parser->state.lost)
		return false;
	if (parser->reader || parser->pid)
		return true;
	/* The vdso comes from the kernel, so it can be trusted. */
	if (parser->options.unconfined || parser->object->kind == MF_OBJECT_VDSO) {
		open_reader(parser);
		return parser->reader;
	}
	code = start(parser);
	if (code && !mf_confine_has_rights()) {
		/* This process is already unprivileged, so a child would be no safer. */
		open_reader(parser);
		return parser->reader;
	}
	if (code)
		lose(parser, "cannot start a process to read it: %s", strerrordesc_np(-code));
	else if (!receive_opened(parser))
		bury(parser);
	return !parser->state.lost;
}

static bool send_questions(struct mf_parser *parser, const struct mf_reader_question *questions, size_t n)
{
	struct {
		uint64_t count;
		struct mf_reader_question question;
	} one = { .count = n };

	if (n == 1) {
		one.question = *questions;
		return send_bytes(parser, &one, sizeof(one));
	}
	return send_bytes(parser, &one.count, sizeof(one.count)) &&
	       send_bytes(parser, questions, n * sizeof(*questions));
}

void mf_parser_ask(struct mf_parser *parser, const struct mf_reader_question *questions, size_t n,
		   mf_parser_answered *answered, void *data)
{
	if (!n || !is_ready(parser))
		return;
	if (!parser->reader && !send_questions(parser, questions, n)) {
		bury(parser);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *contents;
		size_t size;

		if (parser->reader) {
			mf_reader_find(parser->reader, &questions[i], &parser->answer);
		} else if (!next_answer(parser, MF_WIRE_ANSWER, &contents, &size) ||
			   !mf_wire_get_answer(contents, size, &parser->answer)) {
			bury(parser);
			return;
		}
		answered(data, i, &parser->answer);
	}
}

int mf_parser_probe(void)
{
	const struct mf_object none = { .kind = MF_OBJECT_UNKNOWN };
	struct mf_parser *parser = mf_parser_create(&none, &(struct mf_parser_options){ 0 });
	int code = parser ? start(parser) : -ENOMEM;

	if (!code)
		code = receive_opened(parser) ? (int)parser->state.confined : -EPROTO;
	mf_parser_destroy(parser);
	return code;
}
