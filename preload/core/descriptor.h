/* SPDX-License-Identifier: GPL-2.0 */
/* File descriptors that the shim opens in the program's process. */
#ifndef MASSIF_PRELOAD_DESCRIPTOR_H
#define MASSIF_PRELOAD_DESCRIPTOR_H

/*
 * Moves @fd to a high number, so that the program gets the same low descriptors as without the shim. Returns the new
 * descriptor, which is close-on-exec, or @fd unchanged if no high number is available.
 */
int mf_descriptor_move_high(int fd);

#endif
