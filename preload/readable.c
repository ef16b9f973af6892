// SPDX-License-Identifier: GPL-2.0
// Whether memory can be read, by asking the kernel to.
//
// A call that sandboxes leave to everybody, with an argument that makes it fail: but before that, it
// reads what it is given.

#include "readable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_SUCH_WAY (-1) /* to change the set of signals */

bool mf_readable_word(uint64_t address)
{
	int saved = errno;
	bool readable;

	syscall(SYS_rt_sigprocmask, NO_SUCH_WAY, address, NULL, sizeof(uint64_t));
	readable = errno != EFAULT;
	errno = saved;
	return readable;
}
