// SPDX-License-Identifier: GPL-2.0
// massif-ctl attach --heap is killed by SIGKILL before and after each of its steps: the program lives on as if nothing had
// happened, and can be attached to again.
//
// Each test takes every MASSIF_STRIDE'th of these moments (default 5) and begins at another one, so that together the
// eight tests take each. With 1, each test takes all.

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

enum { SECONDS = 3600, SHARED_FD = 3, PATIENCE_MS = 20000, STEPS_MAX = 5000, AGAIN_EVERY = 8, WORKERS = 4, STRIDE = 5 };

/* Like the target's. */
struct shared {
	uint64_t rounds;
	int32_t failed;
	int32_t error;
	uint64_t pairs;
	int32_t profiled;
};

FIXTURE(killed) {
	struct ctl_result result;
	volatile struct shared *shared;
	int memory;
	pid_t target;
	char pid[16];
};

FIXTURE_SETUP(killed)
{
}

/* Also runs in a worker whose assertion has failed. */
FIXTURE_TEARDOWN(killed)
{
	if (self->target > 0)
		kill(self->target, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	ctl_result_free(&self->result);
}

/* Gives a worker a directory and a page of its own. */
static void set_up_worker(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, int worker)
{
	char name[16];

	snprintf(name, sizeof(name), "worker.%d", worker);
	ASSERT_TRUE(!mkdir(name, 0700) || errno == EEXIST);
	ASSERT_EQ(0, chdir(name));
	ctl_remove_files("massif.");
	ctl_remove_files("a.");
	self->memory = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate(self->memory, 4096));
	self->shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, self->memory, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
}

static void pass_time(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

/* Waits until the target has done @n more rounds, all of them right. */
static void expect_rounds(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, uint64_t n, const char *when,
			  long step)
{
	uint64_t until = self->shared->rounds + n;
	int status = 0;
	pid_t ended = 0;

	for (int i = 0; i < PATIENCE_MS * 2 && self->shared->rounds < until && !ended; i++) {
		pass_time();
		ended = waitpid(self->target, &status, WNOHANG);
	}
	if (ended)
		self->target = 0;
	ASSERT_EQ(0, ended) {
		TH_LOG("%s step %ld: status %x", when, step, (unsigned int)status);
	}
	ASSERT_LE(until, self->shared->rounds) {
		TH_LOG("%s step %ld: the program hangs", when, step);
	}
	ASSERT_EQ(0, self->shared->failed) {
		TH_LOG("%s step %ld: attach_killed.c:%d, errno %d", when, step, (int)self->shared->failed,
		       (int)self->shared->error);
	}
}

static void start(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, const char *word, const char *other)
{
	*(struct shared *)self->shared = (struct shared){ 0 };
	self->target = fork();
	if (!self->target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(self->memory, SHARED_FD) != SHARED_FD)
			_exit(98);
		fcntl(SHARED_FD, F_SETFD, 0);
		execl(ctl_target("attach_killed"), "attach_killed", word, other, NULL);
		_exit(99);
	}
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);
	expect_rounds(_metadata, self, 2, "before", 0);
}

static void stop(FIXTURE_DATA(killed) *self)
{
	kill(self->target, SIGKILL);
	waitpid(self->target, NULL, 0);
	self->target = 0;
}

static void to_file(void)
{
	int fd = open("a.err", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(fd, 2);
	dup2(fd, 1);
}

/* In massif-ctl: has the test stop it at each step that changes the process. */
static void be_watched(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	to_file();
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(97);
}

/* Waits for massif-ctl's next stop. Returns false if it has ended. */
static bool await(pid_t ctl, int *status)
{
	return waitpid(ctl, status, __WALL) == ctl && WIFSTOPPED(*status);
}

/*
 * Attaches for a moment. Kills massif-ctl at step @n: before the system call, or, if @after is true, when it has returned.
 * Returns whether it was killed; otherwise it has ended before that step.
 */
static bool attach_and_kill(FIXTURE_DATA(killed) *self, long n, bool after, int *status)
{
	const char *argv[] = { "massif-ctl", "attach", "--heap", self->pid, "--massif-out-file=a.out", "--duration=0.004",
			       NULL };
	const int options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
	pid_t ctl = ctl_start(be_watched, argv);
	bool is_first = true;

	while (await(ctl, status)) {
		int signal = WSTOPSIG(*status);

		if (is_first)
			ptrace(PTRACE_SETOPTIONS, ctl, 0, options);
		if (signal == (SIGTRAP | 0x80) || (*status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) && --n <= 0)) {
			if (signal != (SIGTRAP | 0x80) && after) {
				ptrace(PTRACE_SYSCALL, ctl, 0, 0);
				continue;
			}
			kill(ctl, SIGKILL);
			while (await(ctl, status))
				;
			return true;
		}
		ptrace(PTRACE_CONT, ctl, 0, *status >> 16 || is_first ? 0 : signal);
		is_first = false;
	}
	return false;
}

