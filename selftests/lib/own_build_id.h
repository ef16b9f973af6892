/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the build id of the running program. */
#ifndef MASSIF_SELFTESTS_OWN_BUILD_ID_H
#define MASSIF_SELFTESTS_OWN_BUILD_ID_H

#include <link.h>
#include <string.h>

#include "model/objects.h"

/*
 * Callback for dl_iterate_phdr(). Sets the build id and the bias of @data, a struct mf_object, to those of the first
 * object, which is the program.
 */
static inline int own_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
	struct mf_object *object = data;

	object->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
		const char *end = at + header->p_memsz;

		while (header->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);

			at = name + (note->n_namesz + 3u) / 4 * 4;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(name, "GNU", 4) == 0 && note->n_descsz <= MF_BUILD_ID_MAX) {
				memcpy(object->build_id, at, note->n_descsz);
				object->build_id_size = (uint8_t)note->n_descsz;
			}
			at += (note->n_descsz + 3u) / 4 * 4;
		}
	}
	return 1;
}

#endif
