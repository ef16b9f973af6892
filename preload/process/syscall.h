/* SPDX-License-Identifier: GPL-2.0 */
/* Wraps the program's calls to syscall(2). */
#ifndef MASSIF_PRELOAD_SYSCALL_H
#define MASSIF_PRELOAD_SYSCALL_H

/*
 * From now on, the shim's syscall() passes calls on to the definition of syscall() that the program would have used
 * without the shim.
 */
void mf_syscall_start(void);

#endif