/* Whatever the attach that was killed has left, the next one succeeds, or says how to get the profile. */
static void attach_again(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, long step)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "attach", "--heap", self->pid, "--duration=0.004", "--massif-out-file=a.out");
	ASSERT_TRUE(!self->result.status || strstr(self->result.err, "massif-ctl rescue")) {
		TH_LOG("after step %ld: %s", step, self->result.err);
	}
	expect_rounds(_metadata, self, 2, "attached again after", step);
}

/* Attaches, and has the program keep the addresses of the shim's functions. */
static void profile_before(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self)
{
	const char *argv[] = { "massif-ctl", "attach", "--heap", self->pid, "--massif-out-file=a.out", NULL };
	uint64_t pairs;
	pid_t ctl;
	int status;

	unlink("a.err");
	ctl = ctl_start(to_file, argv);
	for (int i = 0; i < PATIENCE_MS * 2; i++) {
		char *text = ctl_read_file("a.err");
		bool attached = text && strstr(text, "attached to the heap");

		free(text);
		if (attached)
			break;
		pass_time();
	}
	self->shared->profiled = 1;
	pairs = self->shared->pairs;
	for (int i = 0; i < PATIENCE_MS * 2 && self->shared->pairs < pairs + 1000; i++)
		pass_time();
	self->shared->profiled = 0;
	kill(ctl, SIGINT);
	ASSERT_EQ(ctl, waitpid(ctl, &status, 0));
	ASSERT_EQ(0, status);
}

/* Kills massif-ctl at the moments @moment, @moment + @stride and so on, each time in another run. */
static void kill_at_moments(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, const char *word,
			    const char *other, long moment, long stride)
{
	bool killed = true, keeps = !strcmp(word, "keeps");
	long step = 0;
	int status = 0;

	for (long kills = 0; killed && step < STEPS_MAX; kills++, moment += stride) {
		bool after = moment % 2;

		step = 1 + moment / 2;
		start(_metadata, self, word, other);
		if (keeps)
			profile_before(_metadata, self);
		killed = attach_and_kill(self, step, after, &status);
		expect_rounds(_metadata, self, 2, after ? "killed after" : "killed before", step);
		if (kills % AGAIN_EVERY == 0)
			attach_again(_metadata, self, step);
		stop(self);
	}
	TH_LOG("%s: the attach had ended before step %ld", word, step);
	EXPECT_EQ(0, status);
	EXPECT_LT(100, step);
	EXPECT_GT(STEPS_MAX, step);
}

/*
 * Kills massif-ctl at every MASSIF_STRIDE'th moment from @moment on. Programs and massif-ctl mostly wait for each other and
 * for time to pass, so several workers share the moments among them.
 */
static void kill_everywhere(struct __test_metadata *_metadata, FIXTURE_DATA(killed) *self, const char *word,
			    const char *other, int moment)
{
	const char *text = getenv("MASSIF_STRIDE");
	long stride = text ? atol(text) : STRIDE;
	pid_t workers[WORKERS];

	ASSERT_LT(0, stride);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		ASSERT_LE(0, workers[i]);
		if (workers[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_up_worker(_metadata, self, i);
		kill_at_moments(_metadata, self, word, other, moment % stride + i * stride, WORKERS * stride);
		_exit(_metadata->passed ? 0 : 1);
	}
	for (int i = 0; i < WORKERS; i++) {
		int status;

		ASSERT_EQ(workers[i], waitpid(workers[i], &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("%s: worker %d failed", word, i);
		}
	}
}

TEST_F_TIMEOUT(killed, while_it_sleeps, SECONDS)
{
	kill_everywhere(_metadata, self, "sleeps", NULL, 0);
}

TEST_F_TIMEOUT(killed, while_it_polls, SECONDS)
{
	kill_everywhere(_metadata, self, "polls", NULL, 1);
}

TEST_F_TIMEOUT(killed, while_it_waits_for_a_futex, SECONDS)
{
	kill_everywhere(_metadata, self, "waits", NULL, 2);
}

TEST_F_TIMEOUT(killed, while_it_reads, SECONDS)
{
	kill_everywhere(_metadata, self, "reads", NULL, 3);
}

TEST_F_TIMEOUT(killed, while_it_waits_for_a_signal, SECONDS)
{
	kill_everywhere(_metadata, self, "suspends", NULL, 4);
}

TEST_F_TIMEOUT(killed, while_it_computes, SECONDS)
{
	kill_everywhere(_metadata, self, "spins", NULL, 5);
}

TEST_F_TIMEOUT(killed, while_it_computes_on_a_small_stack, SECONDS)
{
	kill_everywhere(_metadata, self, "spins", "small", 6);
}

/* The attach that is killed uses the copy of the shim once more that an earlier one has left, and that is in use. */
TEST_F_TIMEOUT(killed, while_it_uses_what_an_earlier_one_has_left, SECONDS)
{
	kill_everywhere(_metadata, self, "keeps", NULL, 7);
}

TEST_HARNESS_MAIN
