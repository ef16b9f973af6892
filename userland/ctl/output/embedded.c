// SPDX-License-Identifier: GPL-2.0
// Suppressions that a program contains for LeakSanitizer.
//
// One child process reads many files. It gets their descriptors over a socket, because it may open none itself.

#include "embedded.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/errand.h"
#include "base/held.h"
#include "base/regular.h"

#define FUNCTION    "__lsan_default_suppressions"
#define BATCH_FILES 64 /* files for one child, which are less than can be sent over a socket at once */
#define PATIENCE_MS 10000

/* The most bytes that a child sends: an enum mf_text_function in one byte, then the text, if there is one, with its NUL. */
#define RESULT_MAX (1u + MF_TEXT_FUNCTION_MAX + 1u)

/* A message with one descriptor and the index of its object. */
struct message {
	struct msghdr head;
	struct iovec part;
	uint64_t index;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
};

static void message_init(struct message *message)
{
	*message = (struct message){
		.control.head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS },
		.part = { &message->index, sizeof(message->index) },
		.head = { .msg_iov = &message->part, .msg_iovlen = 1, .msg_control = &message->control,
			  .msg_controllen = sizeof(message->control) },
	};
}

static bool send_descriptor(int socket, int fd, uint64_t index)
{
	struct message message;

	message_init(&message);
	message.index = index;
	memcpy(CMSG_DATA(&message.control.head), &fd, sizeof(fd));
	return sendmsg(socket, &message.head, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(message.index);
}

/* Returns a descriptor, and sets *@index to that of its object. Returns -1 if there are no more. */
static int receive_descriptor(int socket, uint64_t *index)
{
	struct message message;
	int fd = -1;

	message_init(&message);
	if (recvmsg(socket, &message.head, 0) == sizeof(message.index) &&
	    message.head.msg_controllen >= sizeof(message.control.head))
		memcpy(&fd, CMSG_DATA(&message.control.head), sizeof(fd));
	*index = message.index;
	return fd;
}

/* Returns whether @binary is the file of @object, whose path may lead to another one if it was not kept open. */
static bool is_its_file(const struct mf_elf_file *binary, const struct mf_object *object)
{
	struct mf_object read = { 0 };

	mf_elf_file_build_id(binary, &read);
	return object->held || (object->build_id_size == read.build_id_size &&
				memcmp(object->build_id, read.build_id, read.build_id_size) == 0);
}

/* Reads the file @fd of @object. What it opens stays open, because *@text is in it. */
static enum mf_text_function read_file(int fd, const struct mf_object *object, const char **text)
{
	struct mf_held_file file = { .fd = fd };
	enum mf_text_function found;
	struct mf_elf_file *binary;
	struct stat status;

	if (fstat(fd, &status))
		return MF_TEXT_FUNCTION_NONE;
	file.size = (uint64_t)status.st_size;
	binary = mf_elf_file_open(&file);
	if (!binary)
		return MF_TEXT_FUNCTION_NONE;
	found = is_its_file(binary, object) ? mf_text_function_read(binary, FUNCTION, text) : MF_TEXT_FUNCTION_NONE;
	if (!found)
		mf_elf_file_close(binary);
	return found;
}

/* Runs in an unprivileged child: reads the files of the objects @data whose descriptors come over @socket. */
static void *read_files(void *data, int socket, size_t *size)
{
	const struct mf_object *objects = data;
	enum mf_text_function found = MF_TEXT_FUNCTION_NONE;
	const char *text = NULL;
	uint64_t index;
	char *result;
	int fd;

	while (!found && (fd = receive_descriptor(socket, &index)) >= 0) {
		found = read_file(fd, &objects[index], &text);
		close(fd);
	}
	*size = 1 + (found == MF_TEXT_FUNCTION_FOUND ? strlen(text) + 1 : 0);
	result = malloc(*size);
	if (!result)
		return NULL;
	result[0] = (char)found;
	if (*size > 1)
		memcpy(result + 1, text, *size - 1);
	return result;
}

/* Sends the file of object @index over the socket. Returns false if it cannot be opened. */
static bool send_file(int socket, const struct mf_object *objects, size_t index)
{
	const struct mf_object *object = &objects[index];
	mf_auto_close int own = -1;
	int fd = object->held ? object->held->fd : -1;

	if (fd < 0)
		fd = own = object->held ? mf_held_open(object->held) : mf_regular_open(object->path);
	return fd >= 0 && send_descriptor(socket, fd, index);
}

/* Sends the files of the @n objects from *@next on, as many as one child reads. Returns how many these are. */
static size_t send_batch(int socket, const struct mf_object *objects, size_t n, size_t *next)
{
	size_t sent = 0;

	for (; *next < n && sent < BATCH_FILES; ++*next) {
		const struct mf_object *object = &objects[*next];

		/* In pages mode, a file has an object for each of its segments. */
		if (object->kind == MF_OBJECT_FILE && (!object->held || object->held != object[-1].held))
			sent += send_file(socket, objects, *next);
	}
	return sent;
}

/* Takes the result of a child, which is not trusted. */
static void take_result(struct mf_embedded *embedded, const uint8_t *result, int64_t size)
{
	const char *text = (const char *)result + 1;

	embedded->found = MF_TEXT_FUNCTION_UNREAD;
	if (size == 1 && *result < MF_TEXT_FUNCTION_FOUND) {
		embedded->found = (enum mf_text_function)*result;
	} else if (size > 1 && *result == MF_TEXT_FUNCTION_FOUND && strnlen(text, (size_t)size - 1) == (size_t)size - 2) {
		embedded->text = strdup(text);
		embedded->found = embedded->text ? MF_TEXT_FUNCTION_FOUND : MF_TEXT_FUNCTION_UNREAD;
	}
}

/* Reads the files of the objects from *@next on. Returns false if these were the last ones. */
static bool read_batch(const struct mf_object *objects, size_t n, size_t *next, struct mf_embedded *embedded)
{
	mf_auto_free uint8_t *result = NULL;
	int sockets[2];
	size_t sent;
	int64_t size = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		embedded->found = MF_TEXT_FUNCTION_UNREAD;
		return false;
	}
	sent = send_batch(sockets[0], objects, n, next);
	/* The child sees the end of the stream after the last descriptor. */
	close(sockets[0]);
	if (sent)
		size = mf_errand_run(&(struct mf_errand){
			.run = read_files,
			.data = (void *)objects,
			.file = sockets[1],
			.bytes_max = RESULT_MAX,
			.patience_ms = PATIENCE_MS,
		}, &result);
	close(sockets[1]);
	if (sent)
		take_result(embedded, result, size);
	return sent;
}

void mf_embedded_read(const struct mf_object *objects, size_t n, struct mf_embedded *embedded)
{
	size_t next = 1; /* object 0 is that of unknown code */

	*embedded = (struct mf_embedded){ 0 };
	while (embedded->found == MF_TEXT_FUNCTION_NONE && read_batch(objects, n, &next, embedded))
		;
}

void mf_embedded_deinit(struct mf_embedded *embedded)
{
	free(embedded->text);
}
