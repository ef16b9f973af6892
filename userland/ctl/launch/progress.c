// SPDX-License-Identifier: GPL-2.0
// The progress of a long run, in a line on the terminal.

#include "progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/message/message.h"
#include "ctl/message/quantity.h"

enum {
	BEGIN_MS = 2000, /* a run that takes no longer needs no line */
};

/* Returns the number of the terminal @fd, by whatever name it was opened; 0 if @fd is no terminal. */
static unsigned int terminal_of(int fd)
{
	unsigned int device = 0;

	return isatty(fd) && !ioctl(fd, TIOCGDEV, &device) ? device : 0;
}

bool mf_progress_is_safe(int fd)
{
	unsigned int terminal = fd < 0 ? 0 : terminal_of(fd);

	if (!terminal)
		return false;
	for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++)
		if (terminal_of(standard) == terminal)
			return false;
	return true;
}

void mf_progress_show(const char *name, const struct mf_progress_figures *figures)
{
	char text[256];

	if (figures->age_ms < BEGIN_MS)
		return;
	snprintf(text, sizeof(text), "%.30s: %s, live %s, peak %s", name,
		 mf_quantity_time(figures->age_ms, MF_TIME_MS).text, mf_quantity_bytes(figures->live).text,
		 mf_quantity_bytes(figures->peak).text);
	mf_message_status(text);
}
