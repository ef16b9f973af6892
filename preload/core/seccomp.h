/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the program has restricted its own system calls (seccomp). */
#ifndef MASSIF_PRELOAD_SECCOMP_H
#define MASSIF_PRELOAD_SECCOMP_H

#include <stdbool.h>

#include "session.h"

extern bool mf_seccomp_on MF_HIDDEN;

/*
 * Once the program has restricted its system calls, the shim makes no system call that malloc would not make, because
 * such a call could kill the program. Features that need other calls are off: forked children are not profiled,
 * executed programs are not followed, and new threads have no instruction counter. Restrictions that the program sets
 * without the C library's prctl() or syscall() go unnoticed.
 */
static inline bool mf_seccomp_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&mf_seccomp_on, __ATOMIC_RELAXED), 0);
}

#endif
