// SPDX-License-Identifier: GPL-2.0
// Uses memory in a way that its first argument names, prints what it has used, and sleeps for the milliseconds in its
// second one, so that its resident set can be sampled. The last line that it prints is its resident set according to the
// kernel.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/valgrind.h>

#define MIB    (1ul << 20)
#define PAGE   4096ul
#define BLOCKS 20000
#define SIZE   2000ul
#define CHUNK  2016ul /* what glibc takes for a block of SIZE bytes, with its size in front of it */

#define NOINLINE __attribute__((noinline))

static void *kept[BLOCKS], *dropped[BLOCKS];

NOINLINE static void *keep(size_t size)
{
	return malloc(size);
}

NOINLINE static void *drop(size_t size)
{
	return malloc(size);
}

static void say(const char *what, unsigned long value)
{
	printf("%s %lu\n", what, value);
	fflush(stdout);
}

/* Keeps every hundredth of many blocks. */
static void fragments(void)
{
	unsigned long pages = 0, free_bytes = 0, before = 0;

	for (int i = 0; i < BLOCKS; i++) {
		void *block = i % 100 == 50 ? (kept[i] = keep(SIZE)) : (dropped[i] = drop(SIZE));

		memset(block, 1, SIZE);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(dropped[i]);
	for (int i = 0; i < BLOCKS; i++) {
		uintptr_t start = (uintptr_t)kept[i] - 8;

		if (!kept[i])
			continue;
		for (uintptr_t page = start / PAGE; page <= (start + CHUNK - 1) / PAGE; page++) {
			pages += page != before;
			free_bytes += page != before ? PAGE : 0;
			before = page;
		}
		free_bytes -= CHUNK;
	}
	say("pages", pages);
	say("free", free_bytes);
	say("live", BLOCKS / 100 * SIZE);
}

/* Frees a block, and calls no function of the allocator afterwards. */
static void freed(void)
{
	char *block = keep(4 * MIB);

	memset(block, 1, 4 * MIB);
	say("freed", 4 * MIB);
	free(block);
}

/* Asks for much, and touches little. */
static void untouched(void)
{
	char *block = keep(256 * MIB);

	memset(block, 1, MIB);
	say("untouched", 256 * MIB - (((uintptr_t)block + MIB + PAGE - 1) / PAGE * PAGE - (uintptr_t)block));
}

static void *map(size_t size, int flags)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	return at;
}

/* Returns a line of the sums over all mappings, in bytes. */
static unsigned long rollup(const char *name)
{
	static char text[4096];
	int file = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t n = read(file, text, sizeof(text) - 1);
	const char *line = n > 0 ? strstr(text, name) : NULL;

	close(file);
	return line ? strtoul(line + strlen(name), NULL, 10) * 1024 : 0;
}

static void mappings(void)
{
	char *zeros = map(5 * MIB, MAP_PRIVATE), sum = 0;
	int file = open("/proc/self/exe", O_RDONLY);
	const char *code = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
	unsigned long before;

	memset(map(8 * MIB, MAP_PRIVATE), 1, 8 * MIB);
	memset(map(6 * MIB, MAP_SHARED), 1, 6 * MIB);
	/*
	 * Reading maps the kernel's page of zeros, which is not resident memory. Some kernels of virtual machines have no such
	 * page, and give memory instead.
	 */
	before = rollup("\nAnonymous:");
	for (size_t i = 0; i < 5 * MIB; i += PAGE)
		sum = (char)(sum + zeros[i]);
	say("anonymous", 8 * MIB + rollup("\nAnonymous:") - before + (unsigned char)sum + 0 * (unsigned char)code[0]);
	say("shared", 6 * MIB);
}

/* Reserves as many bytes as the third argument says, and touches the first MiB of them. */
static unsigned long reserved;

static void reserve(void)
{
	memset(map(reserved, MAP_PRIVATE | MAP_NORESERVE), 1, MIB);
	say("reserved", reserved);
}

/* Like reserve(), and declares the first MiB as a block of an allocator of the program's own. */
static void reserve_block(void)
{
	char *at = map(reserved, MAP_PRIVATE | MAP_NORESERVE);

	memset(at, 1, MIB);
	VALGRIND_MALLOCLIKE_BLOCK(at, MIB, 0, 0);
	say("reserved", reserved);
}

/* Grows the heap in small steps, so that it grows while it is sampled. */
static void grow(void)
{
	for (size_t i = 0; i < 400 * MIB / 1000; i++)
		memset(keep(1000), 1, 1000);
	say("live", 400 * MIB / 1000 * 1000);
}

/* Allocates in ten steps, with a pause after each. */
static void steps(void)
{
	for (int i = 0; i < 10; i++) {
		memset(keep(MIB), 1, MIB);
		usleep(200000);
	}
}

NOINLINE static void declare(char *at, size_t size)
{
	VALGRIND_MALLOCLIKE_BLOCK(at, size, 0, 0);
}

