// SPDX-License-Identifier: GPL-2.0
// In pages mode, a privileged massif-ctl does not read the objects of profiled programs itself; its unprivileged
// children do this. If an object makes the child that is reading it fail, stacks that contain a function of that object
// lose only that function's callers.
//
// This program replaces pread(), read() and mmap(). In the test's own process, the replacements count their calls. In a
// child, they perform the action selected by the last byte of the file. The program also replaces fork(), to make it
// fail.

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/confine.h"
#include "elf/binary.h"
#include "kselftest_harness.h"
#include "selftests/lib/pages_self.h"

#define FRAMES	    256
#define PLAIN_USER  12345
#define LIBRARY	    "pages_confined.tmp.so"

enum evil {
	HARMLESS,
	CRASHES = 0xe0,
	LOOPS,
	ENDS,	  /* the child exits with a non-zero status */
	IS_QUIET, /* the child exits with status 0, but without a result */
	TELLS_NOISE,
	FLOODS,
};

static pid_t self; /* this process's pid while it unwinds a stack; 0 at other times, when watch() ignores reads */
static unsigned int reads_here;
static bool refuses_fork;

static void obey(enum evil evil)
{
	static char noise[65536];

	memset(noise, 0x5a, sizeof(noise));
	switch (evil) {
	case CRASHES:
		raise(SIGSEGV);
		abort();
	case LOOPS:
		for (;;)
			__asm__ volatile("");
	case ENDS:
		_exit(3);
	case IS_QUIET:
		_exit(0);
	case TELLS_NOISE:
		_exit(write(MF_CONFINE_SOCKET, noise, 1000) != 1000);
	case FLOODS:
		while (write(MF_CONFINE_SOCKET, noise, sizeof(noise)) > 0)
			;
		_exit(0);
	case HARMLESS:
		return;
	}
}

/*
 * Called before each read of a file. In the test's own process, it counts the reads. In a child, it performs the action
 * selected by the last byte of the file.
 */
