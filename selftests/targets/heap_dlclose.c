// SPDX-License-Identifier: GPL-2.0
// heap_dlclose LIBRARY-A LIBRARY-B: opens, uses and closes the first library, then does the same with the second, which
// the dynamic linker maps at the same address. Blocks allocated by both stay live.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *use(const char *path, size_t size)
{
	void *(*allocate)(size_t) = NULL;
	void *library = dlopen(path, RTLD_NOW), *block;

	if (library)
		allocate = (void *(*)(size_t))dlsym(library, "plugin_allocate");
	if (!allocate) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	block = allocate(size);
	printf("%p\n", (void *)allocate);
	dlclose(library);
	return block;
}

int main(int argc, char **argv)
{
	void *volatile kept[2];

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc < 3)
		return 2;
	kept[0] = use(argv[1], 500000);
	kept[1] = use(argv[2], 600000);
	/* Free a block: massif checks for a peak before the total decreases. */
	free(malloc(1000));
	return kept[0] && kept[1] ? 0 : 3;
}
