/* SPDX-License-Identifier: GPL-2.0 */
/* System calls of the shim's own, which nobody else sees; see bare.c. */
#ifndef MASSIF_PRELOAD_BARE_H
#define MASSIF_PRELOAD_BARE_H

#include "session.h"

/* What syscall() is in the shim. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) MF_HIDDEN;

#endif
