// SPDX-License-Identifier: GPL-2.0
// Maps, touches and unmaps memory continuously; the first argument is the number of threads (default 1).
//
// When a mapping is removed, most of its pages are resident, and all other mappings are small. So during each munmap(),
// the process briefly has more pages resident than it has mapped.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096ul
#define PAGES 1024ul

static int file;
static size_t file_pages;
static volatile char sink;

static void die(const char *what)
{
	perror(what);
	_exit(3);
}

static char *map(size_t pages, int flags, int fd)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static void touch(char *at, size_t pages, size_t step)
{
	for (size_t i = 0; i < pages; i += step)
		at[i * PAGE] = 1;
}

static void *churn(void *unused)
{
	for (;;) {
		char *anon = map(PAGES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		char *shared = map(PAGES, MAP_SHARED | MAP_ANONYMOUS, -1);
		char *text = map(file_pages, MAP_PRIVATE, file);
		char *moved;

		madvise(anon, PAGES * PAGE, MADV_NOHUGEPAGE);
		touch(anon, PAGES, 1);
		touch(shared, PAGES, 2);
		for (size_t i = 0; i < file_pages; i += 3)
			sink = text[i * PAGE];
		touch(text, file_pages, 16);
		moved = mremap(anon, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);
		if (moved == MAP_FAILED)
			die("mremap");
		madvise(moved, PAGES / 2 * PAGE, MADV_DONTNEED);
		touch(moved, 2 * PAGES, 3);
		/* Replace half of the touched pages with a new mapping. */
		if (mmap(shared, PAGES / 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    shared)
			die("mmap");
		munmap(text, file_pages / 2 * PAGE);
		munmap(moved, 2 * PAGES * PAGE);
		munmap(shared, PAGES * PAGE);
		munmap(text + file_pages / 2 * PAGE, (file_pages - file_pages / 2) * PAGE);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1;

	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (argc > 2) {
		close(file);
		file = open(argv[2], O_RDONLY | O_CLOEXEC);
	}
	if (file < 0)
		die("open");
	file_pages = ((size_t)lseek(file, 0, SEEK_END) + PAGE - 1) / PAGE;
	while (--threads > 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, churn, NULL))
			die("pthread_create");
	}
	churn(NULL);
	return 0;
}
