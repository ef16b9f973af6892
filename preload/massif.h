/* SPDX-License-Identifier: MIT */
/*
 * What a program can tell massif of its own memory, and ask it for. See client.rst.
 *
 * Nothing is to be linked: the functions are in the library that massif-ctl preloads. Without it, or
 * in a program that is linked statically, they do nothing, which costs a load and a branch.
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
 * Each may be called in any thread; in a signal handler, all but massif_snapshot() and
 * massif_snapshot_to(), which may do nothing there.
 */
#ifndef MASSIF_MASSIF_H
#define MASSIF_MASSIF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Weak, so that nothing need define them; and reached by the linkage table in code that is not
 * position-independent, too, where a linker would otherwise take their absence for final.
 */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define MASSIF_WEAK __attribute__((weak, noplt, visibility("default")))
#endif
#endif
#ifndef MASSIF_WEAK
#define MASSIF_WEAK __attribute__((weak, visibility("default")))
#endif

/* A block of @size bytes has been made at @block, out of memory that massif does not know or does. */
void massif_malloc_like(const void *block, size_t size) MASSIF_WEAK;

/* That block is no more. Unknown ones are no event. */
void massif_free_like(const void *block) MASSIF_WEAK;

/* It has @size bytes from now on, at the same place: a free, if it is known, and a new block. */
void massif_resize_like(const void *block, size_t size) MASSIF_WEAK;

/*
 * New blocks do not count from massif_stop() to massif_start(), in the whole process and those that it
 * forks, whoever makes them. Blocks that count go on doing so: they can be freed, and keep counting when
 * they are resized. A block that does not count stays out; but to reallocate it after massif_start()
 * makes a new one. Calls do not nest.
 */
void massif_stop(void) MASSIF_WEAK;
void massif_start(void) MASSIF_WEAK;

/* Takes a snapshot, with its tree, into the profile. It may be left out again when there are too many. */
void massif_snapshot(void) MASSIF_WEAK;

/*
 * Writes the present state, with its tree, to @file. Returns 0, or -1 if there is no such file: also
 * where there is no profile.
 */
int massif_snapshot_to(const char *file) MASSIF_WEAK;

/* Whether this process has a profile. */
int massif_is_there(void) MASSIF_WEAK;

#ifdef __cplusplus
}
#endif

/* What is not there is not called. */
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
