/* SPDX-License-Identifier: GPL-2.0 */
/* The build id among the notes of an ELF file. */
#ifndef MASSIF_BASE_BUILD_ID_H
#define MASSIF_BASE_BUILD_ID_H

#include <stddef.h>

/*
 * Looks through @size bytes of notes, of any alignment, that may be damaged: a note segment or section of this
 * machine's byte order. Returns how many bytes the build id has and where it begins, in @notes, in *@id; 0: there is
 * none. Linkers do not fill up the last note, whose id need not be a multiple of four bytes long.
 *
 * Context: any, also the preload shim's: calls nothing.
 */
size_t mf_build_id_find(const void *notes, size_t size, const void **id);

#endif
