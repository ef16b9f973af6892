// SPDX-License-Identifier: GPL-2.0
// Disturbances: processors go offline, processes are frozen or killed by the OOM killer, other sessions begin and end.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftests/lib/weather.h"

#define PAGE	4096ul

static long effects;

static long effects_now(void)
{
	return effects;
}

/* Disturbance: processors go offline. */

#define PROCESSOR	"/sys/devices/system/cpu/cpu1/online"

static const char *begin_processors(struct member *member)
{
	effects = 0;
	return access(PROCESSOR, W_OK) ? "a second processor that can be taken away" : NULL;
}

static void blow_processors(struct member *member, unsigned int round)
{
	effects += weather_put(PROCESSOR, "0");
	usleep(round % 5 * 10 * 1000);
	weather_put(PROCESSOR, "1");
}

static bool end_processors(struct member *member)
{
	return weather_number(PROCESSOR, NULL) == 1;
}

const struct weather weather_processors = {
	.begin = begin_processors, .blow = blow_processors, .effects = effects_now, .end = end_processors,
};

/* Disturbance: the profiled process is frozen. */

#define FREEZER	"freezer"

static const char *begin_freezer(struct member *member)
{
	effects = 0;
	if (weather_group_make(FREEZER, 0) && weather_group_enter(FREEZER, member->pid) &&
	    weather_group_put(FREEZER, "cgroup.freeze", "0"))
		return NULL;
	return "cgroup.freeze";
}

static void blow_freezer(struct member *member, unsigned int round)
{
	int i;

	weather_group_put(FREEZER, "cgroup.freeze", "1");
	for (i = 0; i < 500 && weather_group_number(FREEZER, "cgroup.events", "frozen") == 0; i++)
		usleep(1000);
	effects += i < 500;
	usleep(round % 5 * 10 * 1000);
	weather_group_put(FREEZER, "cgroup.freeze", "0");
	usleep(20 * 1000);
}

static bool end_freezer(struct member *member)
{
	weather_group_put(FREEZER, "cgroup.freeze", "0");
	weather_group_remove(FREEZER);
	return true;
}

const struct weather weather_freezer = {
	.begin = begin_freezer, .blow = blow_freezer, .effects = effects_now, .end = end_freezer,
};

/* Disturbance: profiled processes are killed by the OOM killer. */

#define KILLER		"killer"
#define LIMIT		(16ul << 20)
#define ENDLESS		100000
#define WAYS		5

static const char *begin_killer(struct member *member)
{
	effects = 0;
	if (!weather_group_make(KILLER, LIMIT))
		return "control groups of memory";
	weather_group_put(KILLER, "memory.swap.max", "0");
	return NULL;
}

static char *eat(size_t bytes, int flags)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Uses up memory in one of five ways: page faults, MAP_POPULATE, system calls, small mappings, or child processes. */
static void eat_all(unsigned int how)
{
	int zero = open("/dev/zero", O_RDONLY), i;
	char *at;

	for (i = 0; i < ENDLESS; i++) {
		/* Give the thread that reads the session's records time to keep up. */
		if (i % 64 == 0)
			usleep(1000);
		switch (how % WAYS) {
		case 0:
			memset(eat(16 * PAGE, 0), 1, 16 * PAGE);
			break;
		case 1:
			eat(64 * PAGE, MAP_POPULATE);
			break;
		case 2:
			at = eat(64 * PAGE, 0);
			if (read(zero, at, 64 * PAGE) < 0)
				_exit(1);
			break;
		case 3:
			at = eat(4 * PAGE, 0);
			mprotect(at + PAGE, PAGE, PROT_READ);
			mprotect(at + 3 * PAGE, PAGE, PROT_READ);
			break;
		case 4:
			if (!fork())
				pause();
		}
	}
}

/*
 * Uses some or most of the control group's memory limit, becomes a profiled process, and then uses more memory until
 * the OOM killer kills it.
 */
static void be_killed(struct member *member, unsigned int how)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };
	/*
	 * If @how selects small mappings or child processes (cases 3 and 4 in eat_all()), use up most of the memory
	 * limit first, because eat_all() then uses little memory per step.
	 */
	size_t before = how % WAYS < 3 ? LIMIT / 4 * (1 + how % 3) : LIMIT / 16 * 15;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!weather_group_enter(KILLER, getpid()))
		_exit(2);
	memset(eat(before, 0), 1, before);
	if (ioctl(member->session.fd, MASSIF_IOC_ENROL, &enrol))
		_exit(3);
	close(member->session.fd);
	eat_all(how);
	_exit(4);
}

static void blow_killer(struct member *member, unsigned int round)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		be_killed(member, round);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		effects++;
	/* The process has ended; now kill its children, too. */
	if (round % WAYS == WAYS - 1)
		weather_group_put(KILLER, "cgroup.kill", "1");
}

/*
 * Returns how many profiled processes were killed. Counts a kill only if the kernel's OOM killer has counted it, too.
 */
static long effects_of_killer(void)
{
	long kills = weather_group_number(KILLER, "memory.events", "oom_kill");

	return kills < effects ? kills : effects;
}

static bool end_killer(struct member *member)
{
	weather_group_put(KILLER, "cgroup.kill", "1");
	weather_group_remove(KILLER);
	return true;
}

const struct weather weather_killer = {
	.rounds = WAYS,
	.begin = begin_killer, .blow = blow_killer, .effects = effects_of_killer, .end = end_killer,
};

/* Disturbance: other sessions begin and end. */

static const char *begin_sessions(struct member *member)
{
	effects = 0;
	return NULL;
}

static int live_shortly(void *arg)
{
	int i;

	for (i = 0; i < 20; i++) {
		char *at = eat(16 * PAGE, 0);

		memset(at, 1, 16 * PAGE);
		munmap(at, 8 * PAGE);
	}
	return 0;
}

/*
 * Opens a session, with or without tracking of resident pages, and tries to attach to the process that the test is
 * already profiling, which must fail.
 */
static void blow_sessions(struct member *member, unsigned int round)
{
	struct massif_attach attach = { .size = sizeof(attach), .pid = member->pid };
	struct kmod_session other;
	pid_t pid;

	if (kmod_session_open_as(&other, &(struct massif_setup){
		    .ring_bytes = 1 << 20,
		    .max_stack_bytes = 1024,
		    .flags = round % 2 ? MASSIF_SETUP_RESIDENT : 0,
	    }))
		return;
	pid = kmod_session_call(&other, live_shortly, NULL);
	if (ioctl(other.fd, MASSIF_IOC_ATTACH, &attach) && errno == EBUSY)
		effects++;
	if (round % 3)
		waitpid(pid, NULL, 0);
	kmod_session_close(&other);
	if (round % 3 == 0)
		waitpid(pid, NULL, 0);
}

static bool end_sessions(struct member *member)
{
	return true;
}

const struct weather weather_sessions = {
	.begin = begin_sessions, .blow = blow_sessions, .effects = effects_now, .end = end_sessions,
};
