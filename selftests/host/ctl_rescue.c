// SPDX-License-Identifier: GPL-2.0
// After massif-ctl has been killed with SIGKILL, massif-ctl rescue either resumes the profile or writes it to a file.

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

enum {
	SECONDS = 300,
	STEP_MS = 20,
	STEPS = 60000 / STEP_MS,
	NOBODY = 65534,
};

FIXTURE(rescue) {
	struct ctl_result result;
	pid_t daemon, aggregator;
	char pid[16], name[64];
};

static char target[PATH_MAX], number_file[PATH_MAX];

FIXTURE_SETUP(rescue)
{
	char directory[PATH_MAX - 16];

	/* Orphans become children of this process. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ctl_remove_files("massif.");
	ctl_remove_files("r.");
	ASSERT_NE(NULL, realpath(ctl_target("ctl_daemon"), target));
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	snprintf(number_file, sizeof(number_file), "%s/r.pid", directory);
}

FIXTURE_TEARDOWN(rescue)
{
	if (self->daemon > 0)
		kill(self->daemon, SIGKILL);
	if (self->aggregator > 0)
		kill(self->aggregator, SIGTERM);
	while (waitpid(-1, NULL, 0) > 0)
		;
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files(".massif-");
	ctl_remove_files("r.");
}

static void pass_time(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000l }, NULL);
}

static pid_t await_number(void)
{
	pid_t pid = 0;

	for (int i = 0; i < STEPS && !pid; i++) {
		char *text = ctl_read_file("r.pid");

		if (text)
			pid = atoi(text);
		else
			pass_time();
		free(text);
	}
	unlink("r.pid");
	return pid;
}

/* Returns the status of an orphan; -1 if it does not end. */
static int reap(pid_t pid)
{
	int status = -1;

	for (int i = 0; i < STEPS && waitpid(pid, &status, WNOHANG) == 0; i++)
		pass_time();
	return status;
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(98);
}

static void become_another(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY - 1) || setuid(NOBODY - 1))
		_exit(98);
}

/* Starts a daemon and kills its aggregator. No snapshots are culled, so the last snapshot reflects the last event. */
static void leave(struct __test_metadata *_metadata, FIXTURE_DATA(rescue) *self, void (*before)(void),
		  const char *option)
{
	const char *argv[] = { "massif-ctl", "--time-unit=B", "--max-snapshots=1000", option, target, "daemon",
			       number_file, NULL };

	ctl_run(&self->result, NULL, before, argv);
	self->aggregator = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
	self->daemon = await_number();
	ASSERT_LT(0, self->daemon);
	ASSERT_LT(0, self->aggregator) {
		TH_LOG("%s", self->result.err);
	}
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->daemon);
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	kill(self->aggregator, SIGKILL);
	EXPECT_EQ(SIGKILL, WTERMSIG(reap(self->aggregator)));
	self->aggregator = 0;
}

#define RESCUE(before, ...) do {								\
	const char *argv_[] = { "massif-ctl", "rescue", __VA_ARGS__, NULL };			\
	ctl_result_free(&self->result);								\
	ctl_run(&self->result, NULL, before, argv_);						\
} while (0)

static void grow(struct __test_metadata *_metadata, FIXTURE_DATA(rescue) *self)
{
	kill(self->daemon, SIGUSR1);
	EXPECT_EQ(self->daemon, await_number());
}

static void expect_profile(struct __test_metadata *_metadata, const char *name, int bytes)
{
	char *text = ctl_read_file(name), tree[64];

	ASSERT_NE(NULL, text) {
		TH_LOG("no %s", name);
	}
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_EQ(bytes, atoi(ctl_last(text, "mem_heap_B=")));
	snprintf(tree, sizeof(tree), ": %d (heap allocation functions)", bytes);
	EXPECT_NE(NULL, strstr(text, tree)) {
		TH_LOG("%s has no tree of the end", name);
	}
	EXPECT_NE(NULL, strstr(text, ": take_early (ctl_daemon.c:"));
	EXPECT_NE(NULL, strstr(text, "desc: --time-unit=B --max-snapshots=1000"));
	free(text);
}

/* Returns whether this process may open files that other processes have mapped (/proc/PID/map_files). */
static bool may_open_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char path[128], range[64];
	int fd;

	if (fscanf(maps, "%63s", range) != 1)
		range[0] = '\0';
	fclose(maps);
	snprintf(path, sizeof(path), "/proc/self/map_files/%s", range);
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define NEED_ROOT() do {									\
	if (geteuid())										\
		SKIP(return, "only root can become somebody else");				\
	CTL_NEEDS_USER(NOBODY);								\
} while (0)

#define NEED_MAPPED() do {									\
	if (!may_open_mapped())									\
		SKIP(return, "files that others have mapped can be opened by root only");	\
} while (0)

/*
 * The profile has no gap: it includes the events that occurred while no aggregator was running, and those after
 * the rescue.
 */
