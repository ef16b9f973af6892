/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Torture's rare operations: devices and kernel features that map memory, resource limits, and stacks allocated by the
 * program.
 */
#ifndef MASSIF_SELFTESTS_TORTURE_ODD_H
#define MASSIF_SELFTESTS_TORTURE_ODD_H

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>

#include "torture_engine.h"
#include "torture_maps.h"

#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define HUGE_PAGE	(2UL << 20)

/* Returns @error if it means that the kernel lacks the feature, otherwise 0. */
static int unless_absent(int error)
{
	switch (error) {
	case ENOSYS:
	case EPERM:
	case EOPNOTSUPP:
	case ENODEV:
	case ENOENT:
		return error;
	}
	return 0;
}

static volatile bool faults_end;

/*
 * Reads the userfaultfd events caused by system calls that unmap or move memory. Each of these system calls blocks
 * until its event is read.
 */
static void *read_faults(void *arg)
{
	struct pollfd polled = { .fd = (intptr_t)arg, .events = POLLIN };
	struct uffd_msg message;

	while (!faults_end)
		if (poll(&polled, 1, 20) == 1)
			(void)!read(polled.fd, &message, sizeof(message));
	return NULL;
}

static int open_faults(uint64_t features, int *error)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	*error = fd < 0 ? unless_absent(errno) : 0;
	if (fd < 0 || !ioctl(fd, UFFDIO_API, &api))
		return fd;
	*error = EINVAL;
	close(fd);
	return -1;
}

static bool register_faults(int fd, char *at, size_t len)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)at, len }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return !ioctl(fd, UFFDIO_REGISTER, &range);
}

/*
 * Registers the middle of a mapping with userfaultfd, which splits the mapping in three, and then supplies the first
 * page of the registered part.
 */
static int fill_faults(void)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct uffdio_copy copy = { .src = (uintptr_t)page, .len = PAGE };
	size_t len = 3 * some();
	char *p = mmap(NULL, len, RW, ANON, -1, 0);
	int error, fd = open_faults(0, &error);

	if (fd < 0 || p == MAP_FAILED) {
		keep(p, len);
		return error;
	}
	if (register_faults(fd, p + len / 3, len / 3)) {
		copy.dst = (uintptr_t)p + len / 3;
		ioctl(fd, UFFDIO_COPY, &copy);
		if (rnd(2))
			mremap(p + len / 3, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p);
	}
	if (rnd(2))
		close(fd), fd = -1;
	keep(p, len);
	if (fd >= 0)
		close(fd);
	return 0;
}

/*
 * Here munmap() and mremap() take a long time: they block until the thread that reads the userfaultfd has handled the
 * event that they cause.
 */
