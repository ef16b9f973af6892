/* SPDX-License-Identifier: GPL-2.0 */
/* Torture's common operations: mmap, munmap, mremap, mprotect, brk, shmat, growing stacks. */
#ifndef MASSIF_SELFTESTS_TORTURE_MAPS_H
#define MASSIF_SELFTESTS_TORTURE_MAPS_H

#include <sys/shm.h>
#include <sys/syscall.h>
#include <linux/aio_abi.h>

#include "torture_engine.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static long grown; /* number of bytes by which this program itself has grown the heap, in addition to malloc */

static int map_fixed(void)
{
	mmap(somewhere(), some(), RW, ANON | MAP_FIXED, -1, 0);
	return 0;
}

static int unmap(void)
{
	munmap(somewhere(), some());
	return 0;
}

static int map_and_unmap_part(void)
{
	size_t len = some(), part = len / 2 / PAGE * PAGE;
	char *p = mmap(NULL, len, RW, ANON | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	/* Unmap a part whose end is not page-aligned, which is permitted. */
	if (part && !munmap(p, part - 100))
		p += part, len -= part;
	keep(p, len);
	return 0;
}

static int remap_own(void)
{
	size_t len = some();
	size_t new_len = (len * (1 + rnd(3)) / (1 + rnd(3)) + PAGE) / PAGE * PAGE;
	char *p = mmap(NULL, len, RW, ANON, -1, 0);
	char *q;

	if (p == MAP_FAILED)
		return 0;
	q = mremap(p, len, new_len, MREMAP_MAYMOVE);
	keep(q == MAP_FAILED ? p : q, q == MAP_FAILED ? len : new_len);
	return 0;
}

static int remap_in_place(void)
{
	mremap(somewhere(), PAGE, 2 * PAGE, 0);
	return 0;
}

/*
 * Cuts a mapping in half and tries to grow it back. Another thread may already have mapped something where the second
 * half was, so that range must not be unmapped again.
 */
static int remap_grow_into_hole(void)
{
	size_t len = some();
	char *p = mmap(NULL, 2 * len, RW, ANON, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	munmap(p + len, len);
	if (mremap(p, len, 2 * len - 100, 0) == p)
		len *= 2;
	keep(p, len);
	return 0;
}

static int remap_shrink(void)
{
	size_t len = some();

	mremap(somewhere(), len + PAGE, len, rnd(2) ? MREMAP_MAYMOVE : 0);
	return 0;
}

static int remap_fixed(void)
{
	size_t len = some();

	mremap(somewhere(), len, rnd(2) ? len : some(), MREMAP_MAYMOVE | MREMAP_FIXED, somewhere());
	return 0;
}

static int remap_keeping_source(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, ANON, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	keep(mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP), len);
	keep(p, len);
	return 0;
}

/* mremap() with an old length of 0 maps the same pages a second time. */
static int remap_twin(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	keep(mremap(p, 0, len, MREMAP_MAYMOVE), len);
	keep(p, len);
	return 0;
}

static int remap_pages(void)
{
	size_t len = some();
	char *p = mmap(NULL, len, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	syscall(SYS_remap_file_pages, p, PAGE, 0, rnd(len / PAGE), 0);
	keep(p, len);
	return 0;
}

static int protect(void)
{
	mprotect(somewhere(), some(), rnd(2) ? PROT_READ : RW);
	return 0;
}

static int lock(void)
{
	char *at = somewhere();

	mlock(at, PAGE);
	madvise(at, some(), rnd(2) ? MADV_DONTNEED : MADV_FREE);
	munlock(at, PAGE);
	return 0;
}

/*
 * Uses madvise() to choose whether a forked child inherits one part of the arena, and whether it sees another part
 * zeroed.
 */
static int not_for_children(void)
{
	madvise(somewhere(), some(), rnd(2) ? MADV_DONTFORK : MADV_DOFORK);
	madvise(somewhere(), some(), rnd(2) ? MADV_WIPEONFORK : MADV_KEEPONFORK);
	return 0;
}

static int fail(void)
{
	mmap((void *)1, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(NULL, 1UL << 60, RW, ANON, -1, 0);
	munmap((void *)3, PAGE);
	munmap(somewhere(), 0);
	mmap(somewhere(), some(), RW, MAP_SHARED_VALIDATE | MAP_FIXED | 0x40000000, -1, 0);
	mmap(somewhere(), some(), RW, MAP_PRIVATE | MAP_FIXED, 9999, 0);
	mmap(somewhere(), some(), RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	mremap(somewhere(), some(), 1UL << 60, MREMAP_MAYMOVE);
	mremap(arena - 64 * PAGE * 1024, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)1);
	mremap(somewhere(), some(), some(), MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(1UL << 60));
	return 0;
}

static int map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = 3 * PAGE + some();
	char *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	char *q;

	if (rnd(2))
		mmap(somewhere(), len, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return 0;
	if (rnd(2)) {
		/* Only the first page is moved, and it grows to three pages. */
		q = mremap(p, PAGE, 3 * PAGE, MREMAP_MAYMOVE);
		if (q != MAP_FAILED) {
			munmap(q, 3 * PAGE);
			if (q != p)
				p += PAGE, len -= PAGE;
			else
				p += 3 * PAGE, len -= 3 * PAGE;
		}
	}
	keep(p, len);
	return 0;
}

static int map_shared(void)
{
	size_t len = some();

	keep(mmap(NULL, len, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0), len);
	return 0;
}

static int heap_up(void)
{
	long by = rnd(100) * 1000;

	if (grown < (64 << 20) && sbrk(by) != (void *)-1)
		grown += by;
	return 0;
}

static int heap_down(void)
{
	long by = rnd(50) * 1000;

	if (by <= grown && sbrk(-by) != (void *)-1)
		grown -= by;
	return 0;
}

static int attach_shm(void)
{
	size_t len = some();
	int id = shmget(IPC_PRIVATE, len, 0600 | IPC_CREAT);
	char *p = shmat(id, NULL, 0);

	if (rnd(2))
		shmat(id, somewhere(), SHM_REMAP);
	shmctl(id, IPC_RMID, NULL);
	if (p == (void *)-1)
		return 0;
	/* The vm_ops of this mapping have a close function, so mremap takes a different code path. */
	if (mremap(p, len, len + PAGE, 0) == p)
		len += PAGE;
	if (rnd(2) || shmdt(p))
		keep(p, len);
	return 0;
}

/* The rings of an AIO context exist until the process ends or destroys them, and their number is limited. */
static int make_aio(void)
{
	aio_context_t ctx = 0;

	if (!syscall(SYS_io_setup, rnd(500) + 1, &ctx) && rnd(8))
		syscall(SYS_io_destroy, ctx);
	return 0;
}

__attribute__((noinline)) static void deep(int levels)
{
	volatile char frame[4000];

	memset((void *)frame, levels, sizeof(frame));
	if (levels)
		deep(levels - 1);
	frame[levels % sizeof(frame)] = 1;
}

static int grow_stack(void)
{
	deep(rnd(200));
	return 0;
}

/*
 * Unmaps the part of the stack that has grown, so that it can grow again. Nothing else is mapped just below the stack.
 */
static int cut_stack(void)
{
	char *sp = (char *)((uintptr_t)__builtin_frame_address(0) & ~(PAGE - 1));

	munmap(sp - 1024 * PAGE, (1024 - 8) * PAGE);
	return 0;
}

/*
 * Moves eight file mappings in one call. Before the thread returns to user space, the module can report the names of at
 * most four of them (MAX_NAMES), so it must do a resync, which lists all mappings. Kernels before 6.17 cannot move more
 * than one mapping per call. The range is larger than the arena, so that it cannot be placed in one of the arena's
 * holes.
 */
static int remap_many(void)
{
	size_t len = ARENA + PAGE;
	char *p = mmap(NULL, len, PROT_NONE, ANON, -1, 0);
	int fd, i;

	if (p == MAP_FAILED)
		return 0;
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < 8; i++)
		mmap(p + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	if (mremap(p, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + 16 * PAGE) == MAP_FAILED &&
	    errno == EFAULT) {
		keep(p, len);
		return EFAULT;
	}
	/* Do not unmap the hole that mremap() has left: another thread may already have mapped something there. */
	keep(p + 8 * PAGE, len - 8 * PAGE);
	return 0;
}

static const struct op map_ops[] = {
	{ "map-fixed",			map_fixed },
	{ "unmap",			unmap },
	{ "map-and-unmap-part",		map_and_unmap_part },
	{ "remap-own",			remap_own },
	{ "remap-in-place",		remap_in_place },
	{ "remap-grow-into-hole",	remap_grow_into_hole },
	{ "remap-shrink",		remap_shrink },
	{ "remap-fixed",		remap_fixed },
	{ "remap-keeping-source",	remap_keeping_source },
	{ "remap-twin",			remap_twin },
	{ "remap-pages",		remap_pages },
	{ "remap-many",			remap_many,		false,	4 },
	{ "protect",			protect },
	{ "lock",			lock },
	{ "not-for-children",		not_for_children },
	{ "fail",			fail },
	{ "map-file",			map_file },
	{ "map-shared",			map_shared },
	{ "attach-shm",			attach_shm },
	{ "make-aio",			make_aio },
	{ "heap-up",			heap_up,		true },
	{ "heap-down",			heap_down,		true },
	{ "grow-stack",			grow_stack,		true },
	{ "cut-stack",			cut_stack,		true },
};

#endif
