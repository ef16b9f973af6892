/* SPDX-License-Identifier: GPL-2.0 */
/* File descriptors of massif-ctl's own. */
#ifndef MASSIF_BASE_FD_H
#define MASSIF_BASE_FD_H

/*
 * A copy of descriptor @fd with a number that programs do not use by themselves: 1000 or above,
 * where the limits allow. Close-on-exec. Returns it or -errno.
 */
int mf_fd_move_high(int fd);

#endif
