/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes the program's code in memory: writes jumps to functions of the shim, and allocates memory for code near
 * them.
 *
 * Use this only while no other thread can be executing the bytes that change: on code that was just mapped, or in a
 * process with one thread. Two threads must not use it at the same time; holding the dynamic linker's lock ensures
 * that. Nothing here calls malloc, and errno is preserved. On failure nothing is changed, and the functions return
 * -errno: -ENOTSUP on a processor for which there is no encoder (jump.h), -EACCES or -EPERM if writing to code is
 * forbidden (SELinux, a seccomp filter, PR_SET_MDWE), -ENOMEM if there is no room, or an error from reading
 * /proc/self/maps.
 */
#ifndef MASSIF_PRELOAD_PATCH_H
#define MASSIF_PRELOAD_PATCH_H

#include <stddef.h>

#include "jump.h"

/* Size in bytes of the jump that is written at a site. */
#define MF_PATCH_BYTES MF_JUMP_BYTES

/*
 * Between mf_patch_begin() and mf_patch_end(), a write may reuse the mapping that was last read from /proc/self/maps,
 * so no other code may change the protection of mappings during that time. Otherwise, each write reads /proc/self/maps.
 */
void mf_patch_begin(void);
void mf_patch_end(void);

/*
 * Overwrites the code at @site with the @n bytes at @bytes (at most a page), and restores the protection of the code's
 * pages.
 */
int mf_patch_write(void *site, const void *bytes, size_t n);

/*
 * Allocates @size bytes (at most 64 KiB) close enough to @site for near jumps in both directions. Sets *@room to the
 * address of these bytes, which is a multiple of 16. The memory is writable until mf_patch_seal() is called, and
 * executable afterwards.
 */
int mf_patch_room(const void *site, size_t size, void **room);

/*
 * Makes all memory from mf_patch_room() executable. After an error, memory allocated since the last call must not be
 * used.
 */
int mf_patch_seal(void);

/*
 * These functions write a jump from @site to @target, which may be at any address, in two steps. mf_patch_prepare()
 * sets *@via to the address that the jump must go to, which is either @target or a far jump near the site. After
 * mf_patch_seal() has been called, mf_patch_jump() writes the jump.
 */
int mf_patch_prepare(const void *site, const void *target, const void **via);
int mf_patch_jump(void *site, const void *via);

#endif
