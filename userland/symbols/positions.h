/* SPDX-License-Identifier: GPL-2.0 */
/* Source positions from DWARF: lines, and the calls that were inlined at an address. */
#ifndef MASSIF_SYMBOLS_POSITIONS_H
#define MASSIF_SYMBOLS_POSITIONS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_POSITIONS_MAX 128 /* inlined calls at one address, plus the function around them */

/* One position. The strings are DWARF's memory. */
struct mf_position {
	const char *function; /* name of an inlined function; NULL for the last position, the function around */
	const char *path;     /* path of the source file; NULL: unknown */
	const char *base;     /* the directory that a relative @path refers to; NULL: unknown */
	unsigned int line;
};

struct mf_positions;

/*
 * Creates a reader. @dwarf must outlive it. Compilation units are read when an address in them is looked up. Returns
 * NULL if memory ran out.
 */
struct mf_positions *mf_positions_create(Dwarf *dwarf);
void mf_positions_destroy(struct mf_positions *positions);

/* Returns how many bytes of .debug_info were read so far. */
size_t mf_positions_weight(const struct mf_positions *positions);

/* Returns whether positions came from files other than that of the debug information (.dwo). */
bool mf_positions_are_split(const struct mf_positions *positions);

/*
 * Finds the positions of the link-time @address, innermost first. The last is the function in the symbol table; the
 * others are inlined calls, only with @inlines. Returns how many elements of @list were filled, at least 1.
 */
size_t mf_positions_find(struct mf_positions *positions, uint64_t address, bool inlines,
			 struct mf_position list[MF_POSITIONS_MAX]);

#endif
