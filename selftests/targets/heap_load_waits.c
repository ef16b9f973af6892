// SPDX-License-Identifier: GPL-2.0
// Loads the library that its argument names, and prints "fine". If it cannot be loaded, gives its thread a name, and then
// prints what dlerror() says.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *error;

	alarm(20);
	if (argc > 1 && dlopen(argv[1], RTLD_NOW)) {
		puts("fine");
		return 0;
	}
	pthread_setname_np(pthread_self(), "loader");
	error = dlerror();
	puts(error ? error : "no error");
	return 0;
}
