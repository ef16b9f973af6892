/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that only the C library can provide, bound to the C library's own definitions even if the program
 * defines functions of the same names.
 *
 * The shim calls them by their usual names and includes the usual headers. Each name is a hidden entry in the shim
 * (libc.c) that jumps to the definition in libc.so.6.
 */
#ifndef MASSIF_PRELOAD_LIBC_H
#define MASSIF_PRELOAD_LIBC_H

#include "session.h"

/*
 * Looks up the C library's functions that the shim calls. Must be called before any of them is used; the first call
 * must be made while the process has one thread. Ends the process with status 127 if a function is missing.
 */
void mf_libc_bind(void);

/* The same, but returns the name of a function that is missing, or NULL, and does not end the process. */
const char *mf_libc_try_bind(void);

#endif
