/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes the program's code in memory: jumps to functions of ours, and room near it for what they
 * lead to.
 *
 * For a moment at which no other thread can be in the bytes that change: code that was just mapped,
 * or a process whose only thread is here. One caller at a time; the dynamic linker's lock does.
 * Nothing here allocates with malloc, and errno is kept. What cannot be done is left as it was, and
 * told with -errno: -ENOTSUP on a machine whose jumps we do not know (jump.h), -EACCES or -EPERM where
 * code may not be written (SELinux, a seccomp filter, PR_SET_MDWE), -ENOMEM where there is no room, or
 * what there was to say of /proc/self/maps.
 */
#ifndef MASSIF_PRELOAD_PATCH_H
#define MASSIF_PRELOAD_PATCH_H

#include <stddef.h>

#include "jump.h"

/* Bytes of code at a site that its jump takes. */
#define MF_PATCH_BYTES MF_JUMP_BYTES

/*
 * Between the two nobody else changes how code is mapped, so that what has been found out about it holds
 * for the next site as well. Otherwise each write asks the kernel, which lists all mappings then.
 */
void mf_patch_begin(void);
void mf_patch_end(void);

/* Writes @n @bytes, at most a page, over the code at @site. Its pages stay protected as they are. */
int mf_patch_write(void *site, const void *bytes, size_t n);

/*
 * *@room are @size bytes, at most 64 KiB, aligned to 16, that a jump at @site reaches, and from where
 * one reaches @site. They can be written until mf_patch_seal(), and executed after it.
 */
int mf_patch_room(const void *site, size_t size, void **room);

/* If it fails, nothing of the room that was given out since the last time may be jumped to. */
int mf_patch_seal(void);

/*
 * A jump at @site to @target, wherever that is, in two steps with the seal in between: the first
 * finds where the jump must lead, *@via, which is @target if that is near, the second writes it.
 */
int mf_patch_prepare(const void *site, const void *target, const void **via);
int mf_patch_jump(void *site, const void *via);

#endif
