// SPDX-License-Identifier: GPL-2.0
// Processes that outlive the program: massif-ctl exits when the program does, and a background process of massif-ctl
// keeps profiling them.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/process_state.h"

enum {
	SECONDS = 300, /* on a busy machine, what usually takes seconds can take minutes */
	STEP_MS = 20,
	STEPS = 60000 / STEP_MS,
};

/* Options for massif-ctl with which no snapshot is culled, so that the last snapshot in a file shows the last event. */
#define OPTIONS	     "--time-unit=B", "--max-snapshots=1000"
#define OPTIONS_TEXT "--time-unit=B --max-snapshots=1000"

FIXTURE(daemon) {
	struct ctl_result result, other;
	pid_t daemon, background;
	char pid[16];
	char file[64]; /* file in which the daemon writes its pid */
	char name[256];
};

static char target[PATH_MAX];

static void pass_time(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000l }, NULL);
}

FIXTURE_SETUP(daemon)
{
	char directory[PATH_MAX];

	ctl_remove_files("massif.");
	ctl_remove_files("d.");
	ASSERT_NE(NULL, realpath(ctl_target("ctl_daemon"), target));
	/* Give the daemon an absolute path, because it changes its directory. */
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	ASSERT_EQ(0, setenv("D_FILE", directory, 1));
}

/* A process that nobody reaps remains as a zombie. */
static bool is_there(pid_t pid)
{
	char state = process_state(pid);

	return state && state != 'Z' && state != 'X';
}

static bool is_gone_soon(pid_t pid)
{
	for (int i = 0; i < STEPS && is_there(pid); i++)
		pass_time();
	return !is_there(pid);
}

/* Returns the pid written by the daemon, and removes the file. */
static pid_t await_number(void)
{
	pid_t pid = 0;

	for (int i = 0; i < STEPS && !pid; i++) {
		char *text = ctl_read_file("d.pid");

		if (text)
			pid = atoi(text);
		else
			pass_time();
		free(text);
	}
	unlink("d.pid");
	return pid;
}

FIXTURE_TEARDOWN(daemon)
{
	if (self->daemon > 0)
		kill(self->daemon, SIGKILL);
	if (self->background > 0)
		EXPECT_TRUE(is_gone_soon(self->background));
	ctl_result_free(&self->result);
	ctl_result_free(&self->other);
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_remove_files("massif.");
	ctl_remove_files("d.");
}

static pid_t background_of(const char *err)
{
	return (pid_t)ctl_number(err, "in the background in massif-ctl (pid ");
}

static const char *number_file(void)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/d.pid", getenv("D_FILE"));
	return path;
}

/* Runs massif-ctl and finds the processes that it leaves behind. */
#define RUN(...) do {									\
	CTL_RUN(&self->result, "massif-ctl", OPTIONS, __VA_ARGS__);		\
	self->background = background_of(self->result.err);				\
	self->daemon = await_number();							\
	ASSERT_LT(0, self->daemon);							\
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->daemon);		\
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);	\
} while (0)

#define WAY(way) target, way, number_file()

#define ASK(...) do {						\
	ctl_result_free(&self->other);				\
	CTL_RUN(&self->other, "massif-ctl", __VA_ARGS__);	\
} while (0)

/* Ends the daemon; the massif-ctl that profiles it must then exit, too. */
static void end_daemon(struct __test_metadata *_metadata, FIXTURE_DATA(daemon) *self)
{
	kill(self->daemon, SIGTERM);
	EXPECT_TRUE(is_gone_soon(self->daemon));
	if (self->background)
		EXPECT_TRUE(is_gone_soon(self->background));
	self->daemon = self->background = 0;
}

/* Checks that the mem_heap_B of the last snapshot in the file @name is @bytes. */
static void expect_profile(struct __test_metadata *_metadata, const char *name, int bytes)
{
	char *text = ctl_read_file(name);

	ASSERT_NE(NULL, text) {
		TH_LOG("no %s", name);
	}
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_EQ(bytes, atoi(ctl_last(text, "mem_heap_B=")));
	free(text);
}

