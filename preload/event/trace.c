// SPDX-License-Identifier: GPL-2.0
// Reports each call of an allocation function: writes a line in Valgrind's format, and records the function's name.

#include "trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/log.h"
#include "core/session.h"
#include "core/thread.h"
#include "core/xstate.h"

#define LINE_MAX_BYTES 256u

static int descriptor; /* descriptor to which trace lines are written; 0 if there is none */
static struct stat target;
static bool names_wanted;

struct line {
	char text[LINE_MAX_BYTES];
	size_t n;
};

void mf_trace_start(void)
{
	const struct mf_store_header *header = mf_session_store.header;
	int fd = header->trace_fd;

	descriptor = fd > STDERR_FILENO && fstat(fd, &target) == 0 ? fd : 0;
	names_wanted = header->logs_steps >= MF_LOG_FILTERING;
	mf_session_traces = descriptor || names_wanted;
}

/* Records the name of the called allocation function for this thread's next event. */
static void note_name(const char *format)
{
	uint8_t inside = mf_thread_local.inside;
	struct mf_thread *thread;

	if (inside & MF_INSIDE_SHIM)
		return;
	mf_thread_local.inside = inside | MF_INSIDE_SHIM;
	thread = mf_thread_get();
	if (thread)
		thread->entry = format;
	mf_thread_local.inside = inside;
}

static void put(struct line *line, char c)
{
	if (line->n < sizeof(line->text))
		line->text[line->n++] = c;
}

static void put_number(struct line *line, uint64_t value, unsigned int base)
{
	char digits[20];
	unsigned int n = 0;

	do {
		digits[n++] = "0123456789ABCDEF"[value % base];
		value /= base;
	} while (value);
	while (n)
		put(line, digits[--n]);
}

static void put_text(struct line *line, const char *text)
{
	while (*text)
		put(line, *text++);
}

static void put_prefix(struct line *line)
{
	put_text(line, "--");
	put_number(line, (uint64_t)getpid(), 10);
	put_text(line, "-- ");
}

/*
 * Does the descriptor still refer to the file that trace lines are written to? The program may have closed it and
 * opened another file with the same number.
 */
static bool is_still_there(void)
{
	struct stat now;

	return fstat(descriptor, &now) == 0 && now.st_dev == target.st_dev &&
	       now.st_ino == target.st_ino;
}

MF_ALIGNED_STACK void mf_trace_line(const char *format, ...)
{
	struct line line = { .n = 0 };
	int saved = errno;
	va_list args;

	/* If the C++ library's operator new calls malloc(), report the two calls as one. */
	if (!mf_session_is_active() || mf_thread_local.inside & MF_INSIDE_LIBRARY)
		return;
	/*
	 * In a forked child that has had no event yet, note_name() also asks massif-ctl for the child's session. So
	 * test again whether a session is active.
	 */
	note_name(format);
	if (!mf_session_is_active() || !descriptor || !is_still_there())
		return;
	put_prefix(&line);
	va_start(args, format);
	for (; *format; format++) {
		if (*format != '%') {
			put(&line, *format);
			if (*format == '\n')
				put_prefix(&line);
		} else if (*++format == 'u') {
			put_number(&line, va_arg(args, size_t), 10);
		} else {
			put_text(&line, "0x");
			put_number(&line, (uintptr_t)va_arg(args, const void *), 16);
		}
	}
	va_end(args);
	put(&line, '\n');
	line.text[line.n - 1] = '\n';
	/* Writes the line with a single raw system call, which is not a cancellation point. */
	syscall(SYS_write, descriptor, line.text, line.n);
	errno = saved;
}
