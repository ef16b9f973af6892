/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the program has restricted its own system calls (seccomp). */
#ifndef MASSIF_PRELOAD_SECCOMP_H
#define MASSIF_PRELOAD_SECCOMP_H

#include <stdbool.h>

#include "session.h"

extern bool mf_seccomp_on MF_HIDDEN;

/*
 * Notes that the current process has restricted its system calls. @may_wait: whether it may call futex(2), without which
 * no thread can wait, and memory cannot be tested for being readable.
 */
void mf_seccomp_note(bool may_wait);

/*
 * Call this right before an exec, and after it has failed. A child of vfork() that has restricted itself shares its
 * parent's variables: its restriction ends with it, and is not its parent's.
 */
void mf_seccomp_executing(bool begins);

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