/* A daemon that forks twice, with its own session and directory, and no inherited descriptors. */
TEST_F_TIMEOUT(daemon, goes_on, SECONDS)
{
	char words[512];

	RUN(WAY("daemon"));
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.out);
	ASSERT_LT(0, self->background);
	EXPECT_TRUE(is_there(self->background));
	EXPECT_NE(NULL, strstr(self->result.err, ") is still running; its profile will be written to "
						 "massif.out."));
	snprintf(words, sizeof(words),
		 "massif-ctl: profiling continues in the background in massif-ctl (pid %d), which reports "
		 "problems in massif.log.%d; 'kill %d' ends it and writes the profile\n",
		 (int)self->background, (int)self->background, (int)self->background);
	EXPECT_NE(NULL, strstr(self->result.err, words)) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(0, access(self->name, F_OK));

	/* The list command shows the daemon like any other profiled process. */
	ASK("list");
	snprintf(words, sizeof(words), "%8d heap            100000 ", (int)self->daemon);
	EXPECT_NE(NULL, strstr(self->other.out, words)) {
		TH_LOG("%s", self->other.out);
	}
	ASK("snapshot", "--pid", self->pid, "d.snapshot");
	EXPECT_EQ(0, ctl_exit_code(&self->other));
	expect_profile(_metadata, "d.snapshot", 100000);
	kill(self->daemon, SIGUSR1);
	ASSERT_EQ(self->daemon, await_number());
	ASK("detailed_snapshot", "--pid", self->pid, "d.detailed");
	EXPECT_EQ(0, ctl_exit_code(&self->other));
	expect_profile(_metadata, "d.detailed", 300000);
	ASK("all_snapshots", "--pid", self->pid, "d.all");
	EXPECT_EQ(0, ctl_exit_code(&self->other));

	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 300000);
	/* One file each for the program, the intermediate process and the daemon. */
	EXPECT_EQ(3, ctl_find_files("massif.out.", NULL));
	EXPECT_EQ(0, ctl_find_files("massif.log.", NULL));
}

/* Returns the target of the link @name in /proc/@pid. */
static const char *link_of(pid_t pid, const char *name)
{
	static char text[PATH_MAX];
	char path[512];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Returns whether @pid has the file @path mapped. */
static bool is_mapped(pid_t pid, const char *path)
{
	char maps[64], *text;
	bool mapped;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	text = ctl_read_file(maps);
	mapped = text && strstr(text, path);
	free(text);
	return mapped;
}

/*
 * Counts the descriptors of process @pid that are pipes, terminals or files other than /dev/null. Does not count files
 * that @daemon has mapped: massif-ctl keeps them open for their symbol names, and while the daemon runs they stay in
 * use anyway.
 */
static size_t count_held(pid_t pid, pid_t daemon)
{
	char path[64];
	DIR *directory;
	struct dirent *entry;
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		char name[300];
		const char *leads;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "fd/%s", entry->d_name);
		leads = link_of(pid, name);
		if (*leads == '/' && is_mapped(daemon, leads))
			continue;
		if ((*leads == '/' && strcmp(leads, "/dev/null") != 0 && strncmp(leads, "/memfd:", 7) != 0) ||
		    strncmp(leads, "pipe:", 5) == 0) {
			fprintf(stderr, "# %s is %s\n", name, leads);
			n++;
		}
	}
	if (!directory)
		return 99;
	closedir(directory);
	return n;
}

static void give_many(void)
{
	int ends[2];

	/* Let the program inherit descriptors that massif-ctl does not know about. */
	if (pipe(ends) || dup2(ends[0], 60) < 0 || dup2(ends[1], 61) < 0)
		_exit(97);
}