/* An allocator of the program's own in 8 MiB at @arena: in every fourth page, a block of 1,000 bytes. */
static void own_at(char *arena)
{
	memset(arena, 1, 8 * MIB);
	for (size_t i = 0; i < 8 * MIB; i += 4 * PAGE)
		declare(arena + i + 1024, 1000);
	say("live", 8 * MIB / PAGE / 4 * 1000);
	say("free", 8 * MIB / PAGE / 4 * (PAGE - 1000));
	say("empty", 8 * MIB / 4 * 3);
}

static void own(void)
{
	own_at(map(8 * MIB, MAP_PRIVATE));
}

/* The same at an address at which an arena of glibc's could begin. */
static void own_aligned(void)
{
	char *at = map(128 * MIB, MAP_PRIVATE | MAP_NORESERVE), *arena;

	arena = (char *)(((uintptr_t)at + 64 * MIB - 1) / (64 * MIB) * (64 * MIB));
	if (munmap(at, 128 * MIB) ||
	    mmap(arena, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != arena)
		exit(1);
	own_at(arena);
}

/* Gives the middle of a block back, or tells the kernel that it may take it. */
static void give_back(int advice)
{
	char *block = keep(16 * MIB), *middle = (char *)(((uintptr_t)block + 4 * MIB + PAGE - 1) / PAGE * PAGE);

	memset(block, 1, 16 * MIB);
	if (madvise(middle, 8 * MIB, advice))
		exit(1);
	say("untouched", advice == MADV_DONTNEED ? 8 * MIB : 0);
}

static void dontneed(void)
{
	give_back(MADV_DONTNEED);
}

static void lazily(void)
{
	give_back(MADV_FREE);
}

/* The C library moves such a block by mremap. */
static void moved(void)
{
	char *block = keep(8 * MIB);

	memset(block, 1, 8 * MIB);
	block = realloc(block, 40 * MIB);
	say("untouched", 40 * MIB - (((uintptr_t)block + 8 * MIB + PAGE - 1) / PAGE * PAGE - (uintptr_t)block));
}

static void of_memfd(void)
{
	int file = memfd_create("shape", 0);

	if (file < 0 || ftruncate(file, 16 * MIB))
		exit(1);
	memset(mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), 1, 5 * MIB);
	say("shared", 5 * MIB);
}

/* A cache in a file, of which a part was read, and a part of a private mapping written. */
static void cache(void)
{
	int file = open("massif.cache", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *all, *copy;

	if (file < 0 || ftruncate(file, 16 * MIB))
		exit(1);
	all = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	copy = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	memset(all, 1, 4 * MIB);
	for (size_t i = 0; i < MIB; i += PAGE)
		copy[i] = 2;
	say("file", 5 * MIB);
	say("copied", MIB);
}

/* A child that writes one page in ten of a block. */
static void forked(void)
{
	char *block = keep(16 * MIB), *first = (char *)((uintptr_t)block / PAGE * PAGE);
	unsigned long shared = 0, n = 0;
	pid_t child;

	memset(block, 1, 16 * MIB);
	child = fork();
	if (child) {
		waitpid(child, NULL, 0);
		exit(0);
	}
	free(drop(100));
	for (char *page = first; page < block + 16 * MIB; page += PAGE) {
		char *start = page < block ? block : page, *end = page + PAGE;

		if (end > block + 16 * MIB)
			end = block + 16 * MIB;
		if (n++ % 10 == 0)
			*start = 2;
		else
			shared += (unsigned long)(end - start);
	}
	say("child", (unsigned long)getpid());
	say("written", (n + 9) / 10 * PAGE);
	say("shared", shared);
}

/* A sparse array in huge pages: one page in each of them is written. Prints 0 if the kernel gives none. */
static void huge(void)
{
	char *at = map(34 * MIB, MAP_PRIVATE), *array = (char *)(((uintptr_t)at + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
	unsigned long kib = 0, sum = 0;
	char line[1024];
	FILE *smaps;

	madvise(array, 32 * MIB, MADV_HUGEPAGE);
	declare(array, 32 * MIB);
	for (size_t i = 0; i < 32 * MIB; i += 2 * MIB)
		memset(array + i, 1, PAGE);
	smaps = fopen("/proc/self/smaps", "r");
	while (fgets(line, sizeof(line), smaps))
		if (sscanf(line, "AnonHugePages: %lu", &kib) == 1)
			sum += kib * 1024;
	fclose(smaps);
	say("huge", sum);
	say("zeros", sum / (2 * MIB) * (2 * MIB - PAGE));
}

/* Prints the resident bytes of anonymous mappings that can be written to, but for the heap and the stack. */
static void unnamed(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long kib, sum = 0, inode;
	char line[1024], rights[8], path[256];
	int counts = 0;

	setvbuf(smaps, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), smaps)) {
		int n = sscanf(line, "%*x-%*x %7s %*x %*x:%*x %lu %255s", rights, &inode, path);

		if (n >= 2)
			counts = n == 2 && rights[1] == 'w' && rights[3] == 'p';
		else if (counts && sscanf(line, "Rss: %lu", &kib) == 1)
			sum += kib * 1024;
	}
	fclose(smaps);
	say("unnamed", sum);
}

static pthread_barrier_t barrier;

static void *rest(void *unused)
{
	char frame[MIB];

	memset(frame, 1, sizeof(frame));
	/* The compiler must not leave it out. */
	__asm__ volatile("" : : "r"(frame) : "memory");
	pthread_barrier_wait(&barrier);
	pause();
	return unused;
}

static void stacks(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, rest, NULL))
			exit(1);
	pthread_barrier_wait(&barrier);
	say("stacks", 4 * MIB);
}

