// SPDX-License-Identifier: GPL-2.0
// heap_no_rules LIBRARY: allocates 1,000 blocks of 1,000 bytes by calling library_allocate() in LIBRARY.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *(*library_allocate)(size_t size, void *(*allocate)(size_t));

static __attribute__((noinline)) void *allocate(void)
{
	void *volatile block = library_allocate(1000, malloc);

	return block;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, *first = NULL;

	if (library)
		library_allocate = (void *(*)(size_t, void *(*)(size_t)))dlsym(library, "library_allocate");
	if (!library_allocate) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (int i = 0; i < 1000; i++) {
		void **block = allocate();

		*block = first;
		first = block;
	}
	return !first;
}
