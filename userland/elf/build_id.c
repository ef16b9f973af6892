// SPDX-License-Identifier: GPL-2.0
// Finds the build id of an ELF file.

#include "build_id.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define ALIGNMENT 4u

static uint64_t round_up(uint32_t size)
{
	return ((uint64_t)size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

size_t mf_build_id_find(const void *notes, size_t size, const void **id)
{
	const uint8_t *note = notes;
	Elf64_Nhdr head; /* same layout as Elf32_Nhdr */

	_Static_assert(sizeof(Elf64_Nhdr) == sizeof(Elf32_Nhdr), "one kind of note");
	while (size >= sizeof(head)) {
		uint64_t start, next;

		memcpy(&head, note, sizeof(head));
		start = sizeof(head) + round_up(head.n_namesz);
		next = start + round_up(head.n_descsz);
		if (start > size || head.n_descsz > size - start)
			return 0;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(note + sizeof(head), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			*id = note + start;
			return head.n_descsz;
		}
		if (next > size)
			return 0;
		note += next;
		size -= next;
	}
	return 0;
}
