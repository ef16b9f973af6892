// SPDX-License-Identifier: GPL-2.0
// Prints messages for the user; each line begins with "massif-ctl: ".

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"

#define PREFIX "massif-ctl: "

static int message_level = MF_MESSAGE_NOTE;
static int message_fd = STDERR_FILENO;
static const char *late_path; /* the file to create for the first message, or NULL */
static int status_shown; /* the line of mf_message_status() is on the terminal */

static const char erase[] = "\r\033[K";

void mf_message_set_level(int level)
{
	message_level = level;
}

int mf_message_is_heard(enum mf_message_level level)
{
	return (int)level <= message_level;
}

void mf_message_set_target(int fd)
{
	message_fd = fd;
	late_path = NULL;
}

void mf_message_set_late_target(const char *path)
{
	message_fd = -1;
	late_path = path;
}

/* Creates the file for messages. Must neither overwrite an existing file nor follow a symbolic link. */
static void create_late_target(void)
{
	message_fd = open(late_path,
			  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
			  0600);
	late_path = NULL;
}

int mf_message_target(void)
{
	return message_fd;
}

/*
 * Writes the whole text in one call if possible, so that the program's output does not appear in the middle of it.
 * Returns 0 or -errno.
 */
static int put_to(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/*
 * If the log cannot be written, this and all later messages go to standard error. Errors while writing to standard
 * error are ignored.
 */
static void put(const char *text, size_t size)
{
	char why[256];
	int code = 0;

	if (status_shown) {
		status_shown = 0;
		put_to(message_fd, erase, strlen(erase));
	}
	if (message_fd >= 0)
		code = put_to(message_fd, text, size);

	if (!code || message_fd == STDERR_FILENO)
		return;
	message_fd = STDERR_FILENO;
	snprintf(why, sizeof(why), PREFIX "cannot write to the log: %s; further messages appear here\n",
		 strerror(-code));
	put_to(STDERR_FILENO, why, strlen(why));
	put_to(STDERR_FILENO, text, size);
}

void mf_message_massif(pid_t pid, const char *format, ...)
{
	char text[4096];
	int n = snprintf(text, sizeof(text), "--%d-- Massif: ", (int)pid);
	size_t room = sizeof(text) - (size_t)n - 1;
	va_list args;
	int length;

	if (late_path)
		create_late_target();
	va_start(args, format);
	length = vsnprintf(text + n, room, format, args);
	va_end(args);
	if (length < 0)
		return;
	/* Names come from others. */
	mf_printable_clean(text);
	n = (int)strlen(text);
	text[n++] = '\n';
	put(text, (size_t)n);
}

void mf_message_say(enum mf_message_level level, const char *format, ...)
{
	char text[2048], lines[4096];
	const char *rest = text;
	size_t used = 0;
	va_list args;

	if (!mf_message_is_heard(level))
		return;
	if (late_path && level != MF_MESSAGE_NOTE)
		create_late_target();
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	while (*rest && used < sizeof(lines) - 1) {
		size_t length = strcspn(rest, "\n");
		char line[sizeof(text)];

		/* Names and command lines come from others. */
		memcpy(line, rest, length);
		line[length] = '\0';
		mf_printable_clean(line);
		used += (size_t)snprintf(lines + used, sizeof(lines) - used, PREFIX "%s\n", line);
		rest += length + (rest[length] == '\n');
	}
	if (used > sizeof(lines) - 1)
		used = sizeof(lines) - 1;
	put(lines, used);
}

void mf_message_progress(const char *what, size_t done, size_t total)
{
	char text[256];

	if (!mf_message_is_heard(MF_MESSAGE_NOTE) || !isatty(message_fd))
		return;
	status_shown = 0;
	if (done >= total) {
		put(erase, strlen(erase));
		return;
	}
	snprintf(text, sizeof(text), "%s" PREFIX "%s, %zu of %zu", erase, what, done, total);
	put(text, strlen(text));
}

/* Returns whether @fd is a terminal to which this process can write at once. */
static int can_show(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLOUT };
	pid_t foreground = fd < 0 ? -1 : tcgetpgrp(fd);

	/* A terminal that is not the one that controls this process has no foreground for it. */
	return fd >= 0 && isatty(fd) && (foreground < 0 || foreground == getpgrp()) && poll(&polled, 1, 0) == 1 &&
	       polled.revents == POLLOUT;
}

void mf_message_status(const char *text)
{
	size_t length = strlen(erase);
	struct winsize size;
	char line[256];

	if (!mf_message_is_heard(MF_MESSAGE_NOTE) || !can_show(message_fd))
		return;
	if (text) {
		snprintf(line, sizeof(line), "%s" PREFIX "%s", erase, text);
		/* Of a line that is continued in the next one, only the end could be removed. */
		if (!ioctl(message_fd, TIOCGWINSZ, &size) && size.ws_col && strlen(line) - length >= size.ws_col)
			line[length + size.ws_col - 1] = '\0';
		put_to(message_fd, line, strlen(line));
		status_shown = 1;
	} else if (status_shown) {
		put_to(message_fd, erase, strlen(erase));
		status_shown = 0;
	}
}
