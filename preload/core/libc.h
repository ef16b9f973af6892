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

#include <stdbool.h>

#include "session.h"

/*
 * Whether the C library has dlsym(), dladdr() and dladdr1() (in glibc before 2.34 they are in libdl.so.2, which a program
 * need not load), and _dl_find_object() (glibc 2.35). If not, do not call them; old_libc.h has other ways.
 */
extern bool mf_libc_has_dlsym MF_HIDDEN;
extern bool mf_libc_has_find_object MF_HIDDEN;

/*
 * Looks up the C library's functions that the shim calls. Must be called before any of them is used; the first call
 * must be made while the process has one thread. Ends the process with status 127 if a function is missing.
 */
void mf_libc_bind(void);

/* The same, but returns the name of a function that is missing, or NULL, and does not end the process. */
const char *mf_libc_try_bind(void);

/*
 * With glibc before 2.34, binds the functions of libpthread.so.0 if it was loaded since the last call.
 * Context: no other thread loads or unloads objects.
 */
void mf_libc_bind_later(void);

#endif
