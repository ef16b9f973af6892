// SPDX-License-Identifier: GPL-2.0
// massif-ctl's own file descriptors.

#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define HIGH_DESCRIPTOR 1000

int mf_fd_move_high(int fd)
{
	struct rlimit limit;
	int lowest = HIGH_DESCRIPTOR, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= HIGH_DESCRIPTOR)
		lowest = limit.rlim_cur > 1 ? (int)limit.rlim_cur - 1 : 0;
	/*
	 * The first attempt usually succeeds. Try high numbers first: the program may have inherited descriptors with
	 * low numbers.
	 */
	for (; lowest > STDERR_FILENO; lowest--) {
		high = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
		if (high >= 0 || errno != EMFILE)
			return high >= 0 ? high : -errno;
	}
	return -EMFILE;
}