TEST_F_TIMEOUT(rescue, goes_on, SECONDS)
{
	NEED_MAPPED();
	leave(_metadata, self, NULL, "--detailed-freq=3");
	grow(_metadata, self);
	RESCUE(NULL, self->pid);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	self->aggregator = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
	ASSERT_LT(0, self->aggregator) {
		TH_LOG("%s", self->result.err);
	}
	/* massif-ctl rescue refuses a process that another massif-ctl is already profiling. */
	RESCUE(NULL, self->pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "there is nothing to rescue\n"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "snapshot", "--pid", self->pid, "r.snapshot");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	grow(_metadata, self);
	kill(self->daemon, SIGTERM);
	EXPECT_EQ(6, WEXITSTATUS(reap(self->daemon)));
	reap(self->aggregator);
	self->daemon = self->aggregator = 0;
	expect_profile(_metadata, self->name, 500000);
}

/*
 * Children forked after the rescue connect to the new massif-ctl at the socket address that the killed massif-ctl used.
 */
TEST_F_TIMEOUT(rescue, children_join, SECONDS)
{
	char name[64];
	pid_t child;

	NEED_MAPPED();
	leave(_metadata, self, NULL, "--wait=no");
	RESCUE(NULL, self->pid);
	self->aggregator = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
	ASSERT_LT(0, self->aggregator);
	kill(self->daemon, SIGUSR2);
	child = await_number();
	EXPECT_NE(self->daemon, child);
	kill(child, SIGTERM);
	kill(self->daemon, SIGTERM);
	reap(self->aggregator);
	self->daemon = self->aggregator = 0;
	snprintf(name, sizeof(name), "massif.out.%d", (int)child);
	EXPECT_EQ(0, access(name, F_OK));
	EXPECT_EQ(0, access(self->name, F_OK));
}

/* Waits until a massif-ctl profiles process @pid. Returns whether it does. */
static bool await_profiled(FIXTURE_DATA(rescue) *self, const char *pid)
{
	char line[32];

	snprintf(line, sizeof(line), "\n%8s heap ", pid);
	for (int i = 0; i < STEPS; i++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "list");
		if (strstr(self->result.out, line))
			return true;
		pass_time();
	}
	return false;
}

/*
 * With --wait=yes, rescue stays in the foreground until a signal ends it. After that the process has no
 * aggregator and can be rescued again.
 */
TEST_F_TIMEOUT(rescue, waits, SECONDS)
{
	const char *argv[] = { "massif-ctl", "rescue", "-q", "--wait=yes", self->pid, NULL };

	NEED_MAPPED();
	leave(_metadata, self, NULL, "--wait=no");
	for (int i = 0; i < 2; i++) {
		self->aggregator = ctl_start(NULL, argv);
		EXPECT_TRUE(await_profiled(self, self->pid)) {
			TH_LOG("%s", self->result.out);
		}
		usleep(300000);
		EXPECT_EQ(0, waitpid(self->aggregator, NULL, WNOHANG));
		kill(self->aggregator, SIGTERM);
		EXPECT_EQ(0, reap(self->aggregator));
		self->aggregator = 0;
		expect_profile(_metadata, self->name, 100000);
		unlink(self->name);
	}
}

/*
 * While the process has no aggregator, new stacks cannot be filtered: --ignore-fn does not apply to them, and a message
 * says so. After the rescue, new stacks are filtered again.
 */
TEST_F_TIMEOUT(rescue, ignored_function, SECONDS)
{
	char *text;

	NEED_MAPPED();
	leave(_metadata, self, NULL, "--ignore-fn=take_late");
	RESCUE(NULL, self->pid);
	self->aggregator = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
	ASSERT_LT(0, self->aggregator);
	grow(_metadata, self);
	kill(self->daemon, SIGTERM);
	reap(self->aggregator);
	self->daemon = self->aggregator = 0;
	text = ctl_read_file(self->name);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(100000, atoi(ctl_last(text, "mem_heap_B=")));
	free(text);
}

/* Returns the resident size of @pid in kilobytes. */
static unsigned long resident(pid_t pid)
{
	char path[64], *text;
	unsigned long kilobytes;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	text = ctl_read_file(path);
	kilobytes = text ? ctl_number(text, "VmRSS:") : 0;
	free(text);
	return kilobytes;
}

/* The user who owns the process can have its profile written repeatedly, and the process is not affected. */
TEST_F_TIMEOUT(rescue, own_user, SECONDS)
{
	unsigned long before;

	NEED_ROOT();
	ASSERT_EQ(0, chmod(".", 0777));
	leave(_metadata, self, become_nobody, "--detailed-freq=3");
	before = resident(self->daemon);
	for (int i = 0; i < 3; i++) {
		RESCUE(become_nobody, self->pid);
		EXPECT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_NE(NULL, strstr(self->result.err, "this is the profile so far; "));
		expect_profile(_metadata, self->name, 100000 + i * 200000);
		unlink(self->name);
		EXPECT_GT(before + 1024, resident(self->daemon));
		grow(_metadata, self);
	}
	/* massif-ctl rescue adds the options on its own command line to those with which the profile was started. */
	RESCUE(become_nobody, self->pid, "--massif-out-file=massif.out.other", "-q");
	EXPECT_STREQ("", self->result.err);
	expect_profile(_metadata, "massif.out.other", 700000);
	kill(self->daemon, SIGTERM);
	EXPECT_EQ(6, WEXITSTATUS(reap(self->daemon)));
	RESCUE(become_nobody, self->pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	self->daemon = 0;
}

TEST_F_TIMEOUT(rescue, another_user, SECONDS)
{
	NEED_ROOT();
	ASSERT_EQ(0, chmod(".", 0777));
	leave(_metadata, self, become_nobody, "--wait=no");
	RESCUE(become_another, self->pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "cannot read the memory mappings of process "));
	EXPECT_NE(NULL, strstr(self->result.err, "Permission denied; only its user and root may do so\n"));
	EXPECT_NE(0, access(self->name, F_OK));
}

