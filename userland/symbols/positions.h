/* SPDX-License-Identifier: GPL-2.0 */
/* Source positions from DWARF: lines, and the calls that were inlined at an address. */
#ifndef MASSIF_SYMBOLS_POSITIONS_H
#define MASSIF_SYMBOLS_POSITIONS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_POSITIONS_MAX 128 /* maximum number of inlined calls at one address, plus one for the function that
			      * contains them */

/* One position. The strings point into the DWARF data. */
struct mf_position {
	const char *function; /* name of an inlined function; NULL for the last position, the containing function */
	const char *path;     /* path of the source file, or NULL if unknown */
	const char *base;     /* the directory that a relative @path is relative to, or NULL if unknown */
	unsigned int line;
};

struct mf_positions;

/*
 * Creates a reader. @dwarf must outlive it. Compilation units are read when an address in them is looked up. Returns
 * NULL if out of memory.
 */
struct mf_positions *mf_positions_create(Dwarf *dwarf);
void mf_positions_destroy(struct mf_positions *positions);

/* Returns how many bytes of .debug_info have been read so far. */
size_t mf_positions_weight(const struct mf_positions *positions);

/* Returns whether some positions came from files other than the debug information file (.dwo files). */
bool mf_positions_are_split(const struct mf_positions *positions);

/*
 * Finds the positions of the link-time @address, innermost first. The last position is that of the function in the
 * symbol table; the others, found only with @inlines, are inlined calls. Returns the number of elements of @list that
 * were filled, at least 1.
 */
size_t mf_positions_find(struct mf_positions *positions, uint64_t address, bool inlines,
			 struct mf_position list[MF_POSITIONS_MAX]);

#endif