static int slow_unmap(void)
{
	size_t len = 16 * PAGE;
	pthread_t reader;
	int error, fd = open_faults(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP, &error);
	char *p;

	if (fd < 0)
		return error;
	faults_end = false;
	p = mmap(NULL, len, RW, ANON, -1, 0);
	if (p == MAP_FAILED || !register_faults(fd, p, len) ||
	    pthread_create(&reader, NULL, read_faults, (void *)(intptr_t)fd)) {
		close(fd);
		keep(p, len);
		return 0;
	}
	munmap(p + PAGE, PAGE);
	mremap(p + 2 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, somewhere());
	mmap(p + 4 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	munmap(p, len);
	faults_end = true;
	pthread_join(reader, NULL);
	/*
	 * Closing the userfaultfd also ends its hold on the page that mremap() moved to the arena (torture_engine.h).
	 * From here on, other threads may reuse that page.
	 */
	close(fd);
	/*
	 * Other threads may have extended the heap above the bytes that this program has added with sbrk(), so the
	 * program can no longer give these bytes back.
	 */
	grown = 0;
	return 0;
}

static int map_memfd(void)
{
	static const unsigned int flags[] = { 0, MFD_ALLOW_SEALING, MFD_HUGETLB };
	unsigned int way = rnd(3);
	size_t len = way == 2 ? HUGE_PAGE : some();
	int fd = memfd_create("torture", MFD_CLOEXEC | flags[way]);
	char *p;

	if (fd < 0)
		return unless_absent(errno);
	if (ftruncate(fd, len)) {
		close(fd);
		return 0;
	}
	p = mmap(NULL, len, RW, MAP_SHARED | (rnd(2) ? MAP_POPULATE : 0), fd, 0);
	/* Truncate the file while it is mapped. The mapping stays. */
	if (rnd(2))
		(void)!ftruncate(fd, 0);
	if (way != 2 && p != MAP_FAILED && mremap(p, len, len + PAGE, 0) == p)
		len += PAGE;
	keep(p, len);
	close(fd);
	return 0;
}

/*
 * Maps a file over an existing mapping with MAP_FIXED. The kernel unmaps the old mapping before the file's own mmap
 * function fails, so only a hole is left.
 */
static int refused_by_file(void)
{
	size_t len = some();
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return unless_absent(errno);
	if (!ftruncate(fd, len) && !fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		mmap(somewhere(), len, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	close(fd);
	return 0;
}

/* Uses the huge pages that the test has reserved. */
static int map_huge(void)
{
	static const int ways[] = { MAP_PRIVATE, MAP_SHARED, MAP_PRIVATE | MAP_NORESERVE };
	size_t len = (1 + rnd(3)) * HUGE_PAGE;
	char *p = mmap(NULL, len, RW, MAP_ANONYMOUS | MAP_HUGETLB | ways[rnd(3)], -1, 0);

	if (p == MAP_FAILED)
		return errno == ENOMEM ? 0 : errno;
	/* This munmap() fails, because its range ends inside a huge page. */
	munmap(p, PAGE);
	mprotect(p, HUGE_PAGE, PROT_READ);
	if (rnd(2) && len > HUGE_PAGE && !munmap(p, HUGE_PAGE))
		p += HUGE_PAGE, len -= HUGE_PAGE;
	if (rnd(2) && len > HUGE_PAGE && mremap(p, len, HUGE_PAGE, 0) == p)
		len = HUGE_PAGE;
	munmap(p, len);
	return 0;
}

static int map_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof(attr),
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	size_t len = (1 + (1 << rnd(3))) * PAGE;

	if (fd < 0)
		return unless_absent(errno);
	keep(mmap(NULL, len, RW, MAP_SHARED, fd, 0), len);
	close(fd);
	return 0;
}

/* Seals a mapping, which then stays until the process ends. */
static int seal(void)
{
	char *p = mmap(NULL, 3 * PAGE, RW, ANON, -1, 0);
	int error;

	if (p == MAP_FAILED)
		return 0;
	error = syscall(SYS_mseal, p + PAGE, PAGE, 0) ? unless_absent(errno) : 0;
	if (error) {
		keep(p, 3 * PAGE);
		return error;
	}
	munmap(p, 3 * PAGE);
	mmap(p, 3 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mremap(p, 3 * PAGE, PAGE, 0);
	mremap(p, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, somewhere());
	munmap(p, PAGE);
	munmap(p + 2 * PAGE, PAGE);
	return 0;
}

static int advise_process(void)
{
	int fd = syscall(SYS_pidfd_open, getpid(), 0);
	struct iovec parts[2] = { { somewhere(), some() }, { somewhere(), some() } };
	int error = 0;

	if (fd < 0)
		return unless_absent(errno);
	if (syscall(SYS_process_madvise, fd, parts, 2, MADV_COLD, 0) < 0)
		error = errno == ENOSYS ? errno : 0;
	close(fd);
	return error;
}

/* Sets soft limits a few pages above the current usage, so that calls fail at every point where a limit is checked. */
static int at_the_limit(void)
{
	static int (*const tries[])(void) = {
		map_fixed, remap_own, heap_up, attach_shm, map_file, remap_grow_into_hole,
		remap_keeping_source, remap_in_place,
	};
	int which = rnd(2) ? RLIMIT_AS : RLIMIT_DATA;
	struct rlimit before, now;
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC), i;

	(void)!read(fd, text, sizeof(text) - 1);
	close(fd);
	getrlimit(which, &before);
	now = before;
	now.rlim_cur = (strtoul(text, NULL, 10) + rnd(60)) * PAGE;
	setrlimit(which, &now);
	for (i = 0; i < 6; i++)
		tries[rnd(sizeof(tries) / sizeof(tries[0]))]();
	setrlimit(which, &before);
	return 0;
}

/*
 * Creates as many mappings as vm.max_map_count permits; the test has set it to a low value. A call that needs one more
 * mapping then fails halfway; by that point, the range that MAP_FIXED or mremap was to replace may or may not have been
 * unmapped.
 */
static int too_many(void)
{
	static const int places[] = { 1, 3, 7, 20, 60, 190 };
	size_t len = 100 * PAGE;
	char *p[40];
	int i, n;

	for (i = 0; i < 256; i += 2)
		mprotect(arena + i * PAGE, PAGE, i & 2 ? PROT_READ : PROT_NONE);
	for (n = 0; n < 40; n++) {
		p[n] = mmap(NULL, len, RW, ANON, -1, 0);
		if (p[n] == MAP_FAILED)
			break;
		for (i = 0; i < 100; i += 2)
			mprotect(p[n] + i * PAGE, PAGE, PROT_NONE);
	}
	for (i = 0; i < 40; i++) {
		char *at = arena + places[rnd(6)] * PAGE;

		switch (rnd(6)) {
		case 0: mmap(at, PAGE + rnd(3) * PAGE, PROT_EXEC, ANON | MAP_FIXED, -1, 0); break;
		case 1: mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE); break;
		case 2: mremap(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, somewhere()); break;
		case 3: munmap(at, PAGE); break;
		case 4: mremap(at, 3 * PAGE, PAGE, 0); break;
		case 5: heap_up(); heap_down(); break;
		}
	}
	while (n--)
		munmap(p[n], len);
	mmap(arena, 256 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	return 0;
}

/* Uses prctl(PR_SET_MM) to temporarily give the kernel wrong addresses for the heap and the stack. */
static int move_marks(void)
{
	unsigned long brk_was = syscall(SYS_brk, 0), brk_far = (brk_was + PAGE - 1) / PAGE * PAGE;
	unsigned long stack_was = (uintptr_t)__builtin_frame_address(0), end;

	brk_far += 32 * PAGE;
	if (prctl(PR_SET_MM, PR_SET_MM_BRK, brk_far, 0, 0))
		return unless_absent(errno);
	end = syscall(SYS_brk, brk_far + some());
	map_fixed();
	syscall(SYS_brk, brk_far);
	if (end > brk_far)
		munmap((void *)brk_far, end - brk_far);
	prctl(PR_SET_MM, PR_SET_MM_BRK, brk_was, 0, 0);

	/*
	 * Use prctl() to set the start of the stack, as recorded by the kernel, to the page that the stack pointer is
	 * in; the module does not read stacks beyond that address. Afterwards, restore the start to the position of
	 * argc, or close to it.
	 */
	prctl(PR_SET_MM, PR_SET_MM_START_STACK, stack_was & ~(PAGE - 1), 0, 0);
	map_fixed();
	prctl(PR_SET_MM, PR_SET_MM_START_STACK, (uintptr_t)environ & ~15UL, 0, 0);
	return 0;
}

/* An io_uring with four entries, with its rings mapped. */
struct uring {
	int fd;
	char *rings;
	struct io_uring_sqe *entries;
	size_t len;
	struct io_uring_params params;
};

static int uring_open(struct uring *uring)
{
	memset(uring, 0, sizeof(*uring));
	uring->fd = syscall(SYS_io_uring_setup, 4, &uring->params);
	if (uring->fd < 0)
		return unless_absent(errno);
	/*
	 * An io_uring with four entries is so small that its submission ring and its completion ring fit into one page.
	 * The kernel maps both at once, so a single mapping covers them.
	 */
	uring->len = PAGE;
	uring->rings = mmap(NULL, uring->len, RW, MAP_SHARED | MAP_POPULATE, uring->fd,
			    IORING_OFF_SQ_RING);
	uring->entries = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQES);
	return 0;
}

static void uring_close(struct uring *uring)
{
	if (uring->rings != MAP_FAILED)
		munmap(uring->rings, uring->len);
	if (uring->entries != MAP_FAILED)
		munmap(uring->entries, PAGE);
	close(uring->fd);
}

/* Submits a request for a kernel worker thread to process, and waits until it is complete. */
static void uring_do(struct uring *uring, struct io_uring_sqe *sqe)
{
	unsigned int *tail = (void *)(uring->rings + uring->params.sq_off.tail);
	unsigned int *array = (void *)(uring->rings + uring->params.sq_off.array);

	sqe->flags |= IOSQE_ASYNC;
	uring->entries[0] = *sqe;
	array[*tail & 3] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, uring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static int use_uring(void)
{
	struct uring uring;
	int error = uring_open(&uring);

	if (uring.fd < 0)
		return error;
	if (uring.rings != MAP_FAILED && uring.entries != MAP_FAILED) {
		struct io_uring_sqe sqe = {
			.opcode = IORING_OP_MADVISE, .fd = -1, .addr = (uintptr_t)somewhere(),
			.len = some(), .fadvise_advice = MADV_DONTNEED,
		};

		uring_do(&uring, &sqe);
	}
	/* io_uring's mmap handler fails, but only after MAP_FIXED has unmapped the old mapping. */
	mmap(somewhere(), some(), RW, MAP_SHARED | MAP_FIXED, uring.fd, 0x7000000);
	uring_close(&uring);
	return 0;
}

/* Grows a stack allocated by the program, by accessing it in one of several ways, selected at random. */
static int grow_own_stack(void)
{
	static const char zeros[64];
	size_t len = 64 * PAGE;
	char *p = mmap(NULL, len, PROT_NONE, ANON, -1, 0);
	char *stack, *below;
	int fd, error = 0;

	if (p == MAP_FAILED)
		return 0;
	stack = mmap(p + len - PAGE, PAGE, RW, ANON | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	if (stack == MAP_FAILED || munmap(p + 32 * PAGE, 31 * PAGE)) {
		munmap(p, len);
		return 0;
	}
	below = stack - rnd(20) * PAGE;
	switch (rnd(6)) {
	case 0:
		*(volatile char *)below = 1;
		break;
	case 1: /* a system call that writes to the page below the stack */
		fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
		(void)!read(fd, below, 3 * PAGE);
		close(fd);
		break;
	case 2: /* write(), a system call that reads the page below the stack */
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)!write(fd, below, PAGE);
		close(fd);
		break;
	case 3: { /* a write that pins the page below the stack and causes no fault */
		struct iovec from = { (void *)zeros, sizeof(zeros) }, to = { below, sizeof(zeros) };

		if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0)
			error = unless_absent(errno);
		break;
	}
	case 4: { /* an access to the page below the stack by a kernel thread that uses our address space */
		struct uring uring;

		error = uring_open(&uring);
		if (uring.fd < 0)
			break;
		if (uring.rings != MAP_FAILED && uring.entries != MAP_FAILED) {
			struct io_uring_sqe sqe = {
				.opcode = IORING_OP_READ, .addr = (uintptr_t)below, .len = PAGE,
				.fd = open("/dev/zero", O_RDONLY | O_CLOEXEC),
			};

			uring_do(&uring, &sqe);
			close(sqe.fd);
		}
		uring_close(&uring);
		break;
	}
	case 5: /* a write through /proc/self/mem to the page below the stack, and mlock() of the stack's first page */
		fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
		(void)!pwrite(fd, zeros, sizeof(zeros), (uintptr_t)below);
		close(fd);
		mlock(stack, PAGE);
		break;
	}
	munmap(p, len);
	return error;
}

static const struct op odd_ops[] = {
	/* Linux 5.10 deadlocks if one thread locks memory while another thread removes its userfaultfd registration. */
	{ "fill-faults",	fill_faults,		true,	4 },
	{ "slow-unmap",		slow_unmap,		true,	8 },
	{ "map-memfd",		map_memfd },
	{ "refused-by-file",	refused_by_file },
	{ "map-huge",		map_huge,		false,	8 },
	{ "map-perf",		map_perf,		false,	8 },
	{ "seal",		seal,			false,	200 },
	{ "advise-process",	advise_process,		false,	2 },
	{ "at-the-limit",	at_the_limit,		true,	4 },
	{ "too-many",		too_many,		true,	60 },
	{ "move-marks",		move_marks,		true,	4 },
	{ "use-uring",		use_uring,		true,	20 },
	/* This must run alone, because another thread might map into the hole made for the stack. */
	{ "grow-own-stack",	grow_own_stack,		true },
};

#endif
