// SPDX-License-Identifier: GPL-2.0
// Redirects function calls of one loaded object to the shim's functions.
//
// The object calls each function through a word in its global offset table, which the dynamic linker either has
// already set or will set at the first call. The shim replaces that word.

#include "redirect.h"

#include <elf.h>
#include <string.h>

#include "core/definitions.h"
#include "patch.h"

#ifdef __x86_64__

struct redirection {
	uint64_t base;
	const char *name;
	const void *ours;
	bool failed;
};

static bool is_wanted(const struct mf_definitions *object, const ElfW(Rela) *entry, const char *name)
{
	uint64_t type = ELF64_R_TYPE(entry->r_info), symbol = ELF64_R_SYM(entry->r_info);

	return (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbol &&
	       !strcmp(object->names + object->symbols[symbol].st_name, name);
}

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct redirection *redirection = data;
	struct mf_definitions definitions;

	if (object->dlpi_addr != redirection->base)
		return 0;
	if (!mf_definitions_open(&definitions, object)) {
		redirection->failed = true;
		return 1;
	}
	for (uint32_t i = 0; i < MF_DEFINITIONS_RELOCATIONS; i++) {
		const ElfW(Rela) *table = definitions.relocations[i].table;
		uint64_t n = definitions.relocations[i].size / sizeof(*table);

		for (uint64_t j = 0; table && j < n; j++)
			if (is_wanted(&definitions, &table[j], redirection->name) &&
			    mf_patch_write((void *)(uintptr_t)(object->dlpi_addr + table[j].r_offset),
					   &redirection->ours, sizeof(redirection->ours)))
				redirection->failed = true;
	}
	return 1;
}

bool mf_redirect(uint64_t base, const char *name, const void *ours)
{
	struct redirection redirection = { .base = base, .name = name, .ours = ours };

	mf_patch_begin();
	redirection.failed = !dl_iterate_phdr(visit, &redirection) || redirection.failed;
	mf_patch_end();
	return !redirection.failed;
}

#else

bool mf_redirect(uint64_t base, const char *name, const void *ours)
{
	return false;
}

#endif