static void watch(int fd)
{
	struct stat status;
	uint8_t last = 0;

	if (!self || fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return;
	if (getpid() == self)
		reads_here++;
	else if (syscall(SYS_pread64, fd, &last, 1, status.st_size - 1) == 1)
		obey(last);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t offset)
{
	watch(fd);
	return syscall(SYS_pread64, fd, bytes, n, offset);
}

ssize_t pread64(int fd, void *bytes, size_t n, off_t offset)
{
	return pread(fd, bytes, n, offset);
}

ssize_t read(int fd, void *bytes, size_t n)
{
	watch(fd);
	return syscall(SYS_read, fd, bytes, n);
}

void *mmap(void *start, size_t n, int rights, int flags, int fd, off_t offset)
{
	watch(flags & MAP_ANONYMOUS ? -1 : fd);
	return (void *)syscall(SYS_mmap, start, n, rights, flags, fd, offset);
}

pid_t fork(void)
{
	static pid_t (*real)(void);

	if (refuses_fork) {
		errno = EAGAIN;
		return -1;
	}
	if (!real)
		real = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	return real();
}

static struct self_capture capture;
static struct mf_space space;
static struct mf_files files;
static struct mf_code code;
static struct mf_walk walked;
static void *expected[FRAMES];
static int n_expected;

static unsigned int n_told;
static char told_path[PATH_MAX], told_why[256];

static void hear_unreadable(const char *path, const char *why)
{
	n_told++;
	snprintf(told_path, sizeof(told_path), "%s", path);
	snprintf(told_why, sizeof(told_why), "%s", why);
}

/*
 * Captures the stack, whose innermost frame is that of this function. Does not call backtrace(), because that would
 * follow the hostile unwind rules in this process.
 */
static __attribute__((noinline)) void take(void)
{
	ucontext_t context;

	mf_space_deinit(&space);
	self_read_maps(&space, &files);
	getcontext(&context);
	self_capture(&capture, &context, &space, UINT64_MAX);
}

static int take_and_compare(const void *a, const void *b)
{
	n_expected = backtrace(expected, FRAMES);
	take();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int number)
{
	int numbers[] = { 5, 3 };

	qsort(numbers, 2, sizeof(numbers[0]), take_and_compare);
}

static __attribute__((noinline)) int in_a_handler(void)
{
	raise(SIGUSR1);
	return n_expected;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Walks the captured stack. @files retains what earlier walks read. */
static uint32_t walk(void)
{
	struct mf_unwinder *unwinder;

	if (mf_unwinder_create(&space, &files, &code, &unwinder, NULL))
		return 0;
	self = getpid();
	mf_unwinder_walk(unwinder, &capture.stack, FRAMES, &walked);
	self = 0;
	mf_unwinder_destroy(unwinder);
	return walked.n;
}

/* Returns whether the last walk found all the frames that libc's backtrace() listed when in_a_handler() was called. */
static bool is_whole(void)
{
	/*
	 * libc's backtrace() was called in take()'s caller, but the stack was captured in take(), so the unwound stack
	 * has one frame more than backtrace() listed.
	 */
	if (walked.n != (uint32_t)n_expected + 1 || walked.end != MF_UNWIND_OUTERMOST)
		return false;
	for (int i = 1; i < n_expected; i++) {
		uint64_t pc = (uint64_t)expected[i];

		/*
		 * The walk subtracts 1 from return addresses only. The address at which the signal interrupted the
		 * program is not a return address.
		 */
		if (walked.addresses[i + 1] != pc - 1 && walked.addresses[i + 1] != pc)
			return false;
	}
	return true;
}

FIXTURE(confined) {
	void *library;
};

FIXTURE_SETUP(confined)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	mf_space_init(&space);
	mf_files_init(&files);
	files.unreadable = hear_unreadable;
	n_told = 0;
	reads_here = 0;
	refuses_fork = false;
}

FIXTURE_TEARDOWN(confined)
{
	if (self->library)
		dlclose(self->library);
	mf_space_deinit(&space);
	mf_files_deinit(&files);
	mf_code_deinit(&code);
	unlink(LIBRARY);
}

static void forget_files(void)
{
	mf_files_deinit(&files);
	files.unreadable = hear_unreadable;
}

/*
 * Three things are read from objects, always by child processes: the unwind rules, the bytes of the code to which a
 * signal handler returns, and the entry point.
 */
TEST_F_TIMEOUT(confined, objects_are_not_read_here, 120)
{
	in_a_handler();
	walk();
	EXPECT_TRUE(is_whole()) {
		TH_LOG("%u frames of %d", walked.n, n_expected + 1);
	}
	EXPECT_EQ(0, reads_here);
	EXPECT_EQ(0, n_told);

	/*
	 * Check that the test notices when this process reads object files: without confinement, it reads them itself
	 * rather than having a child read them.
	 */
	forget_files();
	files.options.unconfined = true;
	in_a_handler();
	walk();
	EXPECT_TRUE(is_whole());
	EXPECT_LT(0, reads_here);
}

/*
 * Copies the library @name to the file LIBRARY, appends @evil as its last byte, and opens the copy. That byte selects
 * what the process that reads the file does; see watch().
 */
static void *open_library(const char *name, enum evil evil)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), "cp '%s/selftests/targets/%s' " LIBRARY " && printf '\\%o' >>" LIBRARY,
		 getenv("MASSIF_BUILD"), name, (unsigned int)evil);
	if (system(command))
		return NULL;
	return dlopen("./" LIBRARY, RTLD_NOW);
}

static int take_in_library(void)
{
	take();
	return 1;
}

/*
 * Unwind rules that would crash libunwind or make it loop. The only effect must be that the callers of the object's
 * function are missing from the stack.
 */
TEST_F_TIMEOUT(confined, rules_that_harm_their_reader, 60)
{
	static const char *const names[] = { "hostile_loop", "hostile_division", "hostile_not" };
	int (*call)(int (*)(void));

	self->library = open_library("libpages_hostile.so", HARMLESS);
	ASSERT_NE(NULL, self->library) {
		TH_LOG("%s", dlerror());
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bool harmless = i == 2;

		call = (int (*)(int (*)(void)))dlsym(self->library, names[i]);
		ASSERT_NE(NULL, call);
		call(take_in_library);
		walk();
		/*
		 * The walk finds at least the three innermost frames: take(), take_in_library() and the library's
		 * function.
		 */
		ASSERT_LE(3, walked.n);
		EXPECT_LT(walked.addresses[2] - (uint64_t)call, 16);
		EXPECT_EQ(harmless, walked.n > 3) {
			TH_LOG("%s: %u frames", names[i], walked.n);
		}
		EXPECT_EQ(harmless ? MF_UNWIND_OUTERMOST : MF_UNWIND_CUT, walked.end);
		in_a_handler();
		walk();
		EXPECT_TRUE(is_whole());
	}
	EXPECT_EQ(0, n_told);
}

