// SPDX-License-Identifier: GPL-2.0
// Files that somebody cuts short while we have them mapped.
//
// libelf maps what it is to read, and so does libdw with what it finds for itself; to have all of it read
// instead takes a twentieth of massif-ctl's time. A compiler that writes a library anew in its place
// would end massif-ctl, and the profile with it.

#include "symbols/truncation.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_size;

static void fill(int number, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_size - 1));
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	int saved = errno;

	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED) {
		/* It comes when we return: blocked until then. */
		sigaction(number, &usual, NULL);
		raise(number);
	}
	errno = saved;
}

void mf_truncation_endure(void)
{
	const struct sigaction action = { .sa_sigaction = fill, .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, NULL);
}
