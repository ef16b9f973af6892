/* SPDX-License-Identifier: MIT */
/*
 * Client requests: how a program reports its own memory to massif, and controls its profile. See client.rst.
 *
 * The program need not link a library: the functions are in the library that massif-ctl preloads. In a run without
 * massif-ctl, and in a statically linked program, each call does nothing and costs a load and a branch.
 *
 *	#include <massif/massif.h>
 *
 *	void *pool_take(struct pool *pool, size_t size)
 *	{
 *		void *block = ...;
 *
 *		massif_malloc_like(block, size);
 *		return block;
 *	}
 *
 * All functions may be called from any thread. They are also safe in signal handlers, although massif_snapshot() and
 * massif_snapshot_to() may do nothing there.
 */
#ifndef MASSIF_MASSIF_H
#define MASSIF_MASSIF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The symbols are weak, so that a program links without definitions for them. noplt ensures that even
 * position-dependent code reaches them through the global offset table; otherwise the linker would permanently resolve
 * an undefined weak symbol to NULL.
 */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define MASSIF_WEAK __attribute__((weak, noplt, visibility("default")))
#endif
#endif
#ifndef MASSIF_WEAK
#define MASSIF_WEAK __attribute__((weak, visibility("default")))
#endif

/* Counts a block of @size bytes at @block, which comes from an allocator that massif does not track. */
void massif_malloc_like(const void *block, size_t size) MASSIF_WEAK;

/* Reports that the block at @block has been freed. Does nothing if no block was counted there. */
void massif_free_like(const void *block) MASSIF_WEAK;

/*
 * Reports that the block at @block has been resized to @size bytes without being moved. If the block was counted
 * before, this counts as a free followed by an allocation, otherwise only as an allocation.
 */
void massif_resize_like(const void *block, size_t size) MASSIF_WEAK;

/*
 * Between massif_stop() and massif_start(), new blocks are not counted in any thread of the process, or in the children
 * that it forks. Blocks counted before stay counted until they are freed, even if they are resized. A block allocated
 * in between is never counted, unless it is reallocated after massif_start(), which creates a new block. Calls do not
 * nest.
 */
void massif_stop(void) MASSIF_WEAK;
void massif_start(void) MASSIF_WEAK;

/*
 * Takes a detailed snapshot. Like any other snapshot, it may be discarded later, when the profile has too many
 * snapshots.
 */
void massif_snapshot(void) MASSIF_WEAK;

/*
 * Writes the current state, as one detailed snapshot, to @file. Returns 0, or -1 if the file could not be
 * written or the process is not being profiled.
 */
int massif_snapshot_to(const char *file) MASSIF_WEAK;

/* Returns 1 if this process is being profiled, else 0. */
int massif_is_there(void) MASSIF_WEAK;

#ifdef __cplusplus
}
#endif

/*
 * Each macro calls its function only if that function is defined, which is the case only when the program runs under
 * massif-ctl.
 */
#define massif_malloc_like(block, size) \
	(massif_malloc_like ? massif_malloc_like(block, size) : (void)0)
#define massif_free_like(block) (massif_free_like ? massif_free_like(block) : (void)0)
#define massif_resize_like(block, size) \
	(massif_resize_like ? massif_resize_like(block, size) : (void)0)
#define massif_stop()		 (massif_stop ? massif_stop() : (void)0)
#define massif_start()		 (massif_start ? massif_start() : (void)0)
#define massif_snapshot()	 (massif_snapshot ? massif_snapshot() : (void)0)
#define massif_snapshot_to(file) (massif_snapshot_to ? massif_snapshot_to(file) : -1)
#define massif_is_there()	 (massif_is_there ? massif_is_there() : 0)

#endif
