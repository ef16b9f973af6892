// SPDX-License-Identifier: GPL-2.0
// Looks up functions in the program's C++ library, if it has one.
//
// A library loaded at startup is never unloaded, so its functions are looked up once. A library loaded later may be
// unloaded again. It is searched when it is loaded (object_loaded.c) rather than when one of its functions is needed,
// because a search takes the dynamic linker's lock, and an allocation must not take that lock (objects.c).

#include "cxx_library.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pattern.h"
#include "definitions.h"
#include "objects.h"
#include "session.h"

#define NAME(name) #name,

static const char *const names[MF_LIBRARY_N] = { MF_LIBRARY_FUNCTIONS(NAME) };

struct search {
	void *found[MF_LIBRARY_N];
	uintptr_t bias[MF_LIBRARY_N];  /* load bias of the object that defines the function */
	bool is_library[MF_LIBRARY_N]; /* true if libstdc++ or libc++ defines the function */
	bool passed_us;
};

MF_LASTING static void *initial[MF_LIBRARY_N];

/* The functions that were found in objects loaded after startup. */
static struct search late;
/*
 * false if @late (the functions found in objects loaded after startup) may be out of date: an object may have been
 * loaded or unloaded since @late was updated; atomic
 */
static bool is_late_known;

/*
 * Functions of the C++ library that find_late() has found; used if the dynamic linker does not report the loading of
 * objects. A function's address is valid until any object is unloaded.
 */
static struct {
	void *address;	     /* address of the function; accessed atomically */
	uint32_t generation; /* value of mf_objects_generation() when the function was looked up; accessed atomically */
} asked[MF_LIBRARY_N];

static bool is_library(const char *soname)
{
	static const char *const patterns[] = { "libstdc++*", "libc++*" };

	for (size_t i = 0; soname && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (mf_pattern_matches(patterns[i], strlen(patterns[i]), soname, strlen(soname)))
			return true;
	return false;
}

/* The shim was loaded after the C++ library, and no other object can come between the two (see patch/slots.h). */
MF_LASTING static bool looks_everywhere;

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

static void look_into(struct search *search, const struct dl_phdr_info *object)
{
	struct mf_definitions definitions;
	bool library;

	if (looks_everywhere && is_ours(object))
		return;
	if (!looks_everywhere && !search->passed_us) {
		search->passed_us = is_ours(object);
		return;
	}
	if (!mf_definitions_open(&definitions, object))
		return;
	library = is_library(definitions.soname);
	for (uint32_t i = 0; i < MF_LIBRARY_N; i++) {
		void *address = NULL;

		if (search->is_library[i])
			continue;
		mf_definitions_find(&definitions, names[i], i, found, &address);
		if (!address || (search->found[i] && !library))
			continue;
		__atomic_store_n(&search->found[i], address, __ATOMIC_RELEASE);
		search->bias[i] = object->dlpi_addr;
		search->is_library[i] = library;
	}
}

static int visit(struct dl_phdr_info *object, size_t size, void *data)
{
	look_into(data, object);
	return 0;
}

void mf_cxx_library_start(void)
{
	struct search search = { .passed_us = false };

	dl_iterate_phdr(visit, &search);
	memcpy(initial, search.found, sizeof(initial));
}

void mf_cxx_library_start_late(void)
{
	looks_everywhere = true;
	mf_cxx_library_start();
}

void mf_cxx_library_arrived(const struct dl_phdr_info *object)
{
	look_into(&late, object);
}

void mf_cxx_library_gone(uintptr_t bias)
{
	bool any = false;

	for (uint32_t i = 0; i < MF_LIBRARY_N; i++)
		any |= late.found[i] && late.bias[i] == bias;
	if (!any)
		return;
	late = (struct search){ .passed_us = false };
	dl_iterate_phdr(visit, &late);
}

void mf_cxx_library_know(bool all)
{
	__atomic_store_n(&is_late_known, all, __ATOMIC_RELEASE);
}

static void *find_late(enum mf_cxx_library_function function)
{
	uint32_t generation = mf_objects_generation();
	struct search search = { .passed_us = false };
	int saved = errno;

	if (__atomic_load_n(&is_late_known, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&late.found[function], __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&asked[function].generation, __ATOMIC_ACQUIRE) == generation)
		return __atomic_load_n(&asked[function].address, __ATOMIC_RELAXED);
	dl_iterate_phdr(visit, &search);
	/* Cache only successes: a missing function may be loaded later. */
	if (search.found[function]) {
		__atomic_store_n(&asked[function].address, search.found[function], __ATOMIC_RELAXED);
		__atomic_store_n(&asked[function].generation, generation, __ATOMIC_RELEASE);
	}
	errno = saved;
	return search.found[function];
}

void *mf_cxx_library_find(enum mf_cxx_library_function function)
{
	return initial[function] ? initial[function] : find_late(function);
}
