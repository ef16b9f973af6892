// SPDX-License-Identifier: GPL-2.0
// Uses memory in ways that are known by the code that touches it: a mapping, a static array, a file that its argument names,
// blocks. If its second argument is "briefly", gives the pages of the mapping back. Then prints its pid, and waits until there
// is a file whose name is that of the first with the pid added. If the second argument is "late", the same before all else,
// with ".begin" before the pid. If it is "then", executes the third argument at the end.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB  (1ul << 20)
#define PAGE 4096ul

/* Huge pages are aligned to as much, so that they hold nothing else. */
#define HUGE (2 * MIB)

#define MAPPING (64 * MIB)
#define ARRAY	(16 * MIB)
#define FILE_BYTES (4 * MIB)
#define BLOCKS	64
#define BLOCK	(20 * PAGE)

static volatile char array[ARRAY] __attribute__((aligned(HUGE)));

extern char __bss_start[];	/* defined by the linker: the first byte of the static variables that are 0 at first */

/*
 * The end of the program writes to a variable before the array. Linux 7.2 would give it a huge page of its own then, after all
 * samples.
 */
static void keep_small_before_array(void)
{
	uintptr_t start = (uintptr_t)__bss_start & -PAGE;

	madvise((void *)start, (uintptr_t)array - start, MADV_NOHUGEPAGE);
}

__attribute__((noipa)) static void touch_mapping(char *mapping)
{
	for (size_t i = 0; i < MAPPING; i += PAGE)
		mapping[i] = 1;
}

__attribute__((noipa)) static void touch_array(void)
{
	for (size_t i = 0; i < ARRAY; i += PAGE)
		array[i] = 1;
}

__attribute__((noipa)) static void touch_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		memset(malloc(BLOCK), 1, BLOCK);
}

/* The kernel maps up to 16 pages of a file around each page that is read. */
__attribute__((noipa)) static int touch_file(const char *file, size_t size)
{
	int sum = 0;

	for (size_t i = 0; i < size; i += PAGE)
		sum += file[i];
	return sum;
}

/* Touches no new page after the first turn. */
static void rest(const char *file, const char *when)
{
	char go[256];

	snprintf(go, sizeof(go), "%s%s.%d", file, when, (int)getpid());
	dprintf(1, "ready %d\n", (int)getpid());
	while (access(go, F_OK))
		usleep(10000);
}

int main(int argc, char **argv)
{
	char *room = mmap(NULL, MAPPING + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *mapping = room + (HUGE - (size_t)room % HUGE) % HUGE, *file;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	keep_small_before_array();
	if (room == MAP_FAILED || fd < 0 || ftruncate(fd, FILE_BYTES))
		return 1;
	if (argc > 2 && !strcmp(argv[2], "late"))
		rest(argv[1], ".begin");
	touch_mapping(mapping);
	touch_array();
	touch_blocks();
	file = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED || touch_file(file, FILE_BYTES))
		return 1;
	if (argc > 2 && !strcmp(argv[2], "briefly") && madvise(mapping, MAPPING, MADV_DONTNEED))
		return 1;
	rest(argv[1], "");
	if (argc > 3 && !strcmp(argv[2], "then"))
		execv(argv[3], argv + 3);
	return 0;
}
