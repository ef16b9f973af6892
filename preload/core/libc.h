/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only the C library can do: its own functions, whatever else in the program has their names.
 *
 * The shim calls them by their usual names and headers. Those names are the shim's own, hidden entries
 * (libc.c), which lead to the definitions in libc.so.6.
 */
#ifndef MASSIF_PRELOAD_LIBC_H
#define MASSIF_PRELOAD_LIBC_H

#include "session.h"

/*
 * Finds the functions. Before the first call of any of them; at the first call of all, while there is
 * one thread.
 */
void mf_libc_bind(void);

#endif
