// SPDX-License-Identifier: GPL-2.0
// Tests whether the module's hooks fire: a child process performs one operation of each kind that the module hooks.

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
#include "base/proc_mapping.h"

/* An arch_prctl() command for which the C library's headers define no name. */
#define ARCH_MAP_VDSO_64 0x2003

/*
 * How long to wait for the child's address space to disappear: a process that reads a /proc file can briefly keep it
 * alive.
 */
#define PATIENCE_US 1000000
#define STEP_US	    10000

/* Exit status of the child: either a bit for each optional operation that worked, or the reason why it did nothing. */
enum {
	DID_SPECIAL = 1, /* bit of the exit status: a vdso was mapped */
	DID_STACK = 2,	 /* bit of the exit status: a stack has grown */
	FAILED = 4,
	CANNOT_JOIN = 5,
};

struct range {
	uintptr_t start;
	uintptr_t end;
};

#define RANGES_MAX 8

/* Finds the vdso and its data pages, which must be unmapped before a new vdso is mapped: the kernel allows only one. */
static size_t find_vdso(struct range *ranges)
{
	struct mf_proc_mappings maps;
	struct mf_proc_mapping mapping;
	size_t count = 0;

	if (mf_proc_mappings_open(&maps, 0))
		return 0;
	while (count < RANGES_MAX && mf_proc_mappings_next(&maps, &mapping))
		if (!strcmp(mapping.path, "[vdso]") || !strncmp(mapping.path, "[vvar", 5))
			ranges[count++] = (struct range){ mapping.start, mapping.end };
	mf_proc_mappings_close(&maps);
	return count;
}

/* Maps a new vdso. After that, C library functions that use the vdso, such as clock_gettime(), must not be called. */
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
 * Makes a stack grow by a page fault inside a system call, so that a failed fault makes the call fail instead of
 * killing the child. Below the stack are a hole and then an inaccessible mapping; the kernel does not enforce a guard
 * gap above such a mapping.
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
	/* Replacing a mapping triggers a hook, too. */
	return base != MAP_FAILED &&
	       mmap(stack, page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) == stack &&
	       !munmap(stack - page, page) && !syscall(SYS_getcpu, stack - sizeof(long), NULL, NULL);
}

/* Touches one page from user space and, through a system call, another one from the kernel. */
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

/* Runs in the child, and may damage its memory: the child exits afterwards. */
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

/* Returns the exit status of the child, or -errno. */
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

/*
 * Asks the module for the result. Returns 0 or -errno; on -ENODEV, @test contains the name of the hook that did not
 * fire.
 */
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
	/*
	 * If the child cannot be added to this session (CANNOT_JOIN), it is a member of another session, which has
	 * already tested the hooks.
	 */
	if (ended < 0 || ended == FAILED)
		return mf_error_set(err, ended < 0 ? ended : -EIO,
				    "cannot test the hooks of massif.ko: a child process of massif-ctl "
				    "could not %s",
				    ended < 0 ? "be started" : "change its memory");
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
