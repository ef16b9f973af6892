// SPDX-License-Identifier: GPL-2.0
// heap_reload TIMES DIRECTORY/ LIBRARY-A LIBRARY-B: opens LIBRARY-A in DIRECTORY, has it allocate a block, which stays
// live, and closes it. Does this TIMES times, spelling the path differently each time, and then once with LIBRARY-B. If
// TIMES is "once", opens LIBRARY-A 5,000 times with the same path.

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 20

static void use(const char *path, size_t size)
{
	void *(*allocate)(size_t) = NULL;
	void *library = dlopen(path, RTLD_NOW);

	if (library)
		allocate = (void *(*)(size_t))dlsym(library, "plugin_allocate");
	if (!allocate || !allocate(size)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	dlclose(library);
}

/* Returns a path to @library in @directory. Each @number gives a different spelling of the path to this file. */
static const char *spell(char *path, const char *directory, const char *library, unsigned long number)
{
	char *end = stpcpy(path, directory);

	for (int i = 0; i < BITS; i++)
		end = stpcpy(end, number >> i & 1 ? "./" : "/");
	strcpy(end, library);
	return path;
}

int main(int argc, char **argv)
{
	static char path[8192];
	void *volatile last;
	unsigned long times, n;
	bool once;

	if (argc < 5 || strlen(argv[2]) + strlen(argv[3]) > 4000)
		return 2;
	once = !strcmp(argv[1], "once");
	n = once ? 5000 : strtoul(argv[1], NULL, 10);
	for (times = 0; times < n; times++)
		use(spell(path, argv[2], argv[3], once ? 0 : times), 100);
	use(spell(path, argv[2], argv[4], 0), 600000);
	/* Free a block: massif checks for a peak before the total decreases. */
	last = malloc(1000);
	free(last);
	return 0;
}
