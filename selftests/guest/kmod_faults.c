// SPDX-License-Identifier: GPL-2.0
// Makes calls fail inside the kernel: the n-th memory allocation or user-space copy during a call fails, for every n
// that the call reaches.
//
// Needs a kernel with /proc/PID/fail-nth, such as the debug kernel. Each injected failure must make the call return an
// error or make the module count a loss. The call must work when repeated, and the accounting must be exact after a
// resync. kmemleak finds leaks.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/fail_nth.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(16 << 20)
#define SMALL	(64 << 10)
#define STACK	4096
#define KNOWN	(64 << 10)
#define PAGE	4096UL

/* Upper limit for the number of allocations or copies made by a call. If a call makes more, the test fails. */
#define MOST	5000

FIXTURE(faults)
{
	int nth;
	struct kmod_session session;	/* a session opened only to keep all hooks armed */
	struct kmod_model model;
};

static int open_with_all(struct kmod_session *session)
{
	struct massif_setup setup = {
		.flags = MASSIF_SETUP_RESIDENT,
		.ring_bytes = RING,
		.max_stack_bytes = STACK,
		.known_bytes = KNOWN,
	};

	return kmod_session_open_as(session, &setup);
}

FIXTURE_SETUP(faults)
{
	int err;

	self->nth = fail_nth_open();
	if (self->nth < 0)
		return;
	err = kmod_module_load("");
	ASSERT_TRUE(!err || err == -EEXIST);
	ASSERT_TRUE(fail_nth_prepare());
	kmod_model_init(&self->model);
	ASSERT_EQ(0, open_with_all(&self->session));
}

FIXTURE_TEARDOWN(faults)
{
	if (self->nth < 0)
		return;
	kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
	close(self->nth);
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
}

/*
 * Skips a test if the kernel cannot inject failures into calls. Must be the first line of each test, because a skip in
 * the fixture would not prevent the test from running.
 */
#define NEED_FAULTS() \
	do { \
		if (self->nth < 0) \
			SKIP(return, "this kernel cannot make calls fail: no /proc/PID/fail-nth"); \
	} while (0)

/*
 * Returns whether the model built from the records matches the kernel's state of process @pid. Requests a resync first
 * if necessary.
 */
static bool becomes_equal(struct kmod_session *session, struct kmod_model *model, pid_t pid)
{
	struct kmod_target *target;
	struct kmod_intervals now;
	uint32_t remaining = 0;
	char path[64];
	bool same;
	int tries;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	for (tries = 0; tries < 20; tries++) {
		kmod_session_read(session, kmod_model_apply, model);
		target = kmod_model_find(model, pid, 0);
		if (target && target->synced)
			break;
		if (kmod_session_resync(session, &remaining))
			return false;
	}
	if (!target || !target->synced || kmod_intervals_read(&now, path))
		return false;
	same = kmod_intervals_equal(&now, &target->map);
	kmod_intervals_destroy(&now);
	return same;
}

static int exit_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The state that each call in the table below operates on: a session, a descriptor and a child process. */
struct scene {
	struct kmod_session *session;
	int fd;
	void *mapped;
	pid_t child;
	uint32_t number;
};

static int have_child(struct scene *scene)
{
	scene->child = fork();
	while (!scene->child)
		pause();
	return scene->child < 0 ? errno : 0;
}

static void end_child(struct scene *scene)
{
	kill(scene->child, SIGKILL);
	waitpid(scene->child, NULL, 0);
}

static int do_open(struct scene *scene)
{
	scene->fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	return scene->fd < 0 ? errno : 0;
}

static int do_close(struct scene *scene)
{
	return scene->fd >= 0 && close(scene->fd) ? errno : 0;
}

static int set_up(struct scene *scene, uint64_t flags, uint32_t known_bytes)
{
	struct massif_setup setup = {
		.size = sizeof(setup),
		.abi = MASSIF_ABI,
		.flags = flags,
		.ring_bytes = SMALL,
		.max_stack_bytes = STACK,
		.known_bytes = known_bytes,
	};

	return ioctl(scene->fd, MASSIF_IOC_SETUP, &setup) ? errno : 0;
}

static int do_setup(struct scene *scene)
{
	return set_up(scene, 0, KNOWN);
}

static int do_setup_resident(struct scene *scene)
{
	return set_up(scene, MASSIF_SETUP_RESIDENT, KNOWN);
}

