// SPDX-License-Identifier: GPL-2.0
// A program with code, data and BSS of known sizes that grows its stack. Prints the sizes in bytes of its image and of
// its stack, and by how many bytes the stack has grown.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char bss[3 << 20];
char data[1 << 20] = { 1 };
extern const char text[];
__asm__(".text\n.globl text\ntext: .fill 2 << 20, 1, 0x90\n");

/*
 * Returns the total size in bytes of all mappings in /proc/self/maps that are named @name and of the unnamed mappings
 * that directly follow them.
 */
static long mapped(const char *name)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long start, end, before = 0;
	char line[8192];
	long bytes = 0;

	while (fgets(line, sizeof(line), file)) {
		int at = 0;

		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &at) != 2)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line + at, name) && (line[at] || start != before))
			continue;
		bytes += end - start;
		before = end;
	}
	fclose(file);
	return bytes;
}

__attribute__((noinline)) void grow(int levels)
{
	volatile char frame[4000];

	frame[0] = 1;
	if (levels)
		grow(levels - 1);
	frame[0] += bss[levels] + data[levels] + text[levels];
}

int main(void)
{
	char exe[4096] = "";
	long stack;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 1;
	stack = mapped("[stack]");
	grow(200);
	printf("image %ld stack %ld grown %ld\n", mapped(exe), stack, mapped("[stack]") - stack);
	return 0;
}
