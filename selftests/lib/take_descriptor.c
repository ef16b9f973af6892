// SPDX-License-Identifier: GPL-2.0
// Duplicates descriptors of other processes.
#include "selftests/lib/take_descriptor.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd	438
#endif

int take_descriptor(pid_t pid, int theirs)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);

	close(pidfd);
	return fd;
}
