// SPDX-License-Identifier: GPL-2.0
// Prepares the sections of an ELF file for libdw.
//
// The sections are changed only in memory: the file is open read-only.

#include "symbols/sections.h"

#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/inflate.h"

/* Returns the next section after @section, with its header and name; NULL after the last one. */
static Elf_Scn *next_section(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		*name = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
		if (*name)
			return section;
	}
	return NULL;
}

bool mf_sections_have(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *found;

	while ((section = next_section(elf, section, &header, &found))) {
		if (header.sh_type != SHT_NOBITS && strcmp(found, name) == 0)
			return true;
	}
	return false;
}

bool mf_sections_have_dwarf(Elf *elf)
{
	/*
	 * The GNU tools used names like .zdebug_info for compressed sections before the ELF specification covered them.
	 */
	return mf_sections_have(elf, ".debug_info") || mf_sections_have(elf, ".zdebug_info");
}

static bool is_useless(const char *name)
{
	static const char *const useless[] = {
		".debug_loc",	   ".debug_loclists", ".debug_frame",
		".debug_pubnames", ".debug_macro",    ".debug_macinfo",
	};

	for (size_t i = 0; i < sizeof(useless) / sizeof(useless[0]); i++) {
		if (strcmp(name, useless[i]) == 0)
			return true;
	}
	return false;
}

void mf_sections_hide(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(elf, section, &header, &name))) {
		if (!is_useless(name))
			continue;
		header.sh_type = SHT_NOBITS;
		header.sh_flags = 0;
		gelf_update_shdr(section, &header);
	}
}

/*
 * Decompresses @section if it is compressed with zlib. Returns the contents in memory allocated with malloc(), or NULL
 * if the section is not compressed or is damaged. Although libelf has mapped the file, the section is read with
 * pread(), because pages of the mapping would stay resident until the file is closed.
 */
static uint8_t *inflate(Elf *elf, int fd, Elf_Scn *section, const GElf_Shdr *place, uint64_t *size)
{
	size_t n_header = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT), n;
	mf_auto_free uint8_t *compressed = NULL;
	GElf_Chdr header;

	if (!gelf_getchdr(section, &header) || header.ch_type != ELFCOMPRESS_ZLIB ||
	    place->sh_size < n_header)
		return NULL;
	n = place->sh_size - n_header;
	compressed = malloc(n + 1);
	if (!compressed ||
	    pread(fd, compressed, n, (off_t)(place->sh_offset + n_header)) != (ssize_t)n)
		return NULL;
	*size = header.ch_size;
	return mf_inflate(compressed, n, *size);
}

/* Replaces the contents of @section. libelf returns the changed Elf_Data to later callers, including libdw. */
static void replace(Elf_Scn *section, GElf_Shdr *header, uint8_t *contents, uint64_t size)
{
	Elf_Data *data = elf_getdata(section, NULL);

	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header->sh_size = size;
	if (!data || !gelf_update_shdr(section, header))
		return;
	data->d_buf = contents;
	data->d_size = size;
	data->d_type = ELF_T_BYTE;
}

static bool keep(struct mf_sections *sections, uint8_t *contents)
{
	void **all = realloc(sections->contents, (sections->count + 1) * sizeof(*all));

	if (!all)
		return false;
	sections->contents = all;
	all[sections->count++] = contents;
	return true;
}

void mf_sections_inflate(struct mf_sections *sections, Elf *elf, int fd)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;

	while ((section = next_section(elf, section, &header, &name))) {
		uint8_t *contents;
		uint64_t size;

		if (header.sh_type == SHT_NOBITS || !(header.sh_flags & SHF_COMPRESSED) ||
		    strncmp(name, ".debug_", strlen(".debug_")) != 0)
			continue;
		contents = inflate(elf, fd, section, &header, &size);
		if (contents && keep(sections, contents))
			replace(section, &header, contents, size);
		else
			free(contents);
	}
}

void mf_sections_deinit(struct mf_sections *sections)
{
	while (sections->count)
		free(sections->contents[--sections->count]);
	free(sections->contents);
	sections->contents = NULL;
}
