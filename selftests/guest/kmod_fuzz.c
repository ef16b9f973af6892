// SPDX-License-Identifier: GPL-2.0
// Fuzzes the module: an unprivileged user makes random calls to it and causes the events that it follows. Programs that
// reach new code are kept and mutated further.
//
// A program is a list of calls that one process executes, each encoded in four bytes. The process makes ioctls and, as
// a member of its own sessions, calls such as mmap, fork and exec. The test needs a kernel with KCOV, such as the debug
// kernel, so that the code reached can be recorded. An error either stops the kernel or appears in the kernel log.
// `make fuzz-kernel` runs the test for an hour.
//
// MASSIF_FUZZ_SECONDS is the duration (default 20), and MASSIF_FUZZ_SEED the first seed. The offsets reached in the
// module are written to the file MASSIF_FUZZ_REACHED, for vm/coverage.sh.
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/kcov.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/massif.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_calls.h"
#include "selftests/lib/kmod_module.h"

#define CALLS_MAX    48	     /* maximum number of calls in a program */
#define PROGRAMS_MAX 4096    /* maximum number of programs (sequences of calls) in the fuzzer's corpus */
#define TRACE_WORDS  (256 << 10)
#define PLACES	     (1 << 20) /* upper limit for the size of the module's code */
#define NOBODY	     65534
/* number of different code offsets in the module that even the shortest fuzzing run must reach */
#define LEAST	     300

struct program {
	unsigned int n;
	struct kmod_call calls[CALLS_MAX];
};

/* Most programs begin with these calls; without them, hardly any code is reached. */
static const struct program first = {
	.n = 8,
	.calls = {
		{ KMOD_CALL_OPEN, 0, 0, 0 },
		{ KMOD_CALL_SETUP, 0, 0x4b, 0 }, /* a session with resident pages and known stacks */
		{ KMOD_CALL_MAP_DEVICE, 0x00, 0x00, 0 }, /* maps the control page */
		{ KMOD_CALL_MAP_DEVICE, 0x10, 0x20, 1 }, /* maps the consumer page */
		{ KMOD_CALL_MAP_DEVICE, 0x20, 0x04, 2 }, /* maps the data area of the ring */
		{ KMOD_CALL_ENROL, 0, 0, 0 },
		{ KMOD_CALL_MAP, 0, 9, 2 }, /* mmap with MAP_POPULATE */
		{ KMOD_CALL_CHANGE_MAP, 0, 30, 1 }, /* grows the mapping with mremap */
	},
};

static void run_program(const struct program *program)
{
	for (unsigned int i = 0; i < program->n; i++)
		kmod_calls_make(&program->calls[i]);
}

FIXTURE(fuzz)
{
	int kcov, device;
	uint64_t *trace;
	unsigned long start, end; /* address range of the module's code */
	/*
	 * coverage map of the module's code: one byte per code offset, set to 1 once a program has reached that offset
	 */
	uint8_t *reached;
	unsigned int n_reached;
	uint32_t state;
	struct program *kept;
	unsigned int n_kept;
	uint64_t n_run, n_killed;
	pid_t victim;
};

static uint32_t below(uint32_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % n;
}

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static unsigned long section_start(void)
{
	FILE *file = fopen("/sys/module/massif/sections/.text", "r");
	unsigned long start = 0;

	if (file && fscanf(file, "%lx", &start) != 1)
		start = 0;
	if (file)
		fclose(file);
	return start;
}

/* Returns the size of the module according to /proc/modules. The code is at its start. */
static unsigned long module_size(void)
{
	FILE *file = fopen("/proc/modules", "r");
	char name[64];
	unsigned long size = 0, found = 0;

	while (file && fscanf(file, "%63s %lu%*[^\n]", name, &size) == 2)
		if (!strcmp(name, "massif"))
			found = size;
	if (file)
		fclose(file);
	return found;
}

/* Starts a process to attach to, which maps and unmaps memory from time to time. */
static pid_t start_victim(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	for (;;) {
		kmod_calls_map_some(0x13);
		usleep(10000);
	}
}

