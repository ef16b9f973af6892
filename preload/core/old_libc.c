// SPDX-License-Identifier: GPL-2.0
// Looks up functions where the C library has no dlsym().
//
// Before glibc 2.34, dlsym() is in libdl.so.2, which many programs do not load. The library has private functions that
// would do, but they end the process if a symbol is missing.

#include "old_libc.h"

#include <link.h>
#include <stdbool.h>

#include "definitions.h"

struct search {
	const char *symbol;
	void *found;
	bool skips_next; /* true for the executable, which comes first, if it is not searched */
};

extern const ElfW(Ehdr) __ehdr_start MF_HIDDEN;

static void keep(const struct mf_definition *definition, void *data)
{
	if (!definition->chosen_late && !definition->is_old_version)
		*(void **)data = definition->address;
}

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	struct search *search = data;
	struct mf_definitions definitions;
	bool skip = search->skips_next || object->dlpi_addr == (uintptr_t)&__ehdr_start;

	search->skips_next = false;
	if (!skip && mf_definitions_open(&definitions, object))
		mf_definitions_find(&definitions, search->symbol, 0, keep, &search->found);
	return search->found != NULL;
}

void *mf_old_libc_find(const char *symbol, bool from_executable)
{
	struct search search = { .symbol = symbol, .skips_next = !from_executable };

	dl_iterate_phdr(visit, &search);
	return search.found;
}
