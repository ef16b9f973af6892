// SPDX-License-Identifier: GPL-2.0
// own_many LIBRARY COUNT: calls each version of a library's malloc once.
//
// The versions are V0, V1, ... Each version of malloc must return memory.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	long count = argc == 3 ? atol(argv[2]) : 0;

	if (!library) {
		puts(dlerror());
		return 1;
	}
	for (long i = 0; i < count; i++) {
		char version[32];
		void *(*allocate)(size_t size);

		snprintf(version, sizeof(version), "V%ld", i);
		allocate = (void *(*)(size_t))dlvsym(library, "malloc", version);
		if (!allocate || !allocate(1000)) {
			printf("no memory from %s\n", version);
			return 1;
		}
	}
	printf("%ld\n", count);
	return 0;
}
