// SPDX-License-Identifier: GPL-2.0
// What massif-ctl tells its user: lines on standard error, each with its name in front.

#include "ctl/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "massif-ctl: "

static int message_level = MF_MESSAGE_NOTE;

void mf_message_set_level(int level)
{
	message_level = level;
}

void mf_message_say(enum mf_message_level level, const char *format, ...)
{
	char text[2048], lines[4096];
	const char *rest = text;
	size_t used = 0;
	ssize_t written;
	va_list args;

	if ((int)level > message_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	while (*rest && used < sizeof(lines) - 1) {
		size_t length = strcspn(rest, "\n");
		int n = snprintf(lines + used, sizeof(lines) - used, PREFIX "%.*s\n", (int)length,
				 rest);

		used += (size_t)n;
		rest += length + (rest[length] == '\n');
	}
	if (used > sizeof(lines) - 1)
		used = sizeof(lines) - 1;
	/* One write: the program's lines shall not come between. If it fails, whom to tell? */
	written = write(STDERR_FILENO, lines, used);
	(void)written;
}
