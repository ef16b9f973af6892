// SPDX-License-Identifier: GPL-2.0
// Tests calls that sleep in a hooked function while a session begins or ends, more such calls than the kretprobe has
// instances for, and an end that a kretprobe misses.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/process_state.h"

#define RING	(16 << 20)
#define PAGE	4096ul
/*
 * A kretprobe can track up to 256 calls at a time (CALLS in kmod/probe.c). MANY is a number of calls above that limit,
 * and BEYOND is how far it exceeds the limit.
 */
#define MANY	300
#define BEYOND	(MANY - 256)

/* Starts a process with or without a session; it is killed when the test ends. */
static pid_t start(struct kmod_session *session, int (*run)(void *), void *arg)
{
	pid_t pid;

	if (session)
		return kmod_session_call(session, run, arg);
	pid = fork();
	if (!pid)
		_exit(run(arg));
	return pid;
}

/* Maps /dev/massif-sleep, a device for tests: the mmap call sleeps until the test wakes it up. Then stays idle. */
static int map_and_stay(void *arg)
{
	int *device = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, *device, 0) == MAP_FAILED)
		return 1;
	for (;;)
		pause();
}

/* Maps /dev/massif-sleep, a device for tests: the mmap call sleeps until the test wakes it up. Then exits. */
static int map_and_end(void *arg)
{
	int *device = arg;
	void *at = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, *device, 0);

	return at == MAP_FAILED || munmap(at, 3 * PAGE);
}

FIXTURE(asleep)
{
	struct kmod_session session;
	struct kmod_model model;
	pid_t pids[MANY];
	int device;
};

FIXTURE_VARIANT(asleep)
{
	const char *parameters;
	/* expected kind of the hooks on system calls: MASSIF_HOOK_DETOUR or MASSIF_HOOK_KRETPROBE */
	uint32_t kind;
};

FIXTURE_VARIANT_ADD(asleep, in_detours) { "", MASSIF_HOOK_DETOUR };
FIXTURE_VARIANT_ADD(asleep, in_kretprobes) { "detours=0", MASSIF_HOOK_KRETPROBE };

FIXTURE_SETUP(asleep)
{
	struct massif_hook_info first = { .size = sizeof(first) };

	kmod_module_unload_soon("massif");
	ASSERT_EQ(0, kmod_module_load(variant->parameters));
	ASSERT_EQ(0, kmod_module_load_own("massif_sleep"));
	self->device = open("/dev/massif-sleep", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->device);
	ASSERT_EQ(1, write(self->device, "0", 1));
	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	ASSERT_EQ(0, ioctl(self->session.fd, MASSIF_IOC_HOOK, &first));
	ASSERT_EQ(variant->kind, first.kind);
}

FIXTURE_TEARDOWN(asleep)
{
	for (int i = 0; i < MANY; i++) {
		if (self->pids[i] <= 0)
			continue;
		kill(self->pids[i], SIGKILL);
		waitpid(self->pids[i], NULL, 0);
	}
	if (self->session.fd >= 0)
		kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
	close(self->device);
	EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	EXPECT_EQ(0, kmod_module_unload_soon("massif_sleep"));
}

/* Waits up to a minute until @wanted mmap calls of /dev/massif-sleep are asleep. Returns how many are. */
static int asleep(int device, int wanted)
{
	char text[16] = "";

	for (int i = 0; i < 6000; i++) {
		if (pread(device, text, sizeof(text) - 1, 0) > 0 && atoi(text) == wanted)
			break;
		usleep(10 * 1000);
	}
	return atoi(text);
}

static void wake_up(struct __test_metadata *_metadata, int device)
{
	ASSERT_EQ(1, write(device, "1", 1));
	ASSERT_EQ(0, asleep(device, 0));
}

/*
 * Returns whether the mappings of process @pid in @model, which was built from the records, equal those in
 * /proc/PID/maps. If a session has attached to the process twice, the process has two targets, and the later one is
 * used.
 */