static int open_kcov(void)
{
	if (access("/sys/kernel/debug/kcov", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	return open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
}

FIXTURE_SETUP(fuzz)
{
	int err;

	self->kcov = open_kcov();
	self->device = -1;
	if (self->kcov < 0)
		return;
	err = kmod_module_load("");
	ASSERT_TRUE(!err || err == -EEXIST);
	ASSERT_EQ(0, chmod(MASSIF_DEVICE, 0666));
	ASSERT_EQ(0, ioctl(self->kcov, KCOV_INIT_TRACE, TRACE_WORDS));
	self->trace = mmap(NULL, TRACE_WORDS * sizeof(self->trace[0]), PROT_READ | PROT_WRITE, MAP_SHARED, self->kcov, 0);
	ASSERT_NE(MAP_FAILED, self->trace);
	self->start = section_start();
	self->end = self->start + module_size();
	ASSERT_NE(0, self->start);
	ASSERT_LT(self->end - self->start, PLACES);
	self->reached = calloc(1, PLACES);
	self->kept = calloc(PROGRAMS_MAX, sizeof(self->kept[0]));
	ASSERT_TRUE(self->reached && self->kept);
	self->state = (uint32_t)setting("MASSIF_FUZZ_SEED", 1) | 1;
	self->victim = start_victim();
}

FIXTURE_TEARDOWN(fuzz)
{
	if (self->kcov < 0)
		return;
	kill(self->victim, SIGKILL);
	waitpid(self->victim, NULL, 0);
	close(self->device);
	close(self->kcov);
	free(self->reached);
	free(self->kept);
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

/* Keeps a session open, so that all hooks stay armed; otherwise each program would wait for them to be armed. */
static void hold_hooks(FIXTURE_DATA(fuzz) *self, bool hold)
{
	struct massif_setup setup = {
		.size = sizeof(setup), .abi = MASSIF_ABI, .flags = MASSIF_SETUP_RESIDENT, .ring_bytes = 64 << 10,
	};

	close(self->device);
	self->device = -1;
	if (!hold)
		return;
	self->device = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	ioctl(self->device, MASSIF_IOC_SETUP, &setup);
}

/* Runs in a child: drops privileges, sets limits, and ends after five seconds. */
static void become_program(FIXTURE_DATA(fuzz) *self)
{
	struct rlimit processes = { 200, 200 }, locked = { 64 << 20, 64 << 20 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_NPROC, &processes);
	setrlimit(RLIMIT_MEMLOCK, &locked);
	close(self->device);
	kmod_calls_begin(self->victim);
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

/*
 * Waits for the process and returns its status. Has a timeout, because the process may have stopped itself or be
 * blocked.
 */
static int wait_for(FIXTURE_DATA(fuzz) *self, pid_t pid)
{
	int status = 0;

	for (int i = 0; i < 3000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(i < 100 ? 500 : 10000);
	}
	kill(pid, SIGKILL);
	self->n_killed++;
	waitpid(pid, &status, 0);
	return status;
}

/* Runs @program. Returns the number of code offsets that were reached for the first time. */
static unsigned int try_program(FIXTURE_DATA(fuzz) *self, const struct program *program)
{
	unsigned int before = self->n_reached;
	uint64_t n;
	pid_t pid = fork();

	if (pid < 0)
		return 0;
	if (!pid) {
		become_program(self);
		if (ioctl(self->kcov, KCOV_ENABLE, KCOV_TRACE_PC))
			_exit(2);
		__atomic_store_n(&self->trace[0], 0, __ATOMIC_RELAXED);
		run_program(program);
		/*
		 * KCOV stays enabled until the thread ends, so that the effects of an exec, or of closing
		 * descriptors, are included.
		 */
		if (program->n % 2)
			execv("/bin/true", (char *const[]){ "true", NULL });
		kmod_calls_end();
		_exit(0);
	}
	wait_for(self, pid);
	kill(self->victim, SIGCONT);
	self->n_run++;
	n = __atomic_load_n(&self->trace[0], __ATOMIC_RELAXED);
	for (uint64_t i = 1; i <= n && i < TRACE_WORDS; i++) {
		unsigned long at = self->trace[i];

		if (at < self->start || at >= self->end || self->reached[at - self->start])
			continue;
		self->reached[at - self->start] = 1;
		self->n_reached++;
	}
	return self->n_reached - before;
}

static struct kmod_call any_call(uint32_t *state)
{
	return (struct kmod_call){ (uint8_t)below(state, KMOD_CALLS), (uint8_t)below(state, 256), (uint8_t)below(state, 256),
			      (uint8_t)below(state, 256) };
}

static void insert_call(struct program *program, unsigned int at, struct kmod_call call)
{
	if (program->n == CALLS_MAX)
		return;
	memmove(&program->calls[at + 1], &program->calls[at], (program->n - at) * sizeof(call));
	program->calls[at] = call;
	program->n++;
}

static void remove_call(struct program *program, unsigned int at)
{
	program->n--;
	memmove(&program->calls[at], &program->calls[at + 1], (program->n - at) * sizeof(program->calls[0]));
}

/* Returns a mutated copy of a program from the corpus. */
static struct program change(FIXTURE_DATA(fuzz) *self)
{
	uint32_t *state = &self->state;
	struct program program = self->kept[below(state, self->n_kept)];
	const struct program *other = &self->kept[below(state, self->n_kept)];

	for (unsigned int i = 0; i <= below(state, 5); i++) {
		unsigned int at = below(state, program.n);
		struct kmod_call *call = &program.calls[at];

		switch (below(state, 8)) {
		case 0:
		case 1:
			insert_call(&program, below(state, program.n + 1), any_call(state));
			break;
		case 2:
			if (program.n > 1)
				remove_call(&program, at);
			break;
		case 3:
			call->a = (uint8_t)below(state, 256);
			break;
		case 4:
			call->b ^= (uint8_t)(1u << below(state, 8));
			break;
		case 5:
			call->c = (uint8_t)below(state, 256);
			break;
		case 6:
			insert_call(&program, below(state, program.n + 1), *call);
			break;
		case 7:
			for (unsigned int j = below(state, other->n); j < other->n; j++)
				insert_call(&program, program.n, other->calls[j]);
			break;
		}
	}
	return program;
}

static void keep(FIXTURE_DATA(fuzz) *self, const struct program *program)
{
	if (self->n_kept < PROGRAMS_MAX)
		self->kept[self->n_kept++] = *program;
	else
		self->kept[below(&self->state, PROGRAMS_MAX)] = *program;
}

static void write_reached(FIXTURE_DATA(fuzz) *self)
{
	const char *path = getenv("MASSIF_FUZZ_REACHED");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	for (unsigned long at = 0; at < self->end - self->start; at++)
		if (self->reached[at])
			fprintf(file, "%lx\n", at);
	fclose(file);
}

/* Runs random programs for MASSIF_FUZZ_SECONDS. Errors appear in the kernel's log, or stop the kernel. */
TEST_F_TIMEOUT(fuzz, any_calls, 40000)
{
	time_t end = time(NULL) + (time_t)setting("MASSIF_FUZZ_SECONDS", 20), told = time(NULL);
	struct program program = first;

	if (self->kcov < 0)
		SKIP(return, "this kernel has no KCOV");
	TH_LOG("seed %lu", setting("MASSIF_FUZZ_SEED", 1));
	hold_hooks(self, true);
	try_program(self, &program);
	keep(self, &program);
	while (time(NULL) < end) {
		/*
		 * In some rounds, close the test's own session, so that the hooks are armed and disarmed when the
		 * random program opens and closes its sessions.
		 */
		bool alone = below(&self->state, 200) == 0;

		program = change(self);
		if (alone)
			hold_hooks(self, false);
		if (try_program(self, &program))
			keep(self, &program);
		if (alone)
			hold_hooks(self, true);
		if (time(NULL) >= told + 60) {
			told = time(NULL);
			TH_LOG("%" PRIu64 " programs, %u kept, %u places reached", self->n_run, self->n_kept, self->n_reached);
		}
	}
	TH_LOG("%" PRIu64 " programs, %" PRIu64 " of them ended by us, %u kept, %u places reached", self->n_run, self->n_killed,
	       self->n_kept, self->n_reached);
	write_reached(self);
	EXPECT_GT(self->n_run, 10);
	EXPECT_GE(self->n_reached, LEAST);
}

TEST_HARNESS_MAIN