TEST_F_TIMEOUT(daemon, holds_nothing, SECONDS)
{
	const char *argv[] = { "massif-ctl", OPTIONS, WAY("daemon"), NULL };
	int group = 0, session = 0, terminal = -1, parent = 0;
	char path[64];
	FILE *file;

	ctl_run(&self->result, NULL, give_many, argv);
	self->background = background_of(self->result.err);
	self->daemon = await_number();
	ASSERT_LT(0, self->background);
	EXPECT_EQ(0, count_held(self->background, self->daemon));
	EXPECT_STREQ("/", link_of(self->background, "cwd"));
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)self->background);
	file = fopen(path, "r");
	ASSERT_NE(NULL, file);
	EXPECT_EQ(4, fscanf(file, "%*d (%*[^)]) %*c %d %d %d %d", &parent, &group, &session, &terminal));
	fclose(file);
	EXPECT_EQ(self->background, session);
	EXPECT_EQ(self->background, group);
	EXPECT_EQ(0, terminal);
	/* The background massif-ctl was reparented to the process that adopts orphans here. */
	EXPECT_NE(self->result.pid, parent);
	end_daemon(_metadata, self);
}

/*
 * A shell waits until every write end of a pipe is closed, so a massif-ctl running in the background must not hold one
 * open.
 */
TEST_F_TIMEOUT(daemon, pipes_end, SECONDS)
{
	static const char *const scripts[] = {
		"\"$0\" " OPTIONS_TEXT " \"$@\" 2>d.err | cat",
		"\"$0\" " OPTIONS_TEXT " \"$@\" 2>&1 | cat >d.err",
		"x=$(\"$0\" " OPTIONS_TEXT " \"$@\" 2>d.err); echo $?",
		"x=$(\"$0\" " OPTIONS_TEXT " \"$@\" 2>&1 | tee d.err)",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		char *err;

		TH_LOG("%s", scripts[i]);
		CTL_RUN(&self->result, "timeout", "-k", "1", "120", "sh", "-c", scripts[i], ctl_path(),
			WAY("daemon"));
		self->daemon = await_number();
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ(i == 2 ? "5\n" : "", self->result.out);
		EXPECT_TRUE(is_there(self->daemon));
		err = ctl_read_file("d.err");
		ASSERT_NE(NULL, err);
		self->background = background_of(err);
		EXPECT_TRUE(is_there(self->background));
		free(err);
		end_daemon(_metadata, self);
		ctl_result_free(&self->result);
	}
}

/*
 * The program leaves a child that closes no descriptors. The child would keep pipes open, as it would without
 * massif-ctl, so standard output and standard error are not pipes here. massif-ctl itself keeps no end of a pipe open.
 */
TEST_F_TIMEOUT(daemon, child_left, SECONDS)
{
	CTL_RUN(&self->result, "sh", "-c", "\"$0\" " OPTIONS_TEXT " \"$@\" >/dev/null 2>d.err",
		ctl_path(), WAY("leave"));
	self->daemon = await_number();
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	free(self->result.err);
	self->result.err = ctl_read_file("d.err");
	self->background = background_of(self->result.err);
	ASSERT_LT(0, self->background);
	/*
	 * Standard error is a file. Unlike a pipe, a file has no reader that waits until it is closed, so massif-ctl
	 * still writes messages there.
	 */
	EXPECT_NE(NULL, strstr(self->result.err, "which also writes its messages here"));
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
	free(self->result.err);
	self->result.err = ctl_read_file("d.err");
	EXPECT_NE(NULL, strstr(self->result.err, self->name));
	EXPECT_NE(NULL, strstr(ctl_last(self->result.err, "wrote "), self->name));
}

TEST_F_TIMEOUT(daemon, log_file, SECONDS)
{
	char *log;

	RUN("--log-file=d.log", WAY("daemon"));
	EXPECT_STREQ("", self->result.err);
	log = ctl_read_file("d.log");
	ASSERT_NE(NULL, log);
	self->background = background_of(log);
	EXPECT_LT(0, self->background);
	free(log);
	end_daemon(_metadata, self);
	log = ctl_read_file("d.log");
	EXPECT_NE(NULL, strstr(ctl_last(log, "wrote "), self->name));
	free(log);
}