static bool equals_maps(struct kmod_model *model, pid_t pid)
{
	struct kmod_target *target = NULL;
	struct kmod_intervals truth;
	char path[64];
	bool same;

	for (size_t i = 0; i < model->count; i++)
		if (model->targets[i].tgid == (uint32_t)pid)
			target = &model->targets[i];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (!target || !target->synced || kmod_intervals_read(&truth, path))
		return false;
	same = kmod_intervals_equal(&truth, &target->map);
	kmod_intervals_destroy(&truth);
	return same;
}

/*
 * A session ends and the module is unloaded while two mmap() calls are sleeping. Later, the process that made one of
 * the calls is killed, and the other call succeeds. Unloading must wait for calls that are executing in one of the
 * module's wrapper functions, but not for calls whose return a kretprobe is waiting to intercept.
 */
TEST_F_TIMEOUT(asleep, when_the_module_is_to_go, 60)
{
	bool holds = variant->kind == MASSIF_HOOK_DETOUR;
	int status;

	self->pids[0] = start(&self->session, map_and_end, &self->device);
	self->pids[1] = start(&self->session, map_and_end, &self->device);
	ASSERT_EQ(2, asleep(self->device, 2));
	kmod_session_close(&self->session);
	for (int i = 0; i < 10; i++) {
		EXPECT_EQ(2, asleep(self->device, 2));
		EXPECT_EQ(holds ? 2 : 0, kmod_module_users());
		if (holds)
			EXPECT_EQ(-EWOULDBLOCK, kmod_module_unload("massif"));
		usleep(10 * 1000);
	}
	if (!holds)
		EXPECT_EQ(0, kmod_module_unload("massif"));

	kill(self->pids[1], SIGKILL);
	EXPECT_EQ(self->pids[1], waitpid(self->pids[1], NULL, 0));
	self->pids[1] = 0;
	if (holds)
		EXPECT_EQ(-EWOULDBLOCK, kmod_module_unload("massif"));
	wake_up(_metadata, self->device);
	EXPECT_EQ(self->pids[0], waitpid(self->pids[0], &status, 0));
	self->pids[0] = 0;
	EXPECT_EQ(0, status);
	if (holds)
		EXPECT_EQ(0, kmod_module_unload_soon("massif"));
	ASSERT_EQ(0, kmod_module_load(variant->parameters));
}

static pid_t start_resync(struct kmod_session *session)
{
	struct massif_resync arg = { .size = sizeof(arg), .flags = MASSIF_RESYNC_ALL };
	pid_t pid = fork();

	if (!pid)
		_exit(ioctl(session->fd, MASSIF_IOC_RESYNC, &arg) ? errno : 0);
	usleep(200 * 1000);
	return pid;
}

/* Kills the process. Returns whether it was still running beforehand and ended soon. */
static bool can_be_killed(pid_t *pid)
{
	if (waitpid(*pid, NULL, WNOHANG))
		return false;
	kill(*pid, SIGKILL);
	for (unsigned int i = 0; i < 500 * patience(); i++) {
		if (waitpid(*pid, NULL, WNOHANG) == *pid) {
			*pid = 0;
			return true;
		}
		usleep(10 * 1000);
	}
	return false;
}

/* A program can hold its own mmap lock indefinitely, so a consumer that requests a resync has to wait. */
static void resync_and_be_killed(struct __test_metadata *_metadata, pid_t *pids, int device, uint64_t flags)
{
	struct massif_setup setup = { .ring_bytes = 1 << 20, .flags = flags };
	struct kmod_session session;

	ASSERT_EQ(0, kmod_session_open_as(&session, &setup));
	/*
	 * An invalid tail makes the module treat the ring as full, so it does not list the process's mappings when the
	 * process enrols.
	 */
	session.consumer->tail = 1;
	pids[0] = start(&session, map_and_stay, &device);
	ASSERT_EQ(1, asleep(device, 1));
	session.consumer->tail = 0;

	pids[1] = start_resync(&session);
	pids[2] = start_resync(&session);
	/* The second process that requests a resync (pids[2]) waits for the first (pids[1]). */
	EXPECT_TRUE(can_be_killed(&pids[2]));
	EXPECT_TRUE(can_be_killed(&pids[1]));

	kill(pids[0], SIGKILL);
	for (int i = 0; i < 3; i++) {
		if (pids[i])
			waitpid(pids[i], NULL, 0);
		pids[i] = 0;
	}
	kmod_session_close(&session);
}