static int have_setup(struct scene *scene)
{
	return do_open(scene) ?: do_setup(scene);
}

static int do_mmap(struct scene *scene)
{
	scene->mapped = mmap(NULL, SMALL, PROT_READ, MAP_SHARED, scene->fd,
			     MASSIF_MMAP_DATA * PAGE);
	return scene->mapped == MAP_FAILED ? errno : 0;
}

static int undo_mmap(struct scene *scene)
{
	return munmap(scene->mapped, SMALL) || do_close(scene);
}

static int do_attach(struct scene *scene)
{
	struct massif_attach attach = { .size = sizeof(attach), .pid = scene->child };

	return ioctl(scene->session->fd, MASSIF_IOC_ATTACH, &attach) ? errno : 0;
}

static int have_member(struct scene *scene)
{
	return have_child(scene) ?: do_attach(scene);
}

static int do_resync(struct scene *scene)
{
	struct massif_resync resync = { .size = sizeof(resync), .flags = MASSIF_RESYNC_ALL };

	return ioctl(scene->session->fd, MASSIF_IOC_RESYNC, &resync) ? errno : 0;
}

static int do_status(struct scene *scene)
{
	struct massif_status status = { .size = sizeof(status) };

	return ioctl(scene->session->fd, MASSIF_IOC_STATUS, &status) ? errno : 0;
}

static int do_hook(struct scene *scene)
{
	struct massif_hook_info info = { .size = sizeof(info) };

	return ioctl(scene->session->fd, MASSIF_IOC_HOOK, &info) ? errno : 0;
}

static int do_known(struct scene *scene)
{
	struct {
		struct massif_stack_cache_stack head;
		struct massif_stack_cache_word words[3];
	} told = {
		.head = {
			.size = sizeof(told),
			.target = 1,
			.number = ++scene->number,
			.pc = scene->number * 64,
			.sp = 0x7000,
			.nr_regs = 1,
			.nr_slots = 2,
		},
	};
	int taken = kmod_session_tell(scene->session, &told, sizeof(told));

	if (taken < 0)
		return -taken;
	return taken == 1 ? 0 : EPROTO;
}

/*
 * A system call into which failures are injected. have() sets up what the call needs, and undo() reverses the call's
 * effect; both run without injected failures, and either may be NULL. If the call failed only in copying its result to
 * the caller, it has taken effect nevertheless, and repeating it returns @done.
 */
static const struct call {
	const char *name;
	int (*have)(struct scene *scene);
	int (*run)(struct scene *scene);
	int (*undo)(struct scene *scene);
	int done;
	unsigned int least;	/* minimum number of failures that must be injected */
} calls[] = {
	{ "open", NULL, do_open, do_close, 0, 1 },
	{ "SETUP", do_open, do_setup, do_close, EBUSY, 20 },
	{ "SETUP of a session with resident pages", do_open, do_setup_resident, do_close, EBUSY, 20 },
	{ "mmap", have_setup, do_mmap, undo_mmap, 0, 2 },
	{ "close", have_setup, do_close, NULL, 0, 0 },
	{ "ATTACH", have_child, do_attach, NULL, EBUSY, 3 },
	{ "RESYNC", have_member, do_resync, NULL, 0, 2 },
	{ "STATUS", NULL, do_status, NULL, 0, 2 },
	{ "HOOK", NULL, do_hook, NULL, 0, 2 },
	{ "KNOWN", NULL, do_known, NULL, 0, 4 },
};

static bool expected(int err)
{
	return !err || err == ENOMEM || err == EFAULT;
}

TEST_F_TIMEOUT(faults, of_each_call, 600)
{
	size_t i;

	NEED_FAULTS();
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *call = &calls[i];
		unsigned int n, failures = 0;
		bool failed = true;

		for (n = 1; failed && n < MOST; n++) {
			struct scene scene = { .session = &self->session, .fd = -1, .child = -1 };
			int err;

			scene.number = n;
			ASSERT_EQ(0, call->have ? call->have(&scene) : 0);
			fail_nth(self->nth, n);
			err = call->run(&scene);
			failed = fail_nth_ended(self->nth);
			failures += failed;
			EXPECT_TRUE(expected(err)) {
				TH_LOG("%s: %s at %u", call->name, strerror(err), n);
			}
			EXPECT_TRUE(failed || !err);
			if (err) {
				int again = call->run(&scene);

				EXPECT_TRUE(!again || (err == EFAULT && again == call->done)) {
					TH_LOG("%s again: %s at %u", call->name, strerror(again), n);
				}
			}
			if (scene.child > 0) {
				EXPECT_TRUE(becomes_equal(&self->session, &self->model,
							  scene.child)) {
					TH_LOG("%s at %u", call->name, n);
				}
				end_child(&scene);
			}
			EXPECT_EQ(0, call->undo ? call->undo(&scene) : 0);
		}
		EXPECT_FALSE(failed);
		EXPECT_LE(call->least, failures);
		TH_LOG("%s: %u failures", call->name, failures);
	}
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

