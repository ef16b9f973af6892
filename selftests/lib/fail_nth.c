// SPDX-License-Identifier: GPL-2.0
// Uses /proc/PID/fail-nth to make the calling thread's n-th allocation or user-space copy fail.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "selftests/lib/fail_nth.h"

int fail_nth_open(void)
{
	return open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
}

/* Retries, because the copy from user space in this very pwrite() may be the one that fails. */
void fail_nth(int nth, unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	while (pwrite(nth, text, length, 0) != length)
		;
}

bool fail_nth_ended(int nth)
{
	char text[16] = "";
	/*
	 * The injected failure may hit this pread() itself, while the kernel copies the result to our buffer. That does
	 * not affect the number we read, because the kernel determines the number before copying it.
	 */
	ssize_t got = pread(nth, text, sizeof(text) - 1, 0);

	fail_nth(nth, 0);
	return got > 0 && atoi(text) == 0;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

bool fail_nth_prepare(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
		{ "fail_usercopy/verbose", "0" },
	};
	char path[PATH_MAX];
	size_t i;

	if (access("/sys/kernel/debug/failslab", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s", settings[i][0]);
		if (!write_file(path, settings[i][1]))
			return false;
	}
	return true;
}