static void go_elsewhere(void)
{
	if (chdir("r.directory"))
		_exit(98);
}

static void become_nobodys_group(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY))
		_exit(98);
}

static void leave_mounts(void)
{
	if (unshare(CLONE_NEWNS))
		_exit(98);
}

static void write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		_exit(98);
}

/* Becomes root of a user namespace, like root in a container, and keeps the user id. */
static void leave_users(void)
{
	if (unshare(CLONE_NEWUSER))
		_exit(98);
	write_proc("/proc/self/setgroups", "deny");
	write_proc("/proc/self/uid_map", "0 0 1");
	write_proc("/proc/self/gid_map", "0 0 1");
}

/* Options of a profile that name a file, with or without the process id. */
static const struct {
	const char *option;
	bool has_pid;
} chosen[] = {
	{ "--massif-out-file=r.chosen.%p", true },
	{ "--record=r.chosen", false },
};

/*
 * Root rescues a process that has other rights, which @before takes, and that has chosen a file. Root's profile must be
 * elsewhere.
 */
static void rescue_as_root(struct __test_metadata *_metadata, FIXTURE_DATA(rescue) *self, void (*before)(void),
			   const char *option, bool has_pid)
{
	char chosen_name[64], path[128];

	ASSERT_EQ(0, mkdir("r.directory", 0700));
	leave(_metadata, self, before, option);
	snprintf(chosen_name, sizeof(chosen_name), has_pid ? "r.chosen.%d" : "r.chosen", (int)atoi(self->pid));
	/* The recording of the process that started the daemon; the user's own massif-ctl wrote it. */
	unlink(chosen_name);
	RESCUE(go_elsewhere, self->pid);
	self->aggregator = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
	ASSERT_LT(0, self->aggregator) {
		TH_LOG("%s", self->result.err);
	}
	kill(self->daemon, SIGTERM);
	reap(self->aggregator);
	self->daemon = self->aggregator = 0;
	EXPECT_NE(0, access(chosen_name, F_OK));
	snprintf(path, sizeof(path), "r.directory/%s", chosen_name);
	EXPECT_NE(0, access(path, F_OK));
	snprintf(path, sizeof(path), "r.directory/%s", self->name);
	EXPECT_EQ(0, access(path, F_OK));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "rm", "-r", "r.directory");
}

/* A process of another user must not be able to choose the file that root writes. */
TEST_F_TIMEOUT(rescue, by_root, SECONDS)
{
	NEED_ROOT();
	NEED_MAPPED();
	ASSERT_EQ(0, chmod(".", 0777));
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		rescue_as_root(_metadata, self, become_nobody, chosen[i].option, chosen[i].has_pid);
}

/* Neither may a process with root's user id that has other rights, like one in a container. */
TEST_F_TIMEOUT(rescue, from_a_container, SECONDS)
{
	static void (*const ways[])(void) = { become_nobodys_group, leave_mounts, leave_users };

	NEED_ROOT();
	NEED_MAPPED();
	ASSERT_EQ(0, chmod(".", 0777));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		rescue_as_root(_metadata, self, ways[i], chosen[0].option, chosen[0].has_pid);
}

/* Cases in which there is no profile to rescue. */
TEST_F_TIMEOUT(rescue, refused, SECONDS)
{
	static const struct {
		const char *word, *reason;
	} cases[] = {
		{ NULL, "no process specified: massif-ctl rescue PID\n" },
		{ "x", "x: not a process id\n" },
		{ "0", "0: not a process id\n" },
		{ "4194305", "there is no process 4194305\n" },
	};
	char pid[16];
	pid_t child;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		RESCUE(NULL, cases[i].word);
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_NE(NULL, strstr(self->result.err, cases[i].reason)) {
			TH_LOG("%s", self->result.err);
		}
	}
	/*
	 * A process that is not profiled has no profile to rescue, and neither has one that has ended but has not been
	 * reaped.
	 */
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "%d", (int)child);
	RESCUE(NULL, pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, " has no profile in its memory: it was not started by massif-ctl "
						 "in heap mode\n"));
	kill(child, SIGKILL);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	RESCUE(NULL, pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, " has ended, so its profile is lost\n"));
	RESCUE(NULL, pid, "1");
	EXPECT_NE(NULL, strstr(self->result.err, "one process at a time: "));
	RESCUE(NULL, "--help");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.out, "rescue PID [options]"));
}

TEST_HARNESS_MAIN