/* Starts threads whose stacks are neighbours, so that the kernel has one mapping for all of them. */
static void neighbours(void)
{
	char *memory = map(4 * 2 * MIB, MAP_PRIVATE);
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_barrier_init(&barrier, NULL, 5);
	for (size_t i = 0; i < 4; i++)
		if (pthread_attr_setstack(&attributes, memory + i * 2 * MIB, 2 * MIB) ||
		    pthread_create(&thread, &attributes, rest, NULL))
			exit(1);
	pthread_barrier_wait(&barrier);
	say("stacks", 4 * MIB);
}

/* Maps many areas of two pages, with a gap after each. */
static void many(void)
{
	char *at = map(600 * 4 * PAGE, MAP_PRIVATE);

	for (size_t i = 0; i < 600; i++) {
		memset(at + i * 4 * PAGE, 1, 2 * PAGE);
		munmap(at + i * 4 * PAGE + 2 * PAGE, 2 * PAGE);
	}
	say("areas", 600);
}

/* Leaves a block at the end of an arena behind, so that the arena does not shrink. */
static void *leave(void *at)
{
	void *blocks[2000];

	for (int i = 0; i < 2000; i++)
		memset(blocks[i] = drop(SIZE), 1, SIZE);
	*(void **)at = keep(SIZE);
	for (int i = 0; i < 2000; i++)
		free(blocks[i]);
	return NULL;
}

static void arenas(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, leave, &kept[i]) || pthread_join(threads[i], NULL))
			exit(1);
	say("free", 2000 * CHUNK / PAGE * PAGE);
}

static void free_kept(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(kept[i]);
}

/* Keeps many blocks until it exits, and then frees them. */
static void tidy(void)
{
	for (int i = 0; i < BLOCKS; i++)
		memset(kept[i] = keep(SIZE), 1, SIZE);
	atexit(free_kept);
	say("live", BLOCKS * SIZE);
}

/* Loads a library when samples have been taken already. */
static void loaded(void)
{
	char path[4096] = "";
	void *(*plugin_keep)(size_t size);
	void *library;

	usleep(300000);
	if (readlink("/proc/self/exe", path, sizeof(path) - 64) < 0)
		exit(1);
	strcpy(strrchr(path, '/'), "/librss_plugin.so");
	library = dlopen(path, RTLD_NOW);
	plugin_keep = library ? (void *(*)(size_t))dlsym(library, "rss_plugin_keep") : NULL;
	if (!plugin_keep || !plugin_keep(4 * MIB))
		exit(1);
	say("live", 4 * MIB);
	say("copied", MIB);
}

/* Returns the sum of a number of bytes in all mappings, as smaps has it. */
static unsigned long in_smaps(const char *name)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long sum = 0;
	char line[4096];

	while (smaps && fgets(line, sizeof(line), smaps))
		if (!strncmp(line, name, strlen(name)))
			sum += strtoul(line + strlen(name), NULL, 10) * 1024;
	if (smaps)
		fclose(smaps);
	return sum;
}

/* Lets the kernel swap half of a block out; without swap, none is. */
static void swapped(void)
{
	char *block = keep(16 * MIB), *start = block + PAGE - (uintptr_t)block % PAGE;

	/* Otherwise, khugepaged makes pages resident again: it swaps in up to 64 pages to make a huge page. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	memset(block, 1, 16 * MIB);
	in_smaps("Swap:");
	for (int i = 0; i < 100 && in_smaps("Swap:") < 8 * MIB; i++)
		if (madvise(start, 8 * MIB, MADV_PAGEOUT) || usleep(10000))
			break;
	say("swapped", in_smaps("Swap:"));
}

static const struct {
	const char *name;
	void (*use)(void);
} shapes[] = {
	{ "fragments", fragments }, { "untouched", untouched }, { "mappings", mappings },
	{ "stacks", stacks },	    { "arenas", arenas },	{ "reserve", reserve },
	{ "freed", freed },	    { "unnamed", unnamed },	{ "grow", grow },
	{ "reserve_block", reserve_block },   { "steps", steps },
	{ "own", own }, { "own_aligned", own_aligned }, { "dontneed", dontneed }, { "lazily", lazily },
	{ "moved", moved }, { "memfd", of_memfd },
	{ "cache", cache }, { "forked", forked },     { "huge", huge },
	{ "tidy", tidy }, { "loaded", loaded }, { "swapped", swapped },
	{ "neighbours", neighbours }, { "many", many },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[1], shapes[i].name) != 0)
			continue;
		reserved = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
		shapes[i].use();
		/* The first call makes resident what the second one needs. */
		say("warm", rollup("\nRss:"));
		say("rss", rollup("\nRss:"));
		usleep((useconds_t)atoi(argv[2]) * 1000);
		return 0;
	}
	return 2;
}
