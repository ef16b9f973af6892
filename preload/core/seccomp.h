/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the program has restricted its own system calls (seccomp). */
#ifndef MASSIF_PRELOAD_SECCOMP_H
#define MASSIF_PRELOAD_SECCOMP_H

#include <stdbool.h>

#include "session.h"

extern bool mf_seccomp_on MF_HIDDEN;

/*
 * From then on the shim makes no call that malloc would not make: it could end the program. What takes other
 * calls is left out: children that are forked are not profiled, nothing that is executed is followed, and new
 * threads have no counter of instructions. A program that restricts itself without the C library's prctl(2)
 * or syscall(2) is not noticed.
 */
static inline bool mf_seccomp_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&mf_seccomp_on, __ATOMIC_RELAXED), 0);
}

#endif
