// SPDX-License-Identifier: GPL-2.0
// ctl_oom FILE: joins the control group whose cgroup.procs file is FILE, and leaks memory until the kernel kills it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK  65536
#define BLOCKS 4096

static char *volatile last;

__attribute__((noinline)) static void leak(void)
{
	char *block = malloc(BLOCK);

	if (!block)
		exit(2);
	memset(block, 1, BLOCK);
	last = block;
}

int main(int argc, char **argv)
{
	char line[32];
	FILE *group = argc > 1 ? fopen(argv[1], "w") : NULL;

	if (!group)
		return 1;
	snprintf(line, sizeof(line), "%d\n", (int)getpid());
	if (fputs(line, group) < 0 || fclose(group))
		return 1;
	for (int i = 0; i < BLOCKS; i++)
		leak();
	return 3;
}
