/* SPDX-License-Identifier: GPL-2.0 */
/*
 * List of the detour entries, for kernels on which each hooked function needs its own entry. Used in assembly and in C.
 */
#ifndef MASSIF_COMPAT_ENTRIES_H
#define MASSIF_COMPAT_ENTRIES_H

/* The list of detour entries. Must have at least as many entries as there are hooks. */
#define MASSIF_EACH_ENTRY(do)						\
	do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9)	\
	do(10) do(11) do(12) do(13) do(14) do(15)

#endif