/* Without a log file, massif-ctl creates a file for messages about problems. */
TEST_F_TIMEOUT(daemon, own_log, SECONDS)
{
	char name[256];
	char *log;

	ASSERT_EQ(0, mkdir("d.directory", 0777));
	RUN("--massif-out-file=d.directory/massif.out.%p", WAY("daemon"));
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	ASSERT_LT(0, self->background);
	snprintf(name, sizeof(name), "d.directory/massif.log.%d", (int)self->background);
	EXPECT_NE(NULL, strstr(self->result.err, name));
	EXPECT_NE(0, access(name, F_OK));
	/* If massif-ctl receives SIGTERM, it reports a problem, because the profile ends before the daemon does. */
	kill(self->background, SIGTERM);
	EXPECT_TRUE(is_gone_soon(self->background));
	log = ctl_read_file(name);
	ASSERT_NE(NULL, log);
	EXPECT_NE(NULL, strstr(log, "1 process of the program is still running; its profile ends here\n"));
	free(log);
	self->background = 0;
	CTL_RUN(&self->other, "rm", "-r", "d.directory");
}

/* A signal ends the background massif-ctl: the file shows the state at that time, and the daemon is not affected. */
TEST_F_TIMEOUT(daemon, told_to_stop, SECONDS)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char *text;

		RUN(WAY("daemon"));
		kill(self->background, signals[i]);
		EXPECT_TRUE(is_gone_soon(self->background));
		self->background = 0;
		text = ctl_read_file(self->name);
		ASSERT_NE(NULL, text);
		EXPECT_EQ(100000, atoi(ctl_last(text, "mem_heap_B=")));
		/* The profile ends while the daemon still runs, so its last snapshot must have a tree. */
		EXPECT_NE(0, strncmp(ctl_last(text, "heap_tree="), "empty", 5));
		free(text);
		/* The profiled daemon keeps running even after the massif-ctl that profiled it has ended. */
		kill(self->daemon, SIGUSR1);
		EXPECT_EQ(self->daemon, await_number());
		kill(self->daemon, SIGTERM);
		EXPECT_TRUE(is_gone_soon(self->daemon));
		self->daemon = 0;
		ctl_remove_files("massif.");
		ctl_result_free(&self->result);
	}
}

