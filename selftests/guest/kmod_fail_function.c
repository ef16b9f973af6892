// SPDX-License-Identifier: GPL-2.0
// Makes functions of the kernel return an error instead of running, while a profiled process uses them.
//
// Needs a kernel with CONFIG_FAIL_FUNCTION, such as the debug kernel. A kernel only allows this for functions that its
// source marks. Of those, the members' system calls and __filemap_add_folio, by which a page of a file or a huge page
// becomes resident, lie on the module's path. (The others that could matter, should_failslab and
// should_fail_alloc_page, are those by which kmod_faults makes allocations fail.) The module must record only what has
// happened: afterwards the totals of its records, without a correction, equal what the kernel reports.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(16 << 20)
#define STACK	4096
#define PAGE	4096UL
#define HUGE	(2UL << 20)
#define KNOBS	"/sys/kernel/debug/fail_function/"
/* The calls number 1 to CALLS of a function fail, one in each round. */
#define CALLS	10

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok;
}

static bool write_knob(const char *name, long value)
{
	char path[PATH_MAX], text[32];

	snprintf(path, sizeof(path), KNOBS "%s", name);
	/* The kernel parses the number as unsigned, so a negative one is written in hexadecimal. */
	snprintf(text, sizeof(text), value < 0 ? "%#lx" : "%ld", value);
	return write_file(path, text);
}

static long read_knob(const char *name)
{
	char path[PATH_MAX], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), KNOBS "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(fd);
	return atol(text);
}

/* What the member does, so that each function is called at least CALLS times. */
static void op_file(void)
{
	char *at;
	int i, fd = open("/ramfs/file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, 64 * PAGE))
		exit(3);
	at = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		exit(4);
	for (i = 0; i < 64; i++)
		at[i * PAGE] = 1;
	/* Half of the pages stay mapped, so that each round changes the total. */
	munmap(at, 32 * PAGE);
	close(fd);
}

static void op_huge(void)
{
	char *at = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	pid_t pid;

	if (at == MAP_FAILED)
		exit(5);
	/* A child does it, because a failure to add the page to the page cache may kill the process. */
	pid = fork();
	if (!pid) {
		at[0] = 1;
		at[HUGE] = 1;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	munmap(at, 2 * HUGE);
}

static void op_mmap(void)
{
	int i;

	for (i = 0; i < 2 * CALLS; i++) {
		char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at != MAP_FAILED)
			at[PAGE] = 1;
	}
}

static void op_munmap(void)
{
	int i;

	for (i = 0; i < 2 * CALLS; i++) {
		char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		at[PAGE] = 1;
		munmap(at, 2 * PAGE);
	}
}

static void op_mremap(void)
{
	int i;

	for (i = 0; i < 2 * CALLS; i++) {
		char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		at[PAGE] = 1;
		mremap(at, 4 * PAGE, i % 2 ? 64 * PAGE : PAGE, MREMAP_MAYMOVE);
	}
}

static void op_mprotect(void)
{
	char *at = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < 2 * CALLS; i++)
		mprotect(at + 2 * i * PAGE, PAGE, PROT_NONE);
}

static void op_madvise(void)
{
	char *at = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	memset(at, 1, 64 * PAGE);
	for (i = 0; i < 2 * CALLS; i++)
		madvise(at + 2 * i * PAGE, PAGE, MADV_DONTNEED);
}

static void op_brk(void)
{
	int i;

	for (i = 0; i < 2 * CALLS; i++)
		if (sbrk(i % 3 ? 16 * (intptr_t)PAGE : -8 * (intptr_t)PAGE) == (void *)-1)
			continue;
}

