// SPDX-License-Identifier: GPL-2.0
// The file with debug information that several objects share.

#include "symbols/shared_file.h"

#include <elf.h>
#include <gelf.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "elf/build_id.h"

/* What is read of a section of notes. That with the build id has 36 bytes. */
#define NOTES_MAX 1024u

void mf_shared_file_find(struct mf_shared_file *file, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		const Elf_Data *data;
		const char *end;
		size_t size;

		if (!name || strcmp(name, ".gnu_debugaltlink") != 0)
			continue;
		/* The name of the file, and its build id. */
		data = elf_rawdata(section, NULL);
		end = data && data->d_buf ? memchr(data->d_buf, '\0', data->d_size) : NULL;
		size = end ? data->d_size - (size_t)(end + 1 - (const char *)data->d_buf) : 0;
		if (!size || size > sizeof(file->build_id))
			return;
		memcpy(file->build_id, end + 1, size);
		file->size = size;
		return;
	}
}

static bool read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, buffer, size, (off_t)offset) == (ssize_t)size;
}

/* Returns whether the notes of @section have the build id. */
static bool has_build_id(int fd, const Elf64_Shdr *section, const struct mf_shared_file *file)
{
	static uint8_t notes[NOTES_MAX];
	const void *build_id;
	size_t size = section->sh_size < sizeof(notes) ? section->sh_size : sizeof(notes);

	return section->sh_type == SHT_NOTE && read_at(fd, notes, size, section->sh_offset) &&
	       mf_build_id_find(notes, size, &build_id) == file->size &&
	       memcmp(build_id, file->build_id, file->size) == 0;
}

bool mf_shared_file_is(const struct mf_shared_file *file, int fd)
{
	Elf64_Shdr section;
	Elf64_Ehdr header;

	if (!read_at(fd, &header, sizeof(header), 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(section))
		return false;
	for (uint32_t i = 0; i < header.e_shnum; i++)
		if (read_at(fd, &section, sizeof(section), header.e_shoff + i * sizeof(section)) &&
		    has_build_id(fd, &section, file))
			return true;
	return false;
}
