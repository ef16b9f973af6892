/* SPDX-License-Identifier: GPL-2.0 */
/* Reads numbers in DWARF encodings from bytes that may be damaged. */
#ifndef MASSIF_CFI_DWARF_H
#define MASSIF_CFI_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* DWARF numbers of rbp, rsp and the return address on x86-64. */
enum { MF_DWARF_RBP = 6, MF_DWARF_RSP = 7, MF_DWARF_RA = 16 };

/* The bytes still to be read. Reading past @end returns 0, moves the reader to @end and sets @overrun. */
struct mf_dwarf {
	const uint8_t *at, *end;
	bool overrun;
};

/* Reads one byte. */
static inline uint8_t mf_dwarf_byte(struct mf_dwarf *reader)
{
	if (reader->at < reader->end)
		return *reader->at++;
	reader->overrun = true;
	return 0;
}

/* Read a little-endian number of @size bytes (at most 8), or a number in DWARF's LEB128 encoding. */
uint64_t mf_dwarf_fixed(struct mf_dwarf *reader, size_t size);
uint64_t mf_dwarf_uleb(struct mf_dwarf *reader);
int64_t mf_dwarf_sleb(struct mf_dwarf *reader);

/* Reads a pointer encoded as in .eh_frame. Only absolute and pc-relative encodings are supported. */
uint64_t mf_dwarf_encoded(struct mf_dwarf *reader, uint8_t encoding);

/* Reads a length and returns that many bytes; returns none and sets @overrun if there are fewer. */
struct mf_dwarf mf_dwarf_block(struct mf_dwarf *reader);

#endif
