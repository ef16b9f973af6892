// SPDX-License-Identifier: GPL-2.0
// The work of a busy profiled process: four or five threads map, touch and free memory, fork, and execute programs.
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/lib/member.h"
#include "selftests/lib/member_life.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PAGE		4096ul
#define HUGE		(2ul << 20)
#define HEAP_PAGES	(4 * HUGE / PAGE)
#define CHUNK		64	/* number of pages in a chunk of the heap */
#define FILE_PAGES	64

static struct member_shared *shared;
static char *heap;	/* memory that always stays mapped; only its pages come and go */

static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static char *map(size_t pages, int flags)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (at == MAP_FAILED)
		_exit(10);
	return at;
}

/* Writes one byte to each page. */
static void touch(char *at, size_t pages, int value)
{
	for (size_t i = 0; i < pages; i++)
		((volatile char *)at)[i * PAGE] = (char)value;
}

/* Creates a mapping, changes or moves it (or grows and shrinks the brk heap instead), and removes it. */
static void change_mappings(uint32_t *seed)
{
	size_t pages = 4 + next(seed) % 60;
	char *at = map(pages, next(seed) % 4 ? 0 : MAP_POPULATE), *to;

	touch(at, pages / 2, 1);
	switch (next(seed) % 6) {
	case 0:
		munmap(at + PAGE, PAGE);
		break;
	case 1:
		mprotect(at, 2 * PAGE, PROT_READ);
		break;
	case 2:
		mmap(at + PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 3:
		to = mremap(at, pages * PAGE, (pages + 8) * PAGE, MREMAP_MAYMOVE);
		if (to == MAP_FAILED)
			_exit(11);
		at = to;
		pages += 8;
		break;
	case 4:
		to = mremap(at, pages * PAGE, PAGE, 0);
		pages = 1;
		break;
	case 5:
		if (sbrk(8 * PAGE) == (void *)-1)
			_exit(12);
		touch((char *)sbrk(0) - 8 * PAGE, 8, 1);
		sbrk(-8 * (intptr_t)PAGE);
		break;
	}
	munmap(at, pages * PAGE);
}

/* Touches and frees pages of the heap. Many pages have equal contents, and some are huge. */
static void change_pages(uint32_t *seed)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_PAGEOUT, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_MERGEABLE,
		MADV_MERGEABLE, MADV_UNMERGEABLE,
	};
	size_t chunk = next(seed) % (HEAP_PAGES / CHUNK);
	char *at = heap + chunk * CHUNK * PAGE;
	uint32_t what = next(seed) % 16;

	if (what < 8)
		madvise(at, CHUNK * PAGE, advice[what]);
	else if (what < 10)
		madvise(heap + next(seed) % 4 * HUGE, HUGE, MADV_HUGEPAGE);
	else if (what < 11)
		touch(at, CHUNK, (int)next(seed));
	else
		memset(at, 0x5a, CHUNK * PAGE);
}

/*
 * Resizes the memfd @file, which is mapped at @at, writes to its pages, and sometimes removes the pages from the page
 * tables. Then removes a page of the program's own code; the process faults it in again the next time it runs that
 * code.
 */
static void change_file(uint32_t *seed, int file, char *at)
{
	size_t pages = 1 + next(seed) % FILE_PAGES;

	if (ftruncate(file, (off_t)(pages * PAGE)))
		_exit(13);
	touch(at, pages, 1);
	madvise(at, FILE_PAGES * PAGE, next(seed) % 2 ? MADV_DONTNEED : MADV_RANDOM);
	madvise((void *)((uintptr_t)member_life & ~(PAGE - 1)), PAGE, MADV_DONTNEED);
}

/* Forks a child that writes to memory shared copy-on-write with its parent; one in sixteen executes a program. */
static void have_child(uint32_t *seed)
{
	static char *const program[] = { "/bin/true", NULL };
	bool executes = next(seed) % 16 == 0;
	size_t chunk = next(seed) % (HEAP_PAGES / CHUNK);
	pid_t pid = fork();

	if (pid < 0)
		_exit(14);
	if (!pid) {
		touch(heap + chunk * CHUNK * PAGE, CHUNK / 4, 3);
		munmap(map(8, MAP_POPULATE), 4 * PAGE);
		if (executes)
			execve(program[0], program, program + 1);
		_exit(executes);
	}
	if (waitpid(pid, NULL, 0) != pid)
		_exit(15);
	__atomic_add_fetch(&shared->programs, executes, __ATOMIC_RELAXED);
}

/* Touches memory whose page faults are handled by another process, through a userfaultfd. */
static void wait_for_page(uint32_t *seed)
{
	char *at = (char *)(uintptr_t)shared->missing + next(seed) % MEMBER_MISSING * PAGE;

	if (next(seed) % 4)
		touch(at, 1, 1);
	else
		madvise(at, PAGE, MADV_DONTNEED);
}

static uint32_t phase(void)
{
	return __atomic_load_n(&shared->phase, __ATOMIC_ACQUIRE);
}

/*
 * Pauses the worker thread for as long as the phase is MEMBER_RESTS. Returns false if the phase is then MEMBER_ENDS, in
 * which case the thread must end, and true otherwise.
 */
static bool goes_on(void)
{
	if (phase() == MEMBER_BUSY)
		return true;
	__atomic_add_fetch(&shared->resting, 1, __ATOMIC_RELEASE);
	while (phase() == MEMBER_RESTS)
		usleep(2000);
	__atomic_sub_fetch(&shared->resting, 1, __ATOMIC_RELEASE);
	return phase() != MEMBER_ENDS;
}

enum worker { WORKER_MAPPINGS, WORKER_PAGES, WORKER_FILE, WORKER_CHILDREN, WORKER_MISSING, WORKERS };

static void *work(void *arg)
{
	enum worker worker = (enum worker)(uintptr_t)arg;
	uint32_t seed = 1 + worker;
	int file = memfd_create("member", MFD_CLOEXEC);
	char *at = mmap(NULL, FILE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (at == MAP_FAILED)
		_exit(16);
	while (goes_on()) {
		switch (worker) {
		case WORKER_MAPPINGS: change_mappings(&seed); break;
		case WORKER_PAGES: change_pages(&seed); break;
		case WORKER_FILE: change_file(&seed, file, at); break;
		case WORKER_CHILDREN: have_child(&seed); break;
		default: wait_for_page(&seed);
		}
		__atomic_add_fetch(&shared->rounds, 1, __ATOMIC_RELAXED);
		/* Give the thread that reads the session's records time to keep up. */
		usleep(next(&seed) % 1000);
	}
	return NULL;
}

static void make_userfault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	range.range.start = (uintptr_t)map(MEMBER_MISSING, 0);
	range.range.len = MEMBER_MISSING * PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		_exit(17);
	shared->missing = range.range.start;
	shared->userfault = fd;
}

int member_life(void *arg)
{
	pthread_t threads[WORKERS];
	uint32_t count, i;
	char *at;

	shared = arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	at = map(HEAP_PAGES + HUGE / PAGE, 0);
	heap = (char *)(((uintptr_t)at + HUGE - 1) & ~(HUGE - 1));
	count = shared->faults ? WORKERS : WORKER_MISSING;
	if (shared->faults)
		make_userfault();
	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			return 18;
	__atomic_store_n(&shared->workers, count, __ATOMIC_RELEASE);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