static void op_fork(void)
{
	int i;

	for (i = 0; i < CALLS + 1; i++) {
		pid_t pid = fork();

		if (!pid) {
			mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static void op_exec(void)
{
	int i;

	for (i = 0; i < CALLS + 1; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", NULL);
			mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static const struct op {
	const char *function;
	int error;
	void (*run)(void);
	unsigned int calls;	/* upper limit for the number of the call that fails */
} ops[] = {
	{ "__filemap_add_folio", ENOMEM, op_file, CALLS },
	{ "__filemap_add_folio", EEXIST, op_file, CALLS },
	{ "__filemap_add_folio", ENOMEM, op_huge, 2 },
	{ "__x64_sys_mmap", ENOMEM, op_mmap, CALLS },
	{ "__x64_sys_munmap", EINVAL, op_munmap, CALLS },
	{ "__x64_sys_mremap", ENOMEM, op_mremap, CALLS },
	{ "__x64_sys_mprotect", ENOMEM, op_mprotect, CALLS },
	{ "__x64_sys_madvise", EAGAIN, op_madvise, CALLS },
	{ "__x64_sys_brk", ENOMEM, op_brk, CALLS },
	{ "__x64_sys_clone", EAGAIN, op_fork, CALLS },
	{ "__x64_sys_execve", ENOEXEC, op_exec, CALLS },
};

FIXTURE(fail_function)
{
	bool can;
	struct kmod_session session;
	struct kmod_model model;
	int ask[2];
	int answer[2];
	pid_t pid;
};

static bool can_fail(void)
{
	if (access("/sys/kernel/debug/fail_function", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return !access("/sys/kernel/debug/fail_function/inject", W_OK);
}

/* Performs the operation whose number it reads, and then sends the number back. */
static int member(void *arg)
{
	FIXTURE_DATA(fail_function) *self = arg;
	uint8_t which;

	close(self->ask[1]);
	while (read(self->ask[0], &which, 1) == 1) {
		if (!write_file("/proc/self/make-it-fail", "1"))
			return 1;
		ops[which].run();
		if (!write_file("/proc/self/make-it-fail", "0") || write(self->answer[1], &which, 1) != 1)
			return 2;
	}
	return 0;
}

FIXTURE_SETUP(fail_function)
{
	struct massif_setup setup = {
		.flags = MASSIF_SETUP_RESIDENT,
		.ring_bytes = RING,
		.max_stack_bytes = STACK,
	};
	int err;

	self->can = can_fail();
	if (!self->can)
		return;
	err = kmod_module_load("");
	ASSERT_TRUE(!err || err == -EEXIST);
	ASSERT_TRUE(write_file("/proc/sys/vm/nr_hugepages", "4"));
	ASSERT_TRUE(!mkdir("/ramfs", 0700) || errno == EEXIST);
	ASSERT_EQ(0, mount("ramfs", "/ramfs", "ramfs", 0, NULL));
	ASSERT_EQ(0, pipe(self->ask));
	ASSERT_EQ(0, pipe(self->answer));
	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_open_as(&self->session, &setup));
	self->pid = kmod_session_call(&self->session, member, self);
	ASSERT_LT(0, self->pid);
	close(self->answer[1]);
}

FIXTURE_TEARDOWN(fail_function)
{
	if (!self->can)
		return;
	write_file(KNOBS "inject", "\n");
	kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
	umount("/ramfs");
	write_file("/proc/sys/vm/nr_hugepages", "0");
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

/* Lets the @nth call of op's function by a task that is marked fail, once. */
static bool prepare(const struct op *op, unsigned int nth)
{
	char retval[NAME_MAX];

	snprintf(retval, sizeof(retval), "%s/retval", op->function);
	/* A function that is injected already would be refused. */
	return write_file(KNOBS "inject", "\n") && write_file(KNOBS "inject", op->function) &&
	       write_knob(retval, -op->error) &&
	       write_file(KNOBS "task-filter", "Y") && write_knob("verbose", 0) && write_knob("interval", 1) &&
	       write_knob("space", nth - 1) && write_knob("times", 1) && write_knob("probability", 100);
}

static long resident_pages(pid_t pid)
{
	char path[64], text[128] = "";
	long all, resident = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%ld %ld", &all, &resident) != 2)
		resident = -1;
	close(fd);
	return resident;
}

static bool equals_the_kernel(struct kmod_target *target, pid_t pid)
{
	struct kmod_intervals now;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (!target || !target->synced || kmod_intervals_read(&now, path))
		return false;
	same = kmod_intervals_equal(&now, &target->map);
	kmod_intervals_destroy(&now);
	return same && target->resident[MASSIF_RSS_ANON] + target->resident[MASSIF_RSS_FILE] +
		       target->resident[MASSIF_RSS_SHMEM] == resident_pages(pid);
}

TEST_F_TIMEOUT(fail_function, of_what_a_member_calls, 300)
{
	struct massif_status status;
	unsigned int nth, failed;
	uint8_t i, done;
	int end;

	if (!self->can)
		SKIP(return, "this kernel cannot make functions fail: no debugfs/fail_function");
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (nth = 1, failed = 0; nth <= ops[i].calls; nth++) {
			ASSERT_TRUE(prepare(&ops[i], nth)) {
				TH_LOG("%s: cannot be made to fail: %s", ops[i].function, strerror(errno));
			}
			ASSERT_EQ(1, write(self->ask[1], &i, 1));
			ASSERT_EQ(1, read(self->answer[0], &done, 1)) {
				waitpid(self->pid, &end, 0);
				TH_LOG("%s %u: the member has ended, status %#x", ops[i].function, nth, end);
			}
			failed += !read_knob("times");
			kmod_session_read(&self->session, kmod_model_apply, &self->model);
			EXPECT_TRUE(equals_the_kernel(kmod_model_find(&self->model, self->pid, 0), self->pid)) {
				TH_LOG("%s %u: the records differ from /proc", ops[i].function, nth);
			}
		}
		EXPECT_EQ(ops[i].calls, failed);
		TH_LOG("%s: %u failures", ops[i].function, failed);
	}
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
	EXPECT_EQ(0, self->model.drifted);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.lost);
	EXPECT_EQ(0, status.unseen);
	close(self->ask[1]);
	ASSERT_EQ(self->pid, waitpid(self->pid, &end, 0));
	EXPECT_EQ(0, end);
}

TEST_HARNESS_MAIN
