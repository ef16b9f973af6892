/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Building blocks of hostile programs: libraries that are loaded and unloaded. plug.so is built from plug.c with the
 * same compiler as the program.
 */
#ifndef MASSIF_SELFTESTS_LOADING_H
#define MASSIF_SELFTESTS_LOADING_H

#include <dlfcn.h>
#include <link.h>

#include "state.h"

typedef uint64_t plug_function(unsigned int p);

UNUSED static int see_object(struct dl_phdr_info *info, size_t size, void *data)
{
	/* Skip the libraries that exist only under massif: the shim, and libunwind if stacks are verified. */
	if (!strstr(info->dlpi_name, "libmassif-preload") && !strstr(info->dlpi_name, "libunwind") &&
	    !strstr(info->dlpi_name, "liblzma"))
		/*
		 * The checksum of the libraries' names must not depend on their order: when the shim is loaded, its
		 * dependencies cause the dynamic linker to appear earlier in the list.
		 */
		*(uint64_t *)data += sum_of(info->dlpi_name, strlen(info->dlpi_name));
	free(malloc(strlen(info->dlpi_name) + 1));
	return 0;
}

UNUSED static uint64_t load(int flags, unsigned int p)
{
	void *library = dlopen("./plug.so", flags);
	plug_function *function;
	uint64_t sum;

	if (!library) {
		say("dlopen: %s\n", dlerror());
		return 1;
	}
	function = (plug_function *)dlsym(library, "plug");
	sum = function(p);
	dlclose(library);
	return sum;
}

UNUSED static uint64_t piece_loads(unsigned int p)
{
	static const int flags[] = { RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND,
				     RTLD_LAZY | RTLD_DEEPBIND, RTLD_NOW | RTLD_NODELETE };
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 30; i++)
		sum = mix(sum, load(flags[(i + p) % (i < 25 ? 5 : 6)], p + i));
	dl_iterate_phdr(see_object, &sum);
	sum = mix(sum, dlopen("/nonexistent.so", RTLD_NOW) == NULL);
	return mix(sum, dlerror() != NULL);
}

/* Loads the library into a separate namespace, with a second C library. */
UNUSED static uint64_t piece_name_space(unsigned int p)
{
	void *library = dlmopen(LM_ID_NEWLM, "./plug.so", RTLD_NOW | RTLD_LOCAL);
	uint64_t sum = 0;

	if (!library)
		return 1;
	sum = ((plug_function *)dlsym(library, "plug"))(p);
	dlclose(library);
	return mix(sum, churn(p, 50));
}

/* Checks that dlsym() finds the same functions as without massif, using RTLD_DEFAULT, RTLD_NEXT or a handle of libc. */
UNUSED static uint64_t piece_symbols(unsigned int p)
{
	static const char *const names[] = { "malloc", "free", "calloc", "realloc", "memalign", "posix_memalign" };
	uint64_t sum = 0;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	for (unsigned int i = 0; i < 6; i++) {
		sum = mix(sum, dlsym(RTLD_DEFAULT, names[i]) != NULL);
		sum = mix(sum, dlsym(RTLD_NEXT, names[i]) != NULL);
		sum = mix(sum, libc && dlsym(libc, names[i]) != NULL);
	}
	for (unsigned int i = 0; i < 50; i++) {
		void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
		void *(*own)(size_t) = libc ? (void *(*)(size_t))dlsym(libc, "malloc") : malloc;
		void *block = next ? next(i + 1) : NULL;

		free(block);
		free(own(i + 1));
	}
	if (libc)
		dlclose(libc);
	return mix(sum, churn(p, 20));
}

#endif
