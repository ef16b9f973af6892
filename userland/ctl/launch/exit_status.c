// SPDX-License-Identifier: GPL-2.0
// Finds out how a process ended that is not a child of massif-ctl.

#include "exit_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What PIDFD_GET_INFO fills in. The headers of the oldest C library that we build with do not have it. */
struct info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};

#define GET_INFO  _IOWR(0xff, 11, struct info)
#define INFO_EXIT (1ull << 3) /* in the mask: exit_code is wanted, and then, is known */

/* Linux keeps the status for as long as there is a pidfd, once the parent has fetched it. */
static int read_after_wait(int pidfd)
{
	struct info info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return MF_EXIT_STATUS_UNKNOWN;
	return info.exit_code;
}

/* Reads the last member of /proc/PID/stat of a zombie, the status. */
static int read_zombie(pid_t pid)
{
	mf_auto_fclose FILE *file = NULL;
	char text[2048], *at;
	size_t size;

	snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	file = fopen(text, "re");
	size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[size] = '\0';
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] != 'Z')
		return MF_EXIT_STATUS_UNKNOWN;
	at = strrchr(at, ' ');
	return (int)strtol(at, NULL, 10);
}

/* Returns whether the process is still a zombie, so that its pid cannot have been given to another process. */
static bool is_there(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

int mf_exit_status_read(pid_t pid, int pidfd)
{
	int status = read_zombie(pid);

	/* If its parent has fetched the status, the pidfd may know it, and /proc/PID may be another process. */
	return is_there(pidfd) ? status : read_after_wait(pidfd);
}
