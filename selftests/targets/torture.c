// SPDX-License-Identifier: GPL-2.0
// Changes its address space in every way there is, at random; saves /proc/self/maps at its end.
//
// torture SEED STEPS [WORD...]: threads (four), fork, vfork, exec (itself, once more, at the end).
// The maps go to $TORTURE_MAPS/PID.EXECS, where EXECS counts the execs of that process from 1 on,
// and a fork's child has 0.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/aio_abi.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define PAGE		4096UL
#define ARENA		(256 * PAGE)
#define RW		(PROT_READ | PROT_WRITE)
#define ANON		(MAP_PRIVATE | MAP_ANONYMOUS)

/* Free to be mapped over by everybody; nobody reads or writes it. */
static char *arena;
static long grown;		/* bytes that we have added to the heap: malloc's own stay below */
static __thread uint64_t state;

static unsigned int rnd(unsigned int below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

static char *somewhere(void)
{
	return arena + rnd(200) * PAGE;
}

static size_t some(void)
{
	return (1 + rnd(50)) * PAGE;
}

static void map_fixed(void)
{
	mmap(somewhere(), some(), RW, ANON | MAP_FIXED, -1, 0);
}

static void unmap(void)
{
	munmap(somewhere(), some());
}

static void map_and_unmap_part(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, ANON | MAP_POPULATE, -1, 0);

	if (p != MAP_FAILED)
		munmap(p, len / 2 + 1);
}

static void remap_own(void)
{
	size_t len = some();
	size_t new_len = len * (1 + rnd(3)) / (1 + rnd(3)) + PAGE;
	char *p = mmap(NULL, len, RW, ANON, -1, 0);

	if (p == MAP_FAILED)
		return;
	p = mremap(p, len, new_len, MREMAP_MAYMOVE);
	if (p != MAP_FAILED && rnd(2))
		munmap(p, PAGE);
}

static void remap_in_place(void)
{
	mremap(somewhere(), PAGE, 2 * PAGE, 0);
}

static void remap_grow_into_hole(void)
{
	size_t len = some();
	char *p = mmap(NULL, 2 * len, RW, ANON, -1, 0);

	if (p == MAP_FAILED)
		return;
	munmap(p + len, len);
	mremap(p, len, 2 * len - 100, 0);
	if (rnd(2))
		munmap(p, 2 * len);
}

static void remap_shrink(void)
{
	size_t len = some();

	mremap(somewhere(), len + PAGE, len, rnd(2) ? MREMAP_MAYMOVE : 0);
}

static void remap_fixed(void)
{
	size_t len = some();

	mremap(somewhere(), len, rnd(2) ? len : some(), MREMAP_MAYMOVE | MREMAP_FIXED, somewhere());
}

static void remap_keeping_source(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, ANON, -1, 0);

	if (p != MAP_FAILED)
		mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
}

static void protect(void)
{
	mprotect(somewhere(), some(), rnd(2) ? PROT_READ : RW);
}

static void lock(void)
{
	char *at = somewhere();

	mlock(at, PAGE);
	madvise(at, some(), MADV_DONTNEED);
	munlock(at, PAGE);
}

static void fail(void)
{
	mmap((void *)1, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(NULL, 1UL << 60, RW, ANON, -1, 0);
	munmap((void *)3, PAGE);
	munmap(somewhere(), 0);
	mmap(somewhere(), some(), RW, MAP_SHARED_VALIDATE | MAP_FIXED | 0x40000000, -1, 0);
	mmap(somewhere(), some(), RW, MAP_PRIVATE | MAP_FIXED, 9999, 0);
	mremap(somewhere(), some(), 1UL << 60, MREMAP_MAYMOVE);
	mremap(arena - 64 * PAGE * 1024, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)1);
}

static void map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = some();
	char *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (rnd(2))
		mmap(somewhere(), len, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	if (p != MAP_FAILED && rnd(2))
		mremap(p, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	if (p != MAP_FAILED)
		munmap(p, len);
}

static void map_shared(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED && rnd(2))
		munmap(p, len);
}

static void heap_up(void)
{
	long by = rnd(100) * 1000;

	if (sbrk(by) != (void *)-1)
		grown += by;
}

static void heap_down(void)
{
	long by = rnd(50) * 1000;

	if (by <= grown && sbrk(-by) != (void *)-1)
		grown -= by;
}

static void attach_shm(void)
{
	size_t len = some();
	int id = shmget(IPC_PRIVATE, len, 0600 | IPC_CREAT);
	char *p = shmat(id, NULL, 0);

	shmctl(id, IPC_RMID, NULL);
	if (p == (void *)-1)
		return;
	/* Its vm_ops have a close: mremap takes another way. */
	mremap(p, len, len + PAGE, 0);
	if (rnd(2))
		shmdt(p);
}

static void make_aio(void)
{
	aio_context_t ctx = 0;

	if (!syscall(SYS_io_setup, rnd(500) + 1, &ctx) && rnd(2))
		syscall(SYS_io_destroy, ctx);
}