/* Starts massif-ctl as the leader of a session on terminal @fd. */
static pid_t start_on_terminal(int fd)
{
	const char *argv[] = { ctl_path(), OPTIONS, WAY("daemon"), NULL };
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	ioctl(fd, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	execv(argv[0], (char *const *)argv);
	_exit(99);
}

TEST_F_TIMEOUT(daemon, hangup, SECONDS)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), fd, status;
	char text[8192];
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	ASSERT_LE(0, master);
	ASSERT_EQ(0, grantpt(master));
	ASSERT_EQ(0, unlockpt(master));
	fd = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	pid = start_on_terminal(fd);
	close(fd);
	/* A read error means that no process has the terminal open any more. */
	while (n < sizeof(text) - 1 && (got = read(master, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(5, WEXITSTATUS(status));
	self->background = background_of(text);
	self->daemon = await_number();
	ASSERT_LT(0, self->background);
	ASSERT_LT(0, self->daemon);
	close(master);
	pass_time();
	EXPECT_TRUE(is_there(self->background));
	EXPECT_TRUE(is_there(self->daemon));
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
}

/* With --wait=yes, massif-ctl stays in the foreground until the last process has ended or a signal arrives. */
TEST_F_TIMEOUT(daemon, wait, SECONDS)
{
	for (int stops = 0; stops < 2; stops++) {
		int fd = open("d.err", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), status;
		int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
		pid_t pid;
		char *err;

		dup2(fd, STDERR_FILENO);
		pid = ctl_start(NULL, (const char *const[]){ "massif-ctl", OPTIONS, "--wait=yes",
							     WAY("daemon"), NULL });
		dup2(saved, STDERR_FILENO);
		close(saved);
		close(fd);
		self->daemon = await_number();
		snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
		/* The daemon may write its number before massif-ctl has noticed that the program has ended. */
		err = ctl_await_words("d.err", "waiting for the end of these processes (--wait=yes)\n");
		EXPECT_NE(NULL, err);
		free(err);
		usleep(300000);
		EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
		kill(stops ? pid : self->daemon, SIGTERM);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFEXITED(status));
		EXPECT_EQ(5, WEXITSTATUS(status));
		expect_profile(_metadata, self->name, 100000);
		EXPECT_TRUE(stops ? is_there(self->daemon) : is_gone_soon(self->daemon));
		err = ctl_read_file("d.err");
		EXPECT_EQ(0, background_of(err));
		free(err);
		end_daemon(_metadata, self);
	}
}

/* massif-ctl ends with the status of the launched program, even if other processes are still running. */
TEST_F_TIMEOUT(daemon, killed_program, SECONDS)
{
	CTL_RUN(&self->result, "sh", "-c", "exec \"$0\" " OPTIONS_TEXT " \"$@\" >/dev/null 2>d.err",
		ctl_path(), WAY("die"));
	EXPECT_EQ(128 + SIGKILL, ctl_exit_code(&self->result));
	free(self->result.err);
	self->result.err = ctl_read_file("d.err");
	self->background = background_of(self->result.err);
	self->daemon = await_number();
	ASSERT_LT(0, self->background);
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
}

/* The daemon executes or spawns another program, even after the launched program has ended. */
TEST_F_TIMEOUT(daemon, executed, SECONDS)
{
	static const char *const scripts[] = { "execute", "spawn" };

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		char *text, command[PATH_MAX + 64];

		TH_LOG("%s", scripts[i]);
		CTL_RUN(&self->result, "sh", "-c",
			"exec \"$0\" " OPTIONS_TEXT " --trace-children=yes \"$@\" >/dev/null 2>d.err",
			ctl_path(), WAY(scripts[i]));
		EXPECT_EQ(5, ctl_exit_code(&self->result));
		free(self->result.err);
		self->result.err = ctl_read_file("d.err");
		self->background = background_of(self->result.err);
		self->daemon = await_number();
		ASSERT_LT(0, self->background) {
			TH_LOG("%s", self->result.err);
		}
		snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
		end_daemon(_metadata, self);
		expect_profile(_metadata, self->name, 100000);
		text = ctl_read_file(self->name);
		snprintf(command, sizeof(command), "cmd: /proc/self/exe live %s\n", number_file());
		EXPECT_NE(NULL, strstr(text, command)) {
			TH_LOG("%.500s", text);
		}
		free(text);
		ctl_remove_files("massif.");
		ctl_result_free(&self->result);
	}
}

/*
 * Blocks allocated by a function named with --ignore-fn are not counted, even if their call stack first occurs after
 * massif-ctl has moved to the background.
 */
TEST_F_TIMEOUT(daemon, ignored_function, SECONDS)
{
	RUN("--ignore-fn=take_late", WAY("daemon"));
	ASSERT_LT(0, self->background);
	kill(self->daemon, SIGUSR1);
	ASSERT_EQ(self->daemon, await_number());
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
}

TEST_F_TIMEOUT(daemon, several, SECONDS)
{
	pid_t pids[7] = { 0 };
	char *list;

	CTL_RUN(&self->result, "sh", "-c", "exec \"$0\" " OPTIONS_TEXT " \"$@\" >/dev/null 2>d.err",
		ctl_path(), target, "several", number_file(), "7");
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	free(self->result.err);
	self->result.err = ctl_read_file("d.err");
	self->background = background_of(self->result.err);
	ASSERT_LT(0, self->background);
	EXPECT_NE(NULL, strstr(self->result.err, "2 more processes are still running; 'massif-ctl list' "
						 "shows them\n"));
	usleep(300000);
	ASK("list");
	list = self->other.out;
	for (int i = 0; i < 7; i++) {
		char *at = strstr(list, target);

		ASSERT_NE(NULL, at);
		while (at > list && at[-1] != '\n')
			at--;
		pids[i] = atoi(at);
		list = strstr(at, target) + 1;
	}
	for (int i = 0; i < 7; i++)
		kill(pids[i], SIGTERM);
	EXPECT_TRUE(is_gone_soon(self->background));
	self->background = 0;
	EXPECT_EQ(8, ctl_find_files("massif.out.", NULL));
}

