// SPDX-License-Identifier: GPL-2.0
// Maps and unmaps in a fixed order, in functions with known names, so that any profiler sees the same events.
//
// pages_calls [fixed]: with the argument, also maps over other mappings, which Massif counts twice.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define PAGE 4096L
#define KEEP __attribute__((noinline, noclone))

static char *must(void *p)
{
	if (p == MAP_FAILED)
		_exit(3);
	return p;
}

KEEP char *map_large(long pages)
{
	return must(mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

KEEP char *map_small(long pages)
{
	return must(mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

KEEP char *map_hidden(long pages)
{
	return must(mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

KEEP char *map_shared(long pages)
{
	return must(mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

KEEP char *map_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *p = must(mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0));

	close(fd);
	return p;
}

KEEP char *map_over(char *at, long pages)
{
	return must(mmap(at, pages * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

KEEP char *remap(char *p, long from, long to, int flags)
{
	return must(mremap(p, from * PAGE, to * PAGE, flags));
}

KEEP void heap(long pages)
{
	if (sbrk(pages * PAGE) == (void *)-1)
		_exit(3);
}

KEEP char *attach(long pages)
{
	int id = shmget(IPC_PRIVATE, pages * PAGE, 0600 | IPC_CREAT);
	char *p = must(shmat(id, NULL, 0));

	shmctl(id, IPC_RMID, NULL);
	return p;
}

int main(int argc, char **argv)
{
	long over = (uintptr_t)sbrk(0) % PAGE;
	char *large, *small, *hidden, *p;
	int i;

	/* Map more memory than was mapped before main(), so that the peaks depend only on what follows. */
	large = map_large(8000);
	if (over && sbrk(PAGE - over) == (void *)-1)
		return 3;
	for (i = 1; i <= 5; i++)
		map_small(7 * i);
	small = map_small(100);
	hidden = map_hidden(300);
	munmap(small, 40 * PAGE);
	munmap(small + 90 * PAGE, 10 * PAGE);
	munmap(small + 45 * PAGE, PAGE);
	heap(11);
	heap(30);
	heap(-20);
	p = map_shared(17);
	map_file(argv[0]);
	munmap(p, 17 * PAGE);
	munmap(hidden, 300 * PAGE);
	p = map_hidden(23);

	/* Shrink the mapping; grow it in place; grow it so that it must move, because the memory after it is mapped. */
	p = map_large(64);
	p = remap(p, 64, 40, 0);
	p = remap(p, 40, 50, 0);
	mprotect(p + 49 * PAGE, PAGE, PROT_NONE);
	p = remap(p, 49, 80, MREMAP_MAYMOVE);
	munmap(p, 80 * PAGE);
	p = attach(29);
	shmdt(p);
	munmap(large, 4000 * PAGE);
	map_large(9000);
	munmap(large + 4000 * PAGE, 4000 * PAGE);
	if (argc > 1 && !strcmp(argv[1], "fixed")) {
		p = map_large(50);
		map_over(p + 10 * PAGE, 20);
		map_small(5);
	}
	_exit(0);
}
