// SPDX-License-Identifier: GPL-2.0
// Loads and unloads the module while processes all over the system fork, call exec, map memory, fault and open
// sessions.
//
// MASSIF_RELOADS sets how many times this is done (default 20).
#include <errno.h>
#include <fcntl.h>
#include <linux/massif.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/process_state.h"

#define RELOADS	20
#define PAGE	4096ul
#define RING	(256 << 10)

static struct counts {
	unsigned int children, programs, mappings, faults;
	unsigned int sessions, resident, records, refused;
	unsigned int wrong;	/* errors on opening a session, other than that the module is not loaded */
	unsigned int pause;	/* no session is opened */
} *counts;

static void count(unsigned int *which)
{
	__atomic_add_fetch(which, 1, __ATOMIC_RELAXED);
}

static void fork_and_exec(unsigned int round)
{
	static char *const program[] = { "/bin/true", NULL };
	pid_t pid = fork();

	if (!pid) {
		if (round % 4 == 0)
			execve(program[0], program, program + 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	count(round % 4 ? &counts->children : &counts->programs);
	usleep(2000);
}

static void map_and_unmap(unsigned int round)
{
	char *at = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE);
	mremap(at, 4 * PAGE, PAGE, 0);
	munmap(at, 8 * PAGE);
	count(&counts->mappings);
	usleep(500);
}

static void fault(unsigned int round)
{
	static char *at;

	if (!at)
		at = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < 64; i++)
		((volatile char *)at)[i * PAGE] = 1;
	madvise(at, 64 * PAGE, MADV_DONTNEED);
	count(&counts->faults);
	usleep(500);
}

static int live(void *arg)
{
	unsigned int round;

	for (round = 0; round < 8; round++) {
		map_and_unmap(round);
		fault(round);
	}
	return 0;
}

/* Opens a session whenever the module is loaded, with a profiled process that may or may not outlive the session. */
static void have_session(unsigned int round)
{
	struct massif_setup setup = { .ring_bytes = RING, .max_stack_bytes = 1024,
				      .flags = round % 2 ? MASSIF_SETUP_RESIDENT : 0 };
	struct kmod_session session;
	pid_t pid;
	int err;

	if (__atomic_load_n(&counts->pause, __ATOMIC_RELAXED)) {
		usleep(20 * 1000);
		return;
	}
	err = kmod_session_open_as(&session, &setup);
	usleep(1000);
	/* These errors mean that the module is not loaded, or is just being loaded or unloaded. */
	if (err == -ENOENT || err == -ENODEV || err == -ENXIO) {
		count(&counts->refused);
		return;
	}
	if (err) {
		fprintf(stderr, "# a session: %s\n", strerror(-err));
		count(&counts->wrong);
		return;
	}
	count(&counts->sessions);
	if (round % 2)
		count(&counts->resident);
	pid = kmod_session_call(&session, live, NULL);
	if (round % 3)
		waitpid(pid, NULL, 0);
	else
		usleep(round % 7 * 1000);
	if (__atomic_load_n(&session.control->head, __ATOMIC_ACQUIRE))
		count(&counts->records);
	kmod_session_close(&session);
	if (round % 3 == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	/* Give the module a chance to be unloaded; every fourth time, wait longer. */
	usleep(round % 4 ? 20 * 1000 : 1000 * 1000);
}

static void (*const bystanders[])(unsigned int round) = { fork_and_exec, map_and_unmap, fault, have_session };

#define BYSTANDERS	(sizeof(bystanders) / sizeof(bystanders[0]))

FIXTURE(reload)
{
	pid_t pids[BYSTANDERS];
};

FIXTURE_SETUP(reload)
{
	size_t i;

	kmod_module_unload_soon("massif");
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, counts);
	for (i = 0; i < BYSTANDERS; i++) {
		unsigned int round = 0;

		self->pids[i] = fork();
		ASSERT_LE(0, self->pids[i]);
		if (self->pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			bystanders[i](round++);
	}
}

FIXTURE_TEARDOWN(reload)
{
	size_t i;

	for (i = 0; i < BYSTANDERS; i++) {
		if (self->pids[i] <= 0)
			continue;
		kill(self->pids[i], SIGKILL);
		waitpid(self->pids[i], NULL, 0);
	}
	kmod_module_unload_soon("massif");
}

/* Returns the number of vmalloc areas of the module itself and of those that its code allocated. */
static int areas(void)
{
	FILE *file = fopen("/proc/vmallocinfo", "r");
	char line[1024];
	int found = 0;

	while (file && fgets(line, sizeof(line), file))
		found += strstr(line, "massif") != NULL;
	if (file)
		fclose(file);
	return found;
}

TEST_F_TIMEOUT(reload, under_everything, 36000)
{
	const char *text = getenv("MASSIF_RELOADS");
	int reloads = text ? atoi(text) : RELOADS, i, busy = 0, tries, err;

	for (i = 0; i < reloads; i++) {
		ASSERT_EQ(0, kmod_module_load(""));
		/*
		 * Keep the module loaded for varying lengths of time, from none at all to long enough for some
		 * sessions.
		 */
		usleep(i % 5 * 30 * 1000);
		/*
		 * A grace period may take so long on a slow machine that a session always begins before the one before has
		 * ended. Therefore, no further one begins after some time.
		 */
		for (tries = 0; (err = kmod_module_unload("massif")) == -EWOULDBLOCK && tries < 60 * 1000; tries++) {
			__atomic_store_n(&counts->pause, tries > 5000, __ATOMIC_RELAXED);
			usleep(1000);
		}
		__atomic_store_n(&counts->pause, 0, __ATOMIC_RELAXED);
		busy += tries > 0;
		ASSERT_EQ(0, err) {
			TH_LOG("of %d, %d users", i, kmod_module_users());
			process_log_all();
		}
	}
	EXPECT_EQ(0, areas());
	EXPECT_EQ(0, counts->wrong);
	EXPECT_LT(reloads / 4, counts->sessions);
	EXPECT_LT(reloads / 4, counts->records);
	EXPECT_LT(reloads, counts->programs);
	EXPECT_LT(reloads, counts->faults);
	fprintf(stderr, "# %d reloads, %d of which had to wait; %u sessions (%u resident pages), %u times no device; "
		"%u children, %u programs, %u mappings, %u faulting rounds\n", reloads, busy, counts->sessions,
		counts->resident, counts->refused, counts->children, counts->programs, counts->mappings, counts->faults);
}

TEST_HARNESS_MAIN
