/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the build id of an ELF file. */
#ifndef MASSIF_ELF_BUILD_ID_H
#define MASSIF_ELF_BUILD_ID_H

#include <stddef.h>

/*
 * Searches the @size bytes of @notes, a note segment or section in this machine's byte order. The notes may be
 * unaligned or damaged. Returns the size of the build id and sets *@id to its bytes in @notes; returns 0 if there is
 * none. A build id need not be a multiple of four bytes long, and linkers do not pad the last note.
 *
 * Context: any, including the shim: calls no other function.
 */
size_t mf_build_id_find(const void *notes, size_t size, const void **id);

#endif
