// SPDX-License-Identifier: GPL-2.0
// File descriptors that the shim opens in the program.
//
// Uses bare system calls, for the reasons given in join.c.

#include "descriptor.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAST 1000

int mf_descriptor_move_high(int fd)
{
	int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LEAST);

	/*
	 * If the limit on descriptors does not allow a high number, at least avoid the numbers of the standard streams,
	 * which the program may have closed.
	 */
	if (high < 0 && fd <= STDERR_FILENO)
		high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high < 0)
		return fd;
	syscall(SYS_close, fd);
	return high;
}
