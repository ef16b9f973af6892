// SPDX-License-Identifier: GPL-2.0
// recording_names [fork]: allocates in a function whose name and whose inlined call only the debug information has. With
// fork, a child does the same, and allocates in another function, too.

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[128];

static inline __attribute__((always_inline)) void *inlined_call(size_t size)
{
	return malloc(size);
}

static __attribute__((noinline)) void hidden_function(int n)
{
	kept[n] = inlined_call(100);
	kept[n + 64] = malloc(1000);
}

static __attribute__((noinline)) void only_in_the_child(int n)
{
	kept[n] = inlined_call(5000);
}

int main(int argc, char **argv)
{
	pid_t child = 0;

	for (int i = 0; i < 50; i++)
		hidden_function(i);
	if (argc < 2)
		return 0;
	child = fork();
	if (!child) {
		only_in_the_child(60);
		return 0;
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}
