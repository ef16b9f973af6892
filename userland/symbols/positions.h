/* SPDX-License-Identifier: GPL-2.0 */
/* Source positions from DWARF: lines, and the calls that were inlined at an address. */
#ifndef MASSIF_SYMBOLS_POSITIONS_H
#define MASSIF_SYMBOLS_POSITIONS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MF_POSITIONS_MAX 128 /* inlined calls at one address, and the function around them */

/* One position; the strings are DWARF's memory. */
struct mf_position {
	const char *function; /* of an inlined call; NULL for the last, the function around */
	const char *path;     /* of the source file, directory first; NULL: unknown */
	const char *base;     /* the directory that a relative path is to be read in; NULL: none */
	unsigned int line;
};

struct mf_positions;

/*
 * @dwarf must outlive the positions. Compilation units are read one by one as addresses need them.
 * Returns NULL if memory is short.
 */
struct mf_positions *mf_positions_create(Dwarf *dwarf);
void mf_positions_destroy(struct mf_positions *positions);

/* How many bytes of .debug_info belong to the units that were read so far. */
size_t mf_positions_weight(const struct mf_positions *positions);

/* Do positions that were asked for come from files beside that of the debug information (.dwo)? */
bool mf_positions_are_split(const struct mf_positions *positions);

/*
 * The positions of the link-time @address, innermost first, of which the last one is the function
 * in the symbol table; inlined calls only if @inlines. Returns how many of @list are filled, at
 * least 1.
 */
size_t mf_positions_find(struct mf_positions *positions, uint64_t address, bool inlines,
			 struct mf_position list[MF_POSITIONS_MAX]);

#endif
