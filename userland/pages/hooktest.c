// SPDX-License-Identifier: GPL-2.0
// Do the module's hooks fire? A child does one thing of each kind, for the module to see.

#include "pages/hooktest.h"

#include <errno.h>
#include <linux/massif.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

/* arch_prctl's; the headers of the C library have no name for it. */
#define ARCH_MAP_VDSO_64 0x2003

/* The child's address space may outlive it for a moment, when somebody reads it in /proc. */
#define PATIENCE_US 1000000
#define STEP_US	    10000

/* What the child ends with: what else it could do, in bits, or why it did nothing. */
enum {
	DID_SPECIAL = 1, /* mapped a vdso */
	DID_STACK = 2,	 /* let a stack grow */
	FAILED = 4,
	CANNOT_JOIN = 5,
};

struct range {
	uintptr_t start;
	uintptr_t end;
};

#define RANGES_MAX 8

/* vdso and what belongs to it: a new one is only mapped where there is none. */
static size_t find_vdso(struct range *ranges)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t count = 0;

	while (maps && count < RANGES_MAX && fgets(line, sizeof(line), maps))
		if ((strstr(line, "[vdso]") || strstr(line, "[vvar")) &&
		    sscanf(line, "%lx-%lx", &ranges[count].start, &ranges[count].end) == 2)
			count++;
	if (maps)
		fclose(maps);
	return count;
}

/* Afterwards the C library has no clock, nor anything else of the vdso's. */
static int map_vdso(const struct range *ranges, size_t count)
{
	uintptr_t at = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (!at || ranges[i].start < at)
			at = ranges[i].start;
		if (syscall(SYS_munmap, ranges[i].start, ranges[i].end - ranges[i].start))
			return -1;
	}
	return (int)syscall(SYS_arch_prctl, ARCH_MAP_VDSO_64, at);
}

static int grow_and_move(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED || munmap(base + page, 3 * page))
		return -1;
	if (mremap(base, page, 2 * page, 0) != base)
		return -1;
	if (mremap(base, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, base + 5 * page) !=
	    base + 5 * page)
		return -1;
	return munmap(base + 5 * page, page);
}

static int grow_heap(void)
{
	uintptr_t brk = (uintptr_t)syscall(SYS_brk, 0);
	uintptr_t more = brk + (uintptr_t)sysconf(_SC_PAGESIZE);

	return (uintptr_t)syscall(SYS_brk, more) == more ? 0 : -1;
}

/*
 * A stack grows by the fault of a system call, which fails where ours would be killed. Below it are a hole
 * and then something without access rights, to which a stack needs no distance.
 */
static bool grow_stack(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *stack = base + 6 * page;
	struct rlimit limit;

	if (!getrlimit(RLIMIT_STACK, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_STACK, &limit);
	}
	/* The mapping that this replaces makes a hook fire, too. */
	return base != MAP_FAILED &&
	       mmap(stack, page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) == stack &&
	       !munmap(stack - page, page) && !syscall(SYS_getcpu, stack - sizeof(long), NULL, NULL);
}

/* A page that the program touches, and one that a system call touches. */
static int touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *base = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return -1;
	*(volatile char *)base = 1;
	if (syscall(SYS_getcpu, base + page, NULL, NULL))
		return -1;
	return munmap(base, 2 * page);
}

/* In the child, which is going to end: what it does to itself hurts nobody. */
static int act(int fd, const struct range *vdso, size_t count)
{
	struct massif_test join = {.size = sizeof(join), .flags = MASSIF_TEST_JOIN};
	int did = 0;

	if (ioctl(fd, MASSIF_IOC_TEST, &join))
		return CANNOT_JOIN;
	if (grow_heap() || grow_and_move() || touch())
		return FAILED;
	if (grow_stack())
		did |= DID_STACK;
	if (!map_vdso(vdso, count))
		did |= DID_SPECIAL;
	return did;
}

/* Returns what the child ended with, or -errno. */
static int run_child(int fd)
{
	struct range vdso[RANGES_MAX];
	size_t count = find_vdso(vdso);
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		syscall(SYS_exit_group, act(fd, vdso, count));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

/* 0 or -errno; fills test with the name of what is missing. */
static int tell(int fd, struct massif_test *test, uint32_t flags)
{
	int code;

	*test = (struct massif_test){.size = sizeof(*test), .flags = flags};
	code = ioctl(fd, MASSIF_IOC_TEST, test) ? -errno : 0;
	test->dead_hook[sizeof(test->dead_hook) - 1] = '\0';
	return code;
}

int mf_hooktest_run(int fd, struct mf_error *err)
{
	uint32_t flags = MASSIF_TEST_SPECIAL | MASSIF_TEST_STACK;
	struct massif_test test;
	int waited, ended, code;

	if (!tell(fd, &test, flags))
		return 0;
	ended = run_child(fd);
	/* One that cannot join is followed by another session, which has tried the hooks. */
	if (ended < 0 || ended == FAILED)
		return mf_error_set(err, ended < 0 ? ended : -EIO,
				    "cannot try whether massif.ko's hooks fire: a child of "
				    "massif-ctl could not %s",
				    ended < 0 ? "be made" : "change its memory");
	if (ended == CANNOT_JOIN || !(ended & DID_SPECIAL))
		flags &= ~(uint32_t)MASSIF_TEST_SPECIAL;
	if (ended == CANNOT_JOIN || !(ended & DID_STACK))
		flags &= ~(uint32_t)MASSIF_TEST_STACK;
	for (waited = 0;; waited += STEP_US) {
		code = tell(fd, &test, flags);
		if (!code || waited >= PATIENCE_US)
			break;
		usleep(STEP_US);
	}
	if (!code)
		return 0;
	return mf_error_set(err, code,
			    "massif.ko cannot observe this kernel: its hook '%s' does not fire",
			    test.dead_hook);
}
