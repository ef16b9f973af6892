// SPDX-License-Identifier: GPL-2.0
// Protects against mapped files being truncated.
//
// libelf maps the files it reads, and libdw maps the files that it finds on its own. If a compiler rewrote a mapped
// library in place, massif-ctl would be killed by SIGBUS, and the profile would be lost. Reading the files into memory
// instead of mapping them would cost 5 % of massif-ctl's time.

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
		/* SIGBUS is blocked while we are in its handler, so the raised signal is delivered when we return. */
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