__attribute__((noinline)) static void deep(int levels)
{
	volatile char frame[4000];

	memset((void *)frame, levels, sizeof(frame));
	if (levels)
		deep(levels - 1);
	frame[levels % sizeof(frame)] = 1;
}

static void grow_stack(void)
{
	deep(rnd(200));
}

static void grow_own_stack(void)
{
	size_t len = 64 * PAGE;
	char *p = mmap(NULL, len, PROT_NONE, ANON, -1, 0);
	char *stack;

	if (p == MAP_FAILED)
		return;
	stack = mmap(p + len - PAGE, PAGE, RW, ANON | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	munmap(p + 32 * PAGE, 31 * PAGE);
	*(volatile char *)(stack - rnd(20) * PAGE) = 1;
	if (rnd(2))
		munmap(p, len);
}

struct op {
	const char *name;
	void (*run)(void);
	bool alone;	/* not from several threads */
};

static const struct op ops[] = {
	{ "map-fixed",			map_fixed },
	{ "unmap",			unmap },
	{ "map-and-unmap-part",		map_and_unmap_part },
	{ "remap-own",			remap_own },
	{ "remap-in-place",		remap_in_place },
	{ "remap-grow-into-hole",	remap_grow_into_hole },
	{ "remap-shrink",		remap_shrink },
	{ "remap-fixed",		remap_fixed },
	{ "remap-keeping-source",	remap_keeping_source },
	{ "protect",			protect },
	{ "lock",			lock },
	{ "fail",			fail },
	{ "map-file",			map_file },
	{ "map-shared",			map_shared },
	{ "attach-shm",			attach_shm },
	{ "make-aio",			make_aio },
	{ "heap-up",			heap_up,		true },
	{ "heap-down",			heap_down,		true },
	{ "grow-stack",			grow_stack,		true },
	/* Another thread may map the hole that is made for it. */
	{ "grow-own-stack",		grow_own_stack,		true },
};

#define OPS	(sizeof(ops) / sizeof(ops[0]))

static void work(int steps, bool alone)
{
	while (steps--) {
		const struct op *op = &ops[rnd(OPS)];

		if (alone || !op->alone)
			op->run();
	}
}

static int thread_steps;

static void *thread(void *arg)
{
	state = (uintptr_t)arg;
	work(thread_steps, false);
	return NULL;
}

static void with_threads(uint64_t seed, int steps)
{
	pthread_t threads[4];
	uintptr_t i;

	thread_steps = steps;
	for (i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(seed * 10 + i)))
			exit(3);
	work(steps, false);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* The threads' malloc may have put something above what we had added. */
	grown = 0;
}

/* Without malloc, stdio or any other change of the address space. */
static void save_maps(int execs)
{
	static char path[512], text[1 << 20];
	int in = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int out;

	snprintf(path, sizeof(path), "%s/%d.%d", getenv("TORTURE_MAPS"), getpid(), execs);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while ((got = read(in, text, sizeof(text))) > 0)
		if (write(out, text, got) != got)
			_exit(4);
	close(in);
	close(out);
}

static void with_fork(int steps)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		state += 5;
		work(steps, true);
		save_maps(0);
		_exit(0);
	}
	work(steps / 2, true);
	if (waitpid(pid, &status, 0) != pid || status)
		exit(5);
}

/* The child works in our address space until it ends, or becomes another program. */
static void with_vfork(void)
{
	int status;
	pid_t pid;
	int i;

	for (i = 0; i < 2; i++) {
		pid = vfork();
		if (!pid) {
			mmap(somewhere(), some(), RW, ANON | MAP_FIXED, -1, 0);
			if (i)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			exit(6);
	}
}

static bool has(char **words, const char *word)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const char *count = getenv("TORTURE_EXECS");
	int execs = count ? atoi(count) : 1;
	uint64_t seed;
	int steps;

	if (argc < 3 || !getenv("TORTURE_MAPS"))
		return 2;
	seed = atoi(argv[1]);
	state = seed + 1000 * execs;
	steps = atoi(argv[2]);
	/* Neighbours that no other mapping of ours can merge with, or be hit by mistake. */
	arena = mmap(NULL, ARENA + 2 * PAGE, PROT_NONE, ANON, -1, 0);
	if (arena == MAP_FAILED)
		return 2;
	arena += PAGE;

	work(steps, true);
	if (has(argv, "fork"))
		with_fork(steps);
	if (has(argv, "vfork"))
		with_vfork();
	if (has(argv, "threads"))
		with_threads(seed, steps);
	work(steps / 2, true);

	save_maps(execs);
	if (has(argv, "exec") && execs < 3) {
		char next[16];

		snprintf(next, sizeof(next), "%d", execs + 1);
		/* In place: setenv would allocate after the maps were saved. */
		memcpy(getenv("TORTURE_EXECS"), next, 2);
		execv("/proc/self/exe", argv);
		return 7;
	}
	_exit(0);
}
