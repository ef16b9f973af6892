// SPDX-License-Identifier: GPL-2.0
// A library to be preloaded into a program under Valgrind's Massif. When the program ends, the library has Massif write
// the live bytes and the tree to the file $DIFF_END, in which a final %p becomes the pid.
//
// When a program ends, Valgrind makes it call the C++ library function that frees that library's own memory. The
// library in this file replaces this function with one that frees nothing, so there is no event.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

void free_all(void) __asm__("_ZN9__gnu_cxx9__freeresEv");

void free_all(void)
{
	const char *path = getenv("DIFF_END");
	char command[4200];
	size_t length;

	if (!path)
		return;
	length = strlen(path);
	if (length > 2 && strcmp(path + length - 2, "%p") == 0)
		snprintf(command, sizeof(command), "detailed_snapshot %.*s%d", (int)length - 2, path,
			 (int)getpid());
	else
		snprintf(command, sizeof(command), "detailed_snapshot %s", path);
	VALGRIND_MONITOR_COMMAND(command);
}