/* Relative file names are relative to the directory where massif-ctl was started, even if its name contains a %. */
TEST_F_TIMEOUT(daemon, directory, SECONDS)
{
	char path[PATH_MAX];

	ASSERT_EQ(0, mkdir("d.100%p %", 0777));
	CTL_RUN(&self->result, "sh", "-c", "cd 'd.100%p %' && exec \"$@\"", "sh",
		realpath(ctl_path(), path), OPTIONS, "--massif-out-file=../d.100%%p %%/o.%p",
		WAY("daemon"));
	self->background = background_of(self->result.err);
	self->daemon = await_number();
	ASSERT_LT(0, self->background);
	snprintf(self->name, sizeof(self->name), "d.100%%p %%/o.%d", (int)self->daemon);
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
	CTL_RUN(&self->other, "rm", "-r", "d.100%p %");
}

/*
 * The program's profile has the name given by the user, d.one. The daemon's profile is named d.one.PID; massif-ctl's
 * message about the daemon announces a name of this form.
 */
TEST_F_TIMEOUT(daemon, one_name, SECONDS)
{
	const char *words = " is still running; its profile will be written to d.one.";
	char *at;

	RUN("--massif-out-file=d.one", WAY("daemon"));
	snprintf(self->name, sizeof(self->name), "d.one.%d", (int)self->daemon);
	/*
	 * If the process that forked the daemon has not ended yet, the message may name the file of that process
	 * instead of the daemon's.
	 */
	at = strstr(self->result.err, words);
	ASSERT_NE(NULL, at) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_LT(0, atoi(at + strlen(words)));
	end_daemon(_metadata, self);
	expect_profile(_metadata, self->name, 100000);
}

/* With --quiet, massif-ctl prints no messages, but profiles the daemon as usual. */
TEST_F_TIMEOUT(daemon, quiet, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", OPTIONS, WAY("daemon"));
	self->daemon = await_number();
	EXPECT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	kill(self->daemon, SIGTERM);
	for (int i = 0; i < STEPS && access(self->name, F_OK); i++)
		pass_time();
	expect_profile(_metadata, self->name, 100000);
	self->daemon = 0;
}

static pid_t read_pid(const char *name)
{
	char *text = ctl_await_words(name, "\n");
	pid_t pid = text ? atoi(text) : 0;

	free(text);
	return pid;
}

