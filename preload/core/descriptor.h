/* SPDX-License-Identifier: GPL-2.0 */
/* File descriptors of ours in the program, which knows nothing of them. */
#ifndef MASSIF_PRELOAD_DESCRIPTOR_H
#define MASSIF_PRELOAD_DESCRIPTOR_H

/*
 * Moves @fd to where few programs have descriptors of their own: these begin as low as ever. Returns
 * what it is then, which is close-on-exec; @fd itself, as it was, where there is no room higher up.
 */
int mf_descriptor_move_high(int fd);

#endif