TEST_F_TIMEOUT(asleep, when_asked_for_a_resync, 60)
{
	resync_and_be_killed(_metadata, self->pids, self->device, 0);
}

TEST_F_TIMEOUT(asleep, when_asked_for_a_resync_with_resident_pages, 60)
{
	struct massif_query query = { .size = sizeof(query) };

	ASSERT_EQ(0, ioctl(self->session.fd, MASSIF_IOC_QUERY, &query));
	if (!(query.features & MASSIF_FEATURE_RESIDENT))
		SKIP(return, "this kernel has no CONFIG_MMU_NOTIFIER");
	resync_and_be_killed(_metadata, self->pids, self->device, MASSIF_SETUP_RESIDENT);
}

/* Attaching waits for a call that began earlier, so that none of its effects are missed. */
TEST_F_TIMEOUT(asleep, when_attached_to, 60)
{
	struct massif_attach arg = { .size = sizeof(arg) };
	int status;

	self->pids[0] = start(NULL, map_and_stay, &self->device);
	ASSERT_EQ(1, asleep(self->device, 1));
	arg.pid = self->pids[0];
	self->pids[1] = fork();
	if (!self->pids[1])
		_exit(ioctl(self->session.fd, MASSIF_IOC_ATTACH, &arg) ? errno : 0);
	/*
	 * The process that is blocked in ATTACH can be killed. This ends only its own ATTACH; another process can still
	 * attach.
	 */
	usleep(200 * 1000);
	EXPECT_EQ(0, waitpid(self->pids[1], NULL, WNOHANG));
	kill(self->pids[1], SIGKILL);
	EXPECT_EQ(self->pids[1], waitpid(self->pids[1], NULL, 0));

	self->pids[1] = fork();
	if (!self->pids[1])
		_exit(ioctl(self->session.fd, MASSIF_IOC_ATTACH, &arg) ? errno : 0);
	usleep(200 * 1000);
	EXPECT_EQ(0, waitpid(self->pids[1], NULL, WNOHANG));
	wake_up(_metadata, self->device);
	EXPECT_EQ(self->pids[1], waitpid(self->pids[1], &status, 0));
	self->pids[1] = 0;
	EXPECT_EQ(0, status);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equals_maps(&self->model, self->pids[0]));
	EXPECT_EQ(0, self->model.wrong + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

struct pair {
	int device;
	int told[2];
};

static int stay(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (pause())
		;
	return 0;
}

/* Starts a process that uses the same address space, tells its id, and then does the same as map_and_stay(). */
static int map_beside_another(void *arg)
{
	static char stack[16384] __attribute__((aligned(16)));
	struct pair *pair = arg;
	pid_t other = clone(stay, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	if (write(pair->told[1], &other, sizeof(other)) != sizeof(other))
		return 1;
	return map_and_stay(&pair->device);
}

static pid_t start_attach(struct kmod_session *session, pid_t to)
{
	pid_t pid = fork();

	if (!pid)
		_exit(-kmod_session_attach(session->fd, to));
	return pid;
}

/* Reads records until @wanted processes have been attached to. */
static bool await_attached(struct kmod_session *session, struct kmod_model *model, unsigned int wanted)
{
	for (unsigned int i = 0; i < 1000 * patience(); i++) {
		kmod_session_read(session, kmod_model_apply, model);
		if (model->records[MASSIF_REC_ATTACH] >= wanted)
			return model->records[MASSIF_REC_ATTACH] == wanted;
		usleep(10 * 1000);
	}
	return false;
}

/*
 * Two processes use an address space, and both are attached to. If the first ATTACH is killed while it waits, the
 * address space is still followed for the second.
 */
TEST_F_TIMEOUT(asleep, when_attached_to_beside_another, 60)
{
	struct pair pair = { .device = self->device };
	pid_t other;
	int status;

	ASSERT_EQ(0, pipe2(pair.told, O_CLOEXEC));
	self->pids[0] = start(NULL, map_beside_another, &pair);
	ASSERT_EQ(sizeof(other), read(pair.told[0], &other, sizeof(other)));
	ASSERT_LT(0, other);
	ASSERT_EQ(1, asleep(self->device, 1));

	self->pids[1] = start_attach(&self->session, self->pids[0]);
	ASSERT_TRUE(await_attached(&self->session, &self->model, 1));
	self->pids[2] = start_attach(&self->session, other);
	ASSERT_TRUE(await_attached(&self->session, &self->model, 2));
	EXPECT_TRUE(can_be_killed(&self->pids[1]));
	wake_up(_metadata, self->device);
	EXPECT_EQ(self->pids[2], waitpid(self->pids[2], &status, 0));
	self->pids[2] = 0;
	EXPECT_EQ(0, status);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.records[MASSIF_REC_EXIT]);
	ASSERT_EQ(2, self->model.count);
	EXPECT_EQ(self->model.targets[0].id, self->model.targets[1].id);
	EXPECT_TRUE(equals_maps(&self->model, other));

	kill(other, SIGKILL);
	kill(self->pids[0], SIGKILL);
	EXPECT_EQ(self->pids[0], waitpid(self->pids[0], NULL, 0));
	self->pids[0] = 0;
	EXPECT_EQ(0, kmod_session_drain(&self->session, 10000, kmod_model_apply, &self->model));
	EXPECT_EQ(1, self->model.records[MASSIF_REC_EXIT]);
	EXPECT_EQ(0, self->model.wrong + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
	close(pair.told[0]);
	close(pair.told[1]);
}

/* A call begins during one session and ends during the next, for which the hooks have been armed again. */
TEST_F_TIMEOUT(asleep, from_one_session_to_the_next, 60)
{
	struct massif_attach arg = { .size = sizeof(arg) };
	int status;

	self->pids[0] = start(&self->session, map_and_stay, &self->device);
	ASSERT_EQ(1, asleep(self->device, 1));
	kmod_session_close(&self->session);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	arg.pid = self->pids[0];
	self->pids[1] = fork();
	if (!self->pids[1])
		_exit(ioctl(self->session.fd, MASSIF_IOC_ATTACH, &arg) ? errno : 0);
	usleep(200 * 1000);
	wake_up(_metadata, self->device);
	EXPECT_EQ(self->pids[1], waitpid(self->pids[1], &status, 0));
	self->pids[1] = 0;
	EXPECT_EQ(0, status);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_TRUE(equals_maps(&self->model, self->pids[0]));
	EXPECT_EQ(0, self->model.wrong + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
}

/*
 * A kretprobe can follow only a limited number of calls at once. The module counts and reports the calls that it could
 * not follow, and a resync corrects the model. Detours have no such limit.
 */
TEST_F_TIMEOUT(asleep, more_than_can_be_followed, 120)
{
	bool misses = variant->kind == MASSIF_HOOK_KRETPROBE;
	struct massif_status status;
	uint32_t remaining = 1;
	int wrong = 0;

	for (int i = 0; i < MANY; i++) {
		self->pids[i] = start(&self->session, map_and_stay, &self->device);
		ASSERT_LT(0, self->pids[i]);
	}
	ASSERT_EQ(MANY, asleep(self->device, MANY));
	wake_up(_metadata, self->device);
	/* Wait until each process is asleep in pause(). By then its mmap() call has returned. */
	for (int i = 0; i < MANY; i++) {
		ASSERT_TRUE(process_await_state(self->pids[i], 'S'));
	}
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	/*
	 * BEYOND is the number of this test's mmap() calls that the kretprobe cannot follow. status.missed also counts
	 * the calls of other processes in the system that the kretprobe could not follow, so it may be larger.
	 */
	EXPECT_LE(misses ? BEYOND : 0, status.missed);
	EXPECT_GE(misses ? 2 * BEYOND : 0, status.missed);
	EXPECT_EQ(misses ? MANY : 0, status.out_of_sync);
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(status.missed, self->model.lost);
	EXPECT_EQ(misses, self->model.records[MASSIF_REC_LOST] > 0);
	while (remaining) {
		ASSERT_EQ(0, kmod_session_resync(&self->session, &remaining));
		kmod_session_read(&self->session, kmod_model_apply, &self->model);
	}
	for (int i = 0; i < MANY; i++)
		wrong += !equals_maps(&self->model, self->pids[i]);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, self->model.wrong) {
		TH_LOG("%s", self->model.first_wrong);
	}
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.out_of_sync);
}

/* Contents of the STACK record that was written for the mmap() call on the device. */
struct explained {
	uint32_t capture;
	bool seen, gone;
	uint32_t bytes;
};

static void note_stack(const struct massif_record *rec, struct explained *told)
{
	const struct massif_rec_map *map = (const void *)rec;
	const struct massif_rec_stack *stack = (const void *)rec;

	if (rec->type == MASSIF_REC_MAP && map->len == 3 * PAGE && rec->capture) {
		told->capture = rec->capture;
	} else if (rec->type == MASSIF_REC_STACK && told->capture && rec->capture == told->capture) {
		told->seen = true;
		told->gone = stack->stack_flags == MASSIF_STACK_GONE;
		told->bytes = stack->bytes;
	}
}

/* The stack of a killed thread is not copied, so that the copy does not delay the thread's end. */
TEST_F_TIMEOUT(asleep, killed_has_no_stack, 60)
{
	const struct massif_record *rec;
	struct explained told = { 0 };
	pid_t pid;

	kmod_session_close(&self->session);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 4096));
	ASSERT_EQ(1, write(self->device, "k", 1));
	pid = kmod_session_call(&self->session, map_and_end, &self->device);
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, asleep(self->device, 1));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	while ((rec = kmod_session_next(&self->session)))
		note_stack(rec, &told);
	EXPECT_NE(0, told.capture);
	EXPECT_TRUE(told.seen);
	EXPECT_TRUE(told.gone);
	EXPECT_EQ(0, told.bytes);
}