/*
 * If a file takes over, crashes or delays the child that is reading it, this is reported; other files are not affected.
 */
TEST_F_TIMEOUT(confined, files_that_harm_their_reader, 240)
{
	static const struct {
		enum evil evil;
		const char *why;
	} cases[] = {
		{ HARMLESS, NULL },
		{ CRASHES, "it is damaged: reading its unwind rules failed" },
		{ LOOPS, "reading its unwind rules took too long" },
		{ ENDS, "it is damaged: reading its unwind rules failed" },
		{ IS_QUIET, "it is damaged: reading its unwind rules failed" },
		{ TELLS_NOISE, "it is damaged: its unwind rules are invalid" },
		/* either of two reasons may be reported: reading took too long, or there are too many unwind rules */
		{ FLOODS, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool harmless = cases[i].evil == HARMLESS;
		int (*call)(int (*)(void));
		double start;

		forget_files();
		/*
		 * The time limit for reading a file. In cases that may reach the limit, it is shorter than the default,
		 * but long enough to read libc on a slow machine.
		 */
		files.options.patience_ms = cases[i].evil == LOOPS || cases[i].evil == FLOODS ? 5000 : 0;
		n_told = 0;
		self->library = open_library("libpages_hostile.so", cases[i].evil);
		ASSERT_NE(NULL, self->library);
		call = (int (*)(int (*)(void)))dlsym(self->library, "hostile_not");
		ASSERT_NE(NULL, call);
		for (int round = 0; round < 2; round++) {
			call(take_in_library);
			start = seconds();
			walk();
			EXPECT_GT(30.0, seconds() - start);
			ASSERT_LE(3, walked.n);
			EXPECT_LT(walked.addresses[2] - (uint64_t)call, 16);
			EXPECT_EQ(harmless, walked.n > 3) {
				TH_LOG("%x: %u frames", cases[i].evil, walked.n);
			}
			in_a_handler();
			walk();
			EXPECT_TRUE(is_whole());
		}
		EXPECT_EQ(!harmless, n_told) {
			TH_LOG("%x: %u times", cases[i].evil, n_told);
		}
		if (n_told) {
			EXPECT_NE(NULL, strstr(told_path, "/" LIBRARY));
			EXPECT_TRUE(!cases[i].why || !strcmp(cases[i].why, told_why)) {
				TH_LOG("%x: %s", cases[i].evil, told_why);
			}
		}
		EXPECT_EQ(0, reads_here);
		dlclose(self->library);
		self->library = NULL;
	}
}

/*
 * The total time spent reading files is limited. If earlier files have used up much of it, a file that delays the child
 * reading it gets only what is left.
 */
TEST_F_TIMEOUT(confined, files_that_harm_their_reader_one_after_another, 60)
{
	int (*call)(int (*)(void));
	double start;

	files.lost_ms = 20001;
	self->library = open_library("libpages_hostile.so", LOOPS);
	ASSERT_NE(NULL, self->library);
	call = (int (*)(int (*)(void)))dlsym(self->library, "hostile_not");
	ASSERT_NE(NULL, call);
	call(take_in_library);
	start = seconds();
	walk();
	EXPECT_GT(MF_BINARY_PATIENCE_MS / 1e3, seconds() - start);
	EXPECT_STREQ("reading its unwind rules took too long", told_why);
	EXPECT_LT(20900, files.lost_ms);
}

/* Opens libc's file. */
static struct mf_binary *open_libc(struct mf_held *held, const char **why)
{
	const struct mf_binary_options options = { .unconfined = false };
	Dl_info libc;

	if (!dladdr((void *)qsort, &libc))
		return NULL;
	return mf_binary_open(mf_held_take_path(held, libc.dli_fname), &options, why);
}

/*
 * If no child can be created, a privileged process does not read the file, and an unprivileged one reads it
 * itself.
 */
TEST_F(confined, where_no_process_can_be_started)
{
	struct mf_held *held = mf_held_create(4);
	struct mf_binary *binary;
	const char *why = NULL;
	int status;
	pid_t pid;

	if (geteuid())
		SKIP(return, "needs root");
	refuses_fork = true;
	EXPECT_EQ(NULL, open_libc(held, &why));
	ASSERT_NE(NULL, why);
	EXPECT_STREQ("cannot start a process to read its unwind rules", why);
	refuses_fork = false;
	pid = fork();
	if (!pid) {
		if (setresgid(PLAIN_USER, PLAIN_USER, PLAIN_USER) || setresuid(PLAIN_USER, PLAIN_USER, PLAIN_USER))
			_exit(2);
		refuses_fork = true;
		binary = open_libc(held, &why);
		_exit(binary && !why ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	mf_held_destroy(held);
}

/* mf_binary_read() gets the bytes of a file from a child, at any offset. */
TEST_F_TIMEOUT(confined, bytes_are_those_of_the_file, 120)
{
	struct mf_held *held = mf_held_create(4);
	struct mf_held_file *file;
	struct mf_binary *binary;
	uint8_t bytes[5000], truth[5000];
	const char *why = NULL;
	Dl_info libc;
	uint32_t seed = 1;

	ASSERT_NE(0, dladdr((void *)qsort, &libc));
	file = mf_held_take_path(held, libc.dli_fname);
	ASSERT_NE(NULL, file);
	binary = mf_binary_open(file, &files.options, &why);
	ASSERT_NE(NULL, binary);
	for (int i = 0; i < 200; i++) {
		uint64_t offset;
		size_t n;

		seed = seed * 1664525 + 1013904223;
		n = 1 + seed / 65536 % sizeof(bytes);
		offset = i % 50 ? seed % (file->size - n) : file->size - n;
		ASSERT_TRUE(mf_binary_read(binary, offset, bytes, n));
		ASSERT_EQ((ssize_t)n, pread(file->fd, truth, n, (off_t)offset));
		ASSERT_EQ(0, memcmp(bytes, truth, n));
		EXPECT_FALSE(mf_binary_read(binary, file->size - n + 1, bytes, n));
	}
	EXPECT_FALSE(mf_binary_read(binary, UINT64_MAX, bytes, 2));
	EXPECT_TRUE(mf_binary_read(binary, 7, bytes, 0));
	mf_binary_close(binary);
	mf_held_destroy(held);
}

/* Damaged summaries of an ELF file, like those that a compromised child might send to massif-ctl. */
TEST_F_TIMEOUT(confined, damaged_summaries, 120)
{
	struct mf_held *held = mf_held_create(4);
	struct mf_held_file *file;
	struct mf_elf_file *elf;
	struct mf_elf_summary *summary, *copy;
	uint32_t seed = 1, sound = 0, found_some = 0;
	size_t size;

	self->library = open_library("libpages_hostile.so", HARMLESS);
	file = mf_held_take_path(held, LIBRARY);
	ASSERT_NE(NULL, file);
	elf = mf_elf_file_open(file);
	ASSERT_NE(NULL, elf);
	summary = mf_elf_summary_make(elf, &size);
	ASSERT_NE(NULL, summary);
	ASSERT_TRUE(mf_elf_summary_is_sound(summary, size));
	EXPECT_FALSE(mf_elf_summary_is_sound(summary, size - 8));
	EXPECT_FALSE(mf_elf_summary_is_sound(summary, 0));
	copy = malloc(size);
	for (unsigned int round = 0; round < 100000; round++) {
		struct mf_cfi_found found;
		uint64_t address;
		struct mf_cfi cfi;

		memcpy(copy, summary, size);
		for (unsigned int i = 0; i < 1 + round % 4; i++) {
			seed = seed * 1664525 + 1013904223;
			((uint8_t *)copy)[seed / 256 % size] ^= (uint8_t)(1u << (seed >> 29));
		}
		if (!mf_elf_summary_is_sound(copy, size))
			continue;
		sound++;
		cfi = mf_elf_summary_cfi(copy);
		mf_elf_summary_address(copy, seed, &address);
		for (int table = 0; table < MF_CFI_TABLES; table++)
			for (uint32_t i = 0; i < cfi.n_entries[table]; i++)
				found_some += mf_cfi_find(&cfi, cfi.base + cfi.entries[table][i].start, &found);
	}
	EXPECT_LT(1000, sound);
	EXPECT_GT(99000, sound);
	EXPECT_LT(1000, found_some);
	free(copy);
	free(summary);
	mf_elf_file_close(elf);
	mf_held_destroy(held);
}

TEST_HARNESS_MAIN
