/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes the program's code in memory: writes jumps to functions of the shim, and allocates memory for code near
 * them.
 *
 * Only to be used while no other thread can be in the bytes that change: in code that was just mapped, or in a process
 * with one thread. Not for two callers at a time; holding the dynamic linker's lock is enough. Nothing here calls
 * malloc, and errno is kept. On failure nothing is changed, and the functions return -errno: -ENOTSUP on a processor
 * for which there is no encoder (jump.h), -EACCES or -EPERM where code must not be written (SELinux, a seccomp filter,
 * PR_SET_MDWE), -ENOMEM if there is no room, or an error in reading /proc/self/maps.
 */
#ifndef MASSIF_PRELOAD_PATCH_H
#define MASSIF_PRELOAD_PATCH_H

#include <stddef.h>

#include "jump.h"

/* Size of a jump at a site, in bytes. */
#define MF_PATCH_BYTES MF_JUMP_BYTES

/*
 * Between the two calls, the protection of mappings must not change otherwise, so that what was read about it can be
 * reused for the next site. Outside of them each write makes the kernel list all mappings.
 */
void mf_patch_begin(void);
void mf_patch_end(void);

/* Writes @n @bytes, at most a page, over the code at @site. The protection of its pages is restored. */
int mf_patch_write(void *site, const void *bytes, size_t n);

/*
 * *@room becomes the address of @size bytes (at most 64 KiB, aligned to 16) such that near jumps reach from @site to
 * there and back. They can be written until mf_patch_seal() and executed after it.
 */
int mf_patch_room(const void *site, size_t size, void **room);

/* Makes all room executable. After an error, no room allocated since the last call may be used. */
int mf_patch_seal(void);

/*
 * Writes a jump at @site to any @target, in two steps with mf_patch_seal() in between. The first returns in *@via where
 * the jump must lead: @target, or a far jump near the site. The second writes the jump.
 */
int mf_patch_prepare(const void *site, const void *target, const void **via);
int mf_patch_jump(void *site, const void *via);

#endif