/* Disarms all kprobes of the system, or arms them again. Returns false if the kernel has no switch for this. */
static bool switch_kprobes(const char *on)
{
	static const char path[] = "/sys/kernel/debug/kprobes/enabled";
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0 && !system("mount -t debugfs none /sys/kernel/debug"))
		fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = write(fd, on, 1) == 1;
	close(fd);
	return ok;
}

struct ending {
	int exits, ends;
	struct massif_record exit;	/* header of the last EXIT record */
};

static int note_ending(const struct massif_record *rec, void *arg)
{
	struct ending *seen = arg;

	seen->ends += rec->type == MASSIF_REC_END;
	if (rec->type == MASSIF_REC_EXIT) {
		seen->exits++;
		seen->exit = *rec;
	}
	return 0;
}

/* If the hook on the end of an address space does not run, the target nevertheless does not stay in the session. */
TEST_F_TIMEOUT(asleep, an_end_that_is_missed, 60)
{
	bool misses = variant->kind == MASSIF_HOOK_KRETPROBE;
	struct massif_status status = { 0 };
	struct ending seen = {};

	self->pids[0] = start(&self->session, stay, NULL);
	ASSERT_LT(0, self->pids[0]);
	for (int i = 0; i < 1000 && !status.targets; i++) {
		usleep(10 * 1000);
		ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	}
	ASSERT_EQ(1, status.targets);
	if (!switch_kprobes("0"))
		SKIP(return, "this kernel cannot disarm its kprobes");
	kill(self->pids[0], SIGKILL);
	EXPECT_EQ(self->pids[0], waitpid(self->pids[0], NULL, 0));
	self->pids[0] = 0;
	ASSERT_TRUE(switch_kprobes("1"));
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(misses, status.targets);

	/* The first poll finds that the address space is gone. */
	ASSERT_EQ(0, kmod_session_drain(&self->session, 10 * 1000, note_ending, &seen));
	EXPECT_EQ(1, seen.ends);
	EXPECT_EQ(1, seen.exits);
	EXPECT_EQ(misses ? MASSIF_RF_NO_TOTAL : 0, seen.exit.flags);
	EXPECT_EQ(misses, !seen.exit.total_vm);
	ASSERT_EQ(0, kmod_session_status(&self->session, &status));
	EXPECT_EQ(0, status.targets);
}

TEST_HARNESS_MAIN
