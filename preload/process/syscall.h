/* SPDX-License-Identifier: GPL-2.0 */
/* syscall(2) as the program calls it. */
#ifndef MASSIF_PRELOAD_SYSCALL_H
#define MASSIF_PRELOAD_SYSCALL_H

/* From now on calls go on to whoever would have had them. */
void mf_syscall_start(void);

#endif