/*
 * Enrols the calling process while its @n-th allocation or copy fails. Returns 0 if no failure was injected, 1 if one
 * was, and another value on an error.
 */
static int enrol_with(int fd, unsigned int n)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };
	int nth = fail_nth_open(), err;
	bool failed;

	fail_nth(nth, n);
	err = ioctl(fd, MASSIF_IOC_ENROL, &enrol) ? errno : 0;
	failed = fail_nth_ended(nth);
	if (!expected(err) || (err && !failed))
		return 2;
	if (err && ioctl(fd, MASSIF_IOC_ENROL, &enrol) && !(err == EFAULT && errno == EBUSY))
		return 3;
	munmap(mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
	return failed;
}

TEST_F_TIMEOUT(faults, of_enrol, 120)
{
	unsigned int n;
	int said = 1;

	NEED_FAULTS();
	for (n = 1; said == 1 && n < MOST; n++) {
		pid_t pid = fork();

		if (!pid)
			_exit(enrol_with(self->session.fd, n));
		said = exit_status(pid);
	}
	EXPECT_EQ(0, said);
	EXPECT_LE(4, n);
	TH_LOG("%u failures", n - 2);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

/* Operations that a profiled process performs while failures are injected. Each returns true if it has created a process. */
static bool op_mmap(int nth, unsigned int n)
{
	munmap(mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 3 * PAGE);
	return false;
}

static char *area;	/* 64 pages that the operations change */

static bool op_punch(int nth, unsigned int n)
{
	munmap(area + 8 * PAGE, PAGE);
	mmap(area + 8 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return false;
}

static bool op_mremap(int nth, unsigned int n)
{
	char *moved = mremap(area, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);

	if (moved != MAP_FAILED)
		munmap(moved, 64 * PAGE);
	mmap(area, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return false;
}

static bool op_mprotect(int nth, unsigned int n)
{
	mprotect(area + 20 * PAGE, PAGE, n & 1 ? PROT_NONE : PROT_READ);
	return false;
}

static bool op_brk(int nth, unsigned int n)
{
	if (sbrk(16 * PAGE) != (void *)-1)
		sbrk(-8 * (intptr_t)PAGE);
	return false;
}

static bool op_touch(int nth, unsigned int n)
{
	char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	for (i = 0; at != MAP_FAILED && i < 8; i++)
		at[i * PAGE] = 1;
	madvise(at, 4 * PAGE, MADV_DONTNEED);
	munmap(at, 8 * PAGE);
	return false;
}

static bool op_fork(int nth, unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		op_mmap(-1, 0);
		_exit(0);
	}
	/* Wait for the child: otherwise, failures during its exit would be counted as failures of the parent. */
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0;
}

/*
 * Runs an operation in a child process, in which the @n-th memory allocation or user-space copy (in either direction)
 * is made to fail.
 */
static bool in_a_child(void (*run)(void), unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		fail_nth(fail_nth_open(), n);
		run();
		_exit(99);
	}
	waitpid(pid, NULL, 0);
	return true;
}

static void exec_true(void)
{
	execl("/bin/true", "true", NULL);
}

static void just_exit(void)
{
	_exit(0);
}

static bool op_exec(int nth, unsigned int n)
{
	fail_nth(nth, 0);
	return in_a_child(exec_true, n);
}

static bool op_exit(int nth, unsigned int n)
{
	fail_nth(nth, 0);
	return in_a_child(just_exit, n);
}

static const struct op {
	const char *name;
	bool (*run)(int nth, unsigned int n);
	/*
	 * Number of times to perform the operation if the injected failures occur in a child process, where the test
	 * cannot see them. If it is 0, the operation is repeated until no more failures are injected.
	 */
	unsigned int rounds;
} ops[] = {
	{ "mmap", op_mmap },
	{ "a hole, filled", op_punch },
	{ "mremap", op_mremap },
	{ "mprotect", op_mprotect },
	{ "brk", op_brk },
	{ "faults", op_touch },
	{ "fork", op_fork },
	{ "exec", op_exec, 150 },
	{ "exit", op_exit, 10 },
};

/* Counters that the profiled process sends to the test after each operation. */
struct answer {
	uint32_t failures;
	uint32_t processes;	/* number of processes that the profiled process has created */
};

struct pipes {
	int ask[2];
	int answer[2];
};

/*
 * Unregisters the thread's rseq area, which the C library has registered. The kernel accesses this area after each
 * preemption and kills the thread if the access fails. An injected failure could hit this access, although rseq is not
 * part of the test.
 */
static bool leave_rseq(void)
{
	const size_t size = 32; /* size of the whole rseq area that the C library registers, including unused bytes */
	char *at = (char *)__builtin_thread_pointer() + __rseq_offset;

	return !__rseq_size || !syscall(SYS_rseq, at, size, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
}

static int member(void *arg)
{
	struct pipes *pipes = arg;
	int nth = fail_nth_open();
	uint8_t which;

	close(pipes->ask[1]);
	close(pipes->answer[0]);
	if (!leave_rseq())
		return 2;
	area = mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (read(pipes->ask[0], &which, 1) == 1) {
		struct answer answer = { 0 };
		const struct op *op = &ops[which];
		bool failed = true;
		unsigned int n;

		for (n = 1; op->rounds ? n <= op->rounds : failed && n < MOST; n++) {
			fail_nth(nth, n);
			answer.processes += op->run(nth, n);
			failed = fail_nth_ended(nth);
			answer.failures += failed;
		}
		if (write(pipes->answer[1], &answer, sizeof(answer)) != sizeof(answer))
			return 1;
	}
	return 0;
}

TEST_F_TIMEOUT(faults, of_what_a_member_does, 600)
{
	struct massif_status status;
	struct pipes pipes;
	uint8_t i;
	pid_t pid;

	NEED_FAULTS();
	ASSERT_EQ(0, pipe(pipes.ask));
	ASSERT_EQ(0, pipe(pipes.answer));
	pid = kmod_session_call(&self->session, member, &pipes);
	ASSERT_LT(0, pid);
	/*
	 * A profiled process that has been killed sends no answer. Close the test's copy of the pipe's write end, so
	 * that reading the answer then reaches end of file instead of blocking.
	 */
	close(pipes.answer[1]);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct answer answer;
		uint64_t forks = self->model.records[MASSIF_REC_FORK], unseen, lost;

		ASSERT_EQ(0, kmod_session_status(&self->session, &status));
		unseen = status.unseen;
		lost = status.lost;
		ASSERT_EQ(1, write(pipes.ask[1], &i, 1));
		ASSERT_EQ((ssize_t)sizeof(answer), read(pipes.answer[0], &answer, sizeof(answer))) {
			int end = 0;

			waitpid(pid, &end, 0);
			TH_LOG("%s: the member has died, status %#x", ops[i].name, end);
		}
		EXPECT_TRUE(becomes_equal(&self->session, &self->model, pid)) {
			TH_LOG("%s", ops[i].name);
		}
		EXPECT_EQ(0, self->model.wrong) {
			TH_LOG("%s: %s", ops[i].name, self->model.first_wrong);
		}
		ASSERT_EQ(0, kmod_session_status(&self->session, &status));
		forks = self->model.records[MASSIF_REC_FORK] - forks;
		/* Every created process is either recorded or counted as unseen or lost. */
		EXPECT_LE(answer.processes, forks + status.unseen - unseen + status.lost - lost) {
			TH_LOG("%s: %lu told of %u", ops[i].name, forks, answer.processes);
		}
		EXPECT_TRUE(ops[i].rounds || answer.failures);
		TH_LOG("%s: %u failures, %u processes, %lu lost, %lu unseen", ops[i].name,
		       answer.failures, answer.processes, (unsigned long)(status.lost - lost),
		       (unsigned long)(status.unseen - unseen));
	}
	close(pipes.ask[1]);
	EXPECT_EQ(0, exit_status(pid));
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_LT(0, status.captures_failed);
}

/*
 * In each round, one allocation or copy fails: number @n, counted from the start of the round. Returns the number for
 * the next round. All numbers up to 10 are tried; after that, the steps grow, because each round takes a long time (it
 * calls SETUP, or loads the module).
 */
static unsigned int next(unsigned int n)
{
	return n < 10 ? n + 1 : n + n / 3;
}

/*
 * Performs a SETUP without a stack cache, after a SETUP with a stack cache has failed with @err. The session must not
 * use a stack cache left behind by the failed SETUP. Returns whether the results are as expected.
 */
static bool sets_up_without_cache(struct scene *scene, int err)
{
	struct kmod_session session = { .fd = scene->fd };
	struct scene with_session = { .session = &session };
	int again = set_up(scene, MASSIF_SETUP_RESIDENT, 0);

	/* If only copying the answer has failed, the first SETUP has taken effect, with its stack cache. */
	if (err == EFAULT && again == EBUSY)
		return true;
	return !again && do_known(&with_session) == EOPNOTSUPP;
}

/*
 * No other session is open, so SETUP has to arm the hooks. This can fail as well, after SETUP has already created the
 * stack cache. With detours, SETUP then usually falls back to kretprobes and succeeds; without detours, it fails. When
 * it is repeated without an injected failure, it succeeds.
 */
TEST_F_TIMEOUT(faults, of_a_setup_that_arms, 900)
{
	static const char *const parameters[] = { "", "detours=0" };

	NEED_FAULTS();
	kmod_session_close(&self->session);
	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		unsigned int n, failures = 0;
		bool failed = true;

		ASSERT_EQ(0, kmod_module_unload_soon("massif"));
		ASSERT_EQ(0, kmod_module_load(parameters[i]));
		for (n = 1; failed && n < 4 * MOST; n = next(n)) {
			struct scene scene = { .fd = -1 };
			int err;

			ASSERT_EQ(0, do_open(&scene));
			fail_nth(self->nth, n);
			err = do_setup_resident(&scene);
			failed = fail_nth_ended(self->nth);
			failures += failed;
			EXPECT_TRUE(expected(err) || err == ENODEV) {
				TH_LOG("%s at %u", strerror(err), n);
			}
			EXPECT_TRUE(!err || sets_up_without_cache(&scene, err)) {
				TH_LOG("again, at %u", n);
			}
			EXPECT_EQ(0, do_close(&scene));
		}
		EXPECT_FALSE(failed);
		EXPECT_LE(20, failures);
		TH_LOG("'%s': %u tried, the last at %u", parameters[i], failures, n);
	}
	ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	ASSERT_EQ(0, kmod_module_load(""));
	ASSERT_EQ(0, open_with_all(&self->session));
}