/* redis-server: the daemon starts no further processes and prints nothing. */
TEST_F_TIMEOUT(daemon, redis, SECONDS)
{
	char directory[PATH_MAX], words[64];
	struct ctl_result plain;

	if (access("/usr/bin/redis-server", X_OK))
		SKIP(return, "redis-server is not installed");
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	for (int profiled = 0; profiled < 2; profiled++) {
		struct ctl_result *result = profiled ? &self->result : &plain;

		/* massif-ctl's own messages go to a file. */
		CTL_RUN(result, "sh", "-c", "\"$@\" 2>&1 | cat", "sh",
			profiled ? ctl_path() : "env", profiled ? "--log-file=d.log" : "A=b",
			"redis-server", "--daemonize", "yes", "--port", "0", "--save", "",
			"--unixsocket", "d.socket", "--pidfile", "d.pid", "--dir", directory,
			"--logfile", "d.redis");
		self->daemon = read_pid("d.pid");
		ASSERT_LT(0, self->daemon);
		usleep(200000);
		kill(self->daemon, SIGTERM);
		EXPECT_TRUE(is_gone_soon(self->daemon));
		unlink("d.pid");
	}
	EXPECT_EQ(ctl_exit_code(&plain), ctl_exit_code(&self->result));
	EXPECT_STREQ(plain.out, self->result.out);
	ctl_result_free(&plain);
	ctl_result_free(&self->other);
	self->other.out = ctl_read_file("d.log");
	self->background = background_of(self->other.out);
	ASSERT_LT(0, self->background);
	EXPECT_TRUE(is_gone_soon(self->background));
	snprintf(words, sizeof(words), "redis-server (pid %d) is still running; ", (int)self->daemon);
	EXPECT_NE(NULL, strstr(self->other.out, words));
	snprintf(self->name, sizeof(self->name), "massif.out.%d", (int)self->daemon);
	free(self->other.out);
	self->other.out = ctl_read_file(self->name);
	ASSERT_NE(NULL, self->other.out);
	EXPECT_TRUE(ctl_is_massif_file(self->other.out));
	EXPECT_NE(NULL, strstr(self->other.out, ": aeCreateEventLoop (")) {
		TH_LOG("%s", self->other.out);
	}
	self->daemon = 0;
}

/* Waits until process @pid has @n children. Returns how many it has. */
static int await_children(pid_t pid, int n)
{
	int found = 0;

	for (int i = 0; i < STEPS && found < n; i++) {
		char path[64], *text;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
		text = ctl_read_file(path);
		found = 0;
		for (const char *at = text; at && (at = strchr(at, ' ')); at++)
			found++;
		free(text);
		if (found < n)
			pass_time();
	}
	return found;
}

/* nginx: the master process is a daemon and has workers. */
TEST_F_TIMEOUT(daemon, nginx, SECONDS)
{
	static const char *const folders[] = {"d.body", "d.proxy", "d.fastcgi", "d.uwsgi", "d.scgi"};
	char directory[PATH_MAX - 64], config[PATH_MAX], text[4 * PATH_MAX];
	pid_t pid;

	if (access("/usr/sbin/nginx", X_OK))
		SKIP(return, "nginx is not installed");
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	snprintf(text, sizeof(text),
		 "daemon on; worker_processes 2; pid %s/d.pid; error_log %s/d.error warn;\n"
		 /* The default paths are below /var/lib, where only root may create files. */
		 "events {} http { access_log off; client_body_temp_path d.body; proxy_temp_path d.proxy;\n"
		 "fastcgi_temp_path d.fastcgi; uwsgi_temp_path d.uwsgi; scgi_temp_path d.scgi;\n"
		 "server { listen unix:%s/d.socket; } }\n",
		 directory, directory, directory);
	ctl_write_file("d.config", text, 0644);
	snprintf(config, sizeof(config), "%s/d.config", directory);
	CTL_RUN(&self->result, "sh", "-c", "PATH=$PATH:/usr/sbin; \"$@\" 2>&1 | cat", "sh", ctl_path(),
		"nginx", "-p", directory, "-c", config, "-e", "d.error");
	self->background = background_of(self->result.out);
	pid = read_pid("d.pid");
	ASSERT_LT(0, self->background) {
		TH_LOG("%s", self->result.out);
	}
	self->daemon = pid;
	/* The master process writes its number before it starts the workers. */
	EXPECT_EQ(2, await_children(pid, 2));
	kill(self->daemon, SIGQUIT);
	EXPECT_TRUE(is_gone_soon(self->daemon));
	EXPECT_TRUE(is_gone_soon(self->background));
	/*
	 * Each process has written a profile: the program, the daemon's master process and its two worker processes.
	 */
	EXPECT_EQ(4, ctl_find_files("massif.out.", NULL));
	EXPECT_EQ(0, ctl_find_files("massif.log.", NULL));
	unlink("d.socket");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		EXPECT_EQ(0, rmdir(folders[i]));
	self->daemon = self->background = 0;
}

TEST_HARNESS_MAIN
