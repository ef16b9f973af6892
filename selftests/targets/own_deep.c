// SPDX-License-Identifier: GPL-2.0
// A program with its own malloc that loads two libraries. One is loaded with RTLD_DEEPBIND, so it uses the C library's
// malloc. The other is loaded by dlmopen without that flag, and uses the program's malloc.

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own_allocator.h"

static void *load(const char *name, int flags, int by_other_way)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return NULL;
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	return by_other_way ? dlmopen(LM_ID_BASE, path, flags) : dlopen(path, flags);
}

static int is_own(const unsigned char *block)
{
	return block >= own_arena && block < own_arena + sizeof(own_arena);
}

int main(void)
{
	void *deep = load("libown_none.so", RTLD_NOW | RTLD_DEEPBIND, 0);
	void *plain = load("libheap_plugin_a.so", RTLD_NOW, 1);
	void *(*allocate_deep)(size_t), *(*allocate)(size_t);

	if (!deep || !plain)
		return 2;
	allocate_deep = (void *(*)(size_t))dlsym(deep, "own_library_allocate");
	allocate = (void *(*)(size_t))dlsym(plain, "plugin_allocate");
	if (!allocate_deep || !allocate)
		return 3;
	return (is_own(allocate_deep(4321)) ? 4 : 0) + (is_own(allocate(1234)) ? 0 : 5);
}
