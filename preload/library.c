// SPDX-License-Identifier: GPL-2.0
// The C++ library that the program has, if any.
//
// What was there at the start stays. A library that came later may go again, so an address in it is
// valid as long as no object has gone.

#include "library.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pattern.h"
#include "definitions.h"
#include "objects.h"

#define NAME(name) #name,

static const char *const names[MF_LIBRARY_N] = { MF_LIBRARY_FUNCTIONS(NAME) };

struct search {
	void *found[MF_LIBRARY_N];
	bool is_library[MF_LIBRARY_N]; /* found in a C++ library, and not just behind ours */
	bool passed_us;
};

static void *initial[MF_LIBRARY_N];

static struct {
	void *address;	     /* atomic */
	uint32_t generation; /* atomic; see mf_objects_generation() */
} late[MF_LIBRARY_N];

static bool is_library(const char *soname)
{
	static const char *const patterns[] = { "libstdc++*", "libc++*" };

	for (size_t i = 0; soname && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (mf_pattern_matches(patterns[i], strlen(patterns[i]), soname, strlen(soname)))
			return true;
	return false;
}

static bool is_ours(const struct dl_phdr_info *object)
{
	uint64_t at = (uint64_t)(uintptr_t)names - object->dlpi_addr;

	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_LOAD &&
		    at - object->dlpi_phdr[i].p_vaddr < object->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static void found(const struct mf_definition *definition, void *data)
{
	void **address = data;

	if (!*address && !definition->chosen_late)
		*address = definition->address;
}

static int look_into(struct dl_phdr_info *object, size_t size, void *data)
{
	struct mf_definitions definitions;
	struct search *search = data;
	bool library;

	if (!search->passed_us) {
		search->passed_us = is_ours(object);
		return 0;
	}
	if (!mf_definitions_open(&definitions, object))
		return 0;
	library = is_library(definitions.soname);
	for (uint32_t i = 0; i < MF_LIBRARY_N; i++) {
		void *address = NULL;

		if (search->is_library[i])
			continue;
		mf_definitions_find(&definitions, names[i], i, found, &address);
		if (!address || (search->found[i] && !library))
			continue;
		search->found[i] = address;
		search->is_library[i] = library;
	}
	return 0;
}

void mf_library_start(void)
{
	struct search search = { .passed_us = false };

	dl_iterate_phdr(look_into, &search);
	memcpy(initial, search.found, sizeof(initial));
}

static void *find_late(enum mf_library_function function)
{
	uint32_t generation = mf_objects_generation();
	struct search search = { .passed_us = false };
	int saved = errno;

	if (__atomic_load_n(&late[function].generation, __ATOMIC_ACQUIRE) == generation)
		return __atomic_load_n(&late[function].address, __ATOMIC_RELAXED);
	dl_iterate_phdr(look_into, &search);
	/* One that is missing may still come. */
	if (search.found[function]) {
		__atomic_store_n(&late[function].address, search.found[function], __ATOMIC_RELAXED);
		__atomic_store_n(&late[function].generation, generation, __ATOMIC_RELEASE);
	}
	errno = saved;
	return search.found[function];
}

void *mf_library_find(enum mf_library_function function)
{
	return initial[function] ? initial[function] : find_late(function);
}
