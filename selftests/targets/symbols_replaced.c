// SPDX-License-Identifier: GPL-2.0
// symbols_replaced LIBRARY WAYS COMMAND: opens the library and calls its code to allocate memory, then executes a
// shell command, which may change, replace or remove the files of the program and the library. WAYS: c, close the
// library first; f, fork afterwards; n, execute the command at once, without giving massif-ctl time to look at the
// files; s, stop massif-ctl until the program has ended.

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *volatile kept[4];

__attribute__((noinline)) static void of_program(size_t size)
{
	kept[1] = malloc(size);
	__asm__ volatile("" ::: "memory");
}

/* Stops massif-ctl for a second, so that the program will have ended by the time massif-ctl continues. */
static void stop_parent(void)
{
	char command[64];

	snprintf(command, sizeof(command), "(sleep 1; kill -CONT %d) &", (int)getppid());
	if (system(command) || kill(getppid(), SIGSTOP))
		exit(1);
}

int main(int argc, char **argv)
{
	void *(*allocate)(size_t) = NULL;
	void *library;

	if (argc <= 3)
		return 2;
	if (strchr(argv[2], 's'))
		stop_parent();
	library = dlopen(argv[1], RTLD_NOW);
	if (library)
		allocate = (void *(*)(size_t))dlsym(library, "plugin_allocate");
	if (!allocate) {
		fprintf(stderr, "symbols_replaced: no library\n");
		return 1;
	}
	if (!strchr(argv[2], 'n')) {
		kept[0] = allocate(1000000);
		usleep(1000000);
	}
	if (strchr(argv[2], 'c'))
		dlclose(library);
	if (system(argv[3]))
		return 1;
	if (strchr(argv[2], 'n'))
		kept[0] = allocate(1000000);
	of_program(3000000);
	if (strchr(argv[2], 'f')) {
		pid_t pid = fork();

		if (!pid)
			kept[2] = malloc(10);
		else
			waitpid(pid, NULL, 0);
	}
	if (strchr(argv[2], 'n') && !strchr(argv[2], 's'))
		usleep(1000000);
	/* Use _exit(), so that none of the library's code runs from here on. */
	_exit(3);
}