/*
 * The module is loaded from memory, not from its file. If reading the file failed, the guest's network file system
 * might cache the error, and everything that needs the file would fail from then on.
 */
TEST_F_TIMEOUT(faults, of_loading_and_unloading, 600)
{
	unsigned int n, failures = 0;
	bool failed = true;
	size_t bytes;
	void *image;
	int err;

	NEED_FAULTS();
	image = kmod_module_read(&bytes);
	ASSERT_NE(NULL, image);
	kmod_session_close(&self->session);
	ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	for (n = 1; failed && n < 4 * MOST; n = next(n)) {
		fail_nth(self->nth, n);
		err = kmod_module_load_image(image, bytes, "");
		failed = fail_nth_ended(self->nth);
		failures += failed;
		EXPECT_TRUE(failed || !err) {
			TH_LOG("%s at %u", strerror(-err), n);
		}
		if (err) {
			EXPECT_EQ(-1, kmod_module_users()) {
				TH_LOG("%s at %u, but it is there", strerror(-err), n);
			}
			ASSERT_EQ(0, kmod_module_load_image(image, bytes, ""));
		}
		fail_nth(self->nth, n);
		err = kmod_module_unload("massif");
		fail_nth_ended(self->nth);
		if (err)
			ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	}
	EXPECT_FALSE(failed);
	free(image);
	EXPECT_LE(10, failures);
	TH_LOG("%u tried, the last at %u", failures, n);
	ASSERT_EQ(0, kmod_module_load(""));
	ASSERT_EQ(0, open_with_all(&self->session));
}

TEST_HARNESS_MAIN
