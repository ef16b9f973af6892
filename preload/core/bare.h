/* SPDX-License-Identifier: GPL-2.0 */
/* System calls that the shim makes directly, bypassing the C library; see bare.c. */
#ifndef MASSIF_PRELOAD_BARE_H
#define MASSIF_PRELOAD_BARE_H

#include "session.h"

/* Replaces syscall(2) in the shim, with the same result and errno. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) MF_HIDDEN;

#endif
