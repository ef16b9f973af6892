// SPDX-License-Identifier: GPL-2.0
// own_plugin FLAGS LIBRARY: loads a library from the program's directory and has it allocate memory.

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "own_calls.h"

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	void *handle, *(*allocate)(size_t);
	void (*calls)(void);
	int flags = RTLD_NOW;

	if (argc < 3 || n < 0)
		return 2;
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, argv[2]);
	for (const char *flag = argv[1]; *flag; flag++)
		flags = *flag == 'd' ? flags | RTLD_DEEPBIND :
			*flag == 'l' ? (flags & ~RTLD_NOW) | RTLD_LAZY :
				       flags;
	/*
	 * The library is found by the program's RUNPATH, which applies only to dlopen calls made by the program itself.
	 */
	handle = strchr(argv[1], 'm') ? dlmopen(LM_ID_NEWLM, path, flags) :
					dlopen(strchr(argv[1], 'b') ? argv[2] : path, flags);
	if (!handle)
		return 3;
	/* Load the library again, most likely at the same address. */
	if (strchr(argv[1], 'r')) {
		calls = (void (*)(void))dlsym(handle, "own_library_calls");
		calls();
		dlclose(handle);
		handle = dlopen(path, flags);
		if (!handle)
			return 3;
	}
	calls = (void (*)(void))dlsym(handle, "own_library_calls");
	allocate = (void *(*)(size_t))dlsym(handle, "own_library_allocate");
	if (!calls || !allocate)
		return 4;
	calls();
	own_calls();
	allocate(6543);
	return 0;
}
