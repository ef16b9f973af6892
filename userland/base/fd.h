/* SPDX-License-Identifier: GPL-2.0 */
/* massif-ctl's own file descriptors. */
#ifndef MASSIF_BASE_FD_H
#define MASSIF_BASE_FD_H

/*
 * Duplicates @fd to a descriptor number that programs are unlikely to use: 1000 or higher if the limits allow it.
 * Returns the new descriptor, which is close-on-exec, or -errno.
 */
int mf_fd_move_high(int fd);

#endif
