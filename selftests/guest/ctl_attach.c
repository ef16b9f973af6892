// SPDX-License-Identifier: GPL-2.0
// Tests massif-ctl attach: it profiles running processes, or prints a message if a process cannot be profiled.

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/process_state.h"

#define SECONDS 120
#define USER	1000
#define OTHER	1001

FIXTURE(attach) {
	struct ctl_result result;
	pid_t target;
	char pid[16];
	char name[256];
};

FIXTURE_SETUP(attach)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("a.");
	ASSERT_EQ(0, chmod(".", 0777));
}

static void kill_target(pid_t *target)
{
	if (*target > 0) {
		kill(*target, SIGKILL);
		kill(*target, SIGCONT);
		waitpid(*target, NULL, 0);
	}
	*target = 0;
}

FIXTURE_TEARDOWN(attach)
{
	kill_target(&self->target);
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	ctl_remove_files("a.");
}

static void before_target(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Starts the program to attach to. */
#define START(...) do {									\
	self->target = ctl_start(before_target, (const char *const[]){ __VA_ARGS__, NULL });	\
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);		\
	process_await_exec(self->target);						\
	usleep(300000);									\
} while (0)

/* Redirects standard error to the file a.err. */
static void before_ctl(void)
{
	int fd = open("a.err", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	dup2(fd, 2);
}

static bool wait_for_words(const char *words)
{
	for (unsigned int i = 0; i < 400 * patience(); i++) {
		char *text = ctl_read_file("a.err");
		bool there = text && strstr(text, words);

		free(text);
		if (there)
			return true;
		usleep(50000);
	}
	return false;
}

/* The target writes this file when it has reached the part of its program that the test is about. */
#define READY "a.ready"

static bool wait_until_ready(void)
{
	for (unsigned int i = 0; i < 1200 * patience() && access(READY, F_OK) != 0; i++)
		usleep(50000);
	return access(READY, F_OK) == 0;
}

static bool runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

/*
 * Stops a process, and waits until all its threads have stopped, which is when they have written their pending records.
 * Then waits a second in which massif-ctl reads the records.
 */
static bool stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	if (!process_await_state(pid, 'T'))
		return false;
	sleep(1);
	return true;
}

static unsigned long last_of(const char *text, const char *label)
{
	return strtoul(ctl_last(text, label), NULL, 10);
}

static char *read_profile(struct __test_metadata *_metadata, pid_t pid)
{
	char name[64], *text;
	struct stat st;

	snprintf(name, sizeof(name), "massif.out.%d", (int)pid);
	text = ctl_read_file(name);
	EXPECT_NE(NULL, text) {
		TH_LOG("%s", name);
	}
	if (!text)
		return strdup("");
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_EQ(0, stat(name, &st));
	EXPECT_EQ(0600, st.st_mode & 0777);
	return text;
}

/*
 * Memory mapped before the attach is shown as one line of text; memory mapped afterwards is shown with its call stack.
 * The total grows during the attach.
 */
TEST_F_TIMEOUT(attach, for_a_while, SECONDS)
{
	char *text;

	START(ctl_target("ctl_mappings"));
	CTL_RUN(&self->result, "massif-ctl", "attach", self->pid, "--duration", "2",
		"--threshold=0", "--detailed-freq=1");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "attached to process "));
	EXPECT_TRUE(runs(self->target));
	ASSERT_EQ(1, ctl_find_files("massif.out", self->name));
	text = read_profile(_metadata, self->target);
	EXPECT_NE(NULL, strstr(text, "desc: --threshold=0 --detailed-freq=1\ncmd: "));
	EXPECT_NE(NULL, strstr(text, "ctl_mappings\ntime_unit: ms\n"));
	EXPECT_NE(NULL, strstr(text, " [before attach]\n"));
	EXPECT_NE(NULL, strstr(text, " [stack]\n"));
	EXPECT_NE(NULL, strstr(text, " [vdso]\n"));
	EXPECT_NE(NULL, strstr(text, "/selftests/targets/ctl_mappings\n"));
	EXPECT_NE(NULL, strstr(text, ": map_one_more (ctl_mappings.c:"));
	EXPECT_NE(NULL, strstr(text, ": grow (ctl_mappings.c:"));
	EXPECT_NE(NULL, strstr(text, ": main (ctl_mappings.c:"));
	EXPECT_EQ(NULL, strstr(text, "[lost]"));
	free(text);
}

/* Tests both spellings of --duration, and options given before the pid. */
TEST_F_TIMEOUT(attach, options_in_any_place, SECONDS)
{
	char *text;

	START(ctl_target("ctl_mappings"));
	CTL_RUN(&self->result, "massif-ctl", "attach", "-q", "--duration=0.5", "--time-unit=B",
		self->pid, "--massif-out-file=massif.out.%p");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	text = read_profile(_metadata, self->target);
	EXPECT_NE(NULL, strstr(text, "\ntime_unit: B\n"));
	free(text);
	CTL_RUN(&self->result, "massif-ctl", "attach", self->pid, "--duration=0");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "attach", self->pid, "--time-unit=i");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "attach", "--duration=1");
	EXPECT_NE(NULL, strstr(self->result.err, "no process specified"));
	EXPECT_EQ(1, ctl_exit_code(&self->result));
}

TEST_F_TIMEOUT(attach, until_interrupted, SECONDS)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int status;

	START(ctl_target("ctl_mappings"));
	for (int i = 0; i < 3; i++) {
		pid_t ctl = ctl_start(before_ctl, (const char *const[]){
			"massif-ctl", "attach", self->pid, NULL });

		EXPECT_TRUE(wait_for_words("; Ctrl-C detaches\n"));
		usleep(300000);
		EXPECT_TRUE(runs(ctl));
		kill(ctl, signals[i]);
		EXPECT_EQ(ctl, waitpid(ctl, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_TRUE(wait_for_words("wrote massif.out."));
		EXPECT_TRUE(runs(self->target));
		free(read_profile(_metadata, self->target));
		ctl_remove_files("massif.out");
		ctl_remove_files("a.err");
	}
}

/*
 * Under the usual rules, a program that only grows has no peak, and its last snapshot has a tree only by chance. But
 * the user wants to know what made it grow, so a profile made by `massif-ctl attach` always ends with a tree.
 */
TEST_F_TIMEOUT(attach, ends_with_a_tree, SECONDS)
{
	unsigned long most = 0;
	const char *at, *last;
	char *text;

	START("python3", "-c", "import time\nl = []\nopen('" READY "', 'w').close()\n"
	      "while True:\n l.append(bytearray(1 << 20))\n time.sleep(0.02)\n");
	ASSERT_TRUE(wait_until_ready());
	/* The total may have decreased meanwhile, and then need not have grown by one percent since. */
	CTL_RUN(&self->result, "massif-ctl", "attach", self->pid, "--duration=3", "--pages=both",
		"--detailed-freq=100", "--peak-inaccuracy=0.0");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_TRUE(runs(self->target));
	text = read_profile(_metadata, self->target);
	for (at = text; (at = strstr(at, "\nmem_heap_B=")); at++) {
		unsigned long bytes = ctl_number(at, "mem_heap_B=");

		most = bytes > most ? bytes : most;
	}
	last = ctl_last(text, "snapshot=");
	EXPECT_EQ(most, last_of(text, "mem_heap_B="));
	/* The last snapshot is the peak, and no other snapshot is marked as a peak. */
	EXPECT_EQ(strstr(text, "heap_tree=peak\n"), strstr(last, "heap_tree=peak\n"));
	EXPECT_NE(NULL, strstr(last, "heap_tree=peak\n"));
	EXPECT_NE(NULL, strstr(last, ": _PyEval_EvalFrameDefault "));
	EXPECT_NE(NULL, strstr(last, "[before attach]"));
	free(text);
}

/* massif-ctl stays attached until the process ends, so the file covers the rest of the process's life. */
TEST_F_TIMEOUT(attach, until_it_ends, SECONDS)
{
	char *text;
	int status;
	pid_t ctl;

	START(ctl_target("ctl_mappings"), "0", "a.end");
	ctl = ctl_start(before_ctl, (const char *const[]){ "massif-ctl", "attach", self->pid, NULL });
	EXPECT_TRUE(wait_for_words("attached to process "));
	/* The program runs until massif-ctl has attached, however long that takes. */
	ctl_write_file("a.end", "", 0600);
	EXPECT_EQ(ctl, waitpid(ctl, &status, 0));
	EXPECT_EQ(0, status);
	text = ctl_read_file("a.err");
	ASSERT_NE(NULL, text);
	EXPECT_EQ(NULL, strstr(text, "not exact")) {
		TH_LOG("%s", text);
	}
	free(text);
	EXPECT_EQ(self->target, waitpid(self->target, &status, 0));
	EXPECT_EQ(5, WEXITSTATUS(status));
	self->target = 0;
	EXPECT_EQ(1, ctl_find_files("massif.out", self->name));
}

/* massif-ctl attaches to real programs of different kinds. */
static const struct {
	const char *name;
	const char *argv[6];
	/* minimum growth of the total (mem_heap_B) in bytes, from the first snapshot to the last */
	unsigned long grows;
	const char *stack;	/* symbol name expected in a tree; NULL: none is expected */
} programs[] = {
	{ "python3", { "python3", "-c", "import time\nl = []\nwhile True:\n"
		       " l.append(bytearray(1 << 20))\n time.sleep(0.02)\n" }, 4 << 20, "python3" },
	{ "static busybox", { "busybox", "awk", "BEGIN { s = \"x\"; for (i = 0; ; i++) { a[i] = s i; "
			      "if (i % 5000 == 0) system(\"\") } }" }, 1 << 16, "busybox" },
	{ "Go", { "sh", "-c", "seq 1 100000000 | exec fzf --filter=7" }, 0, NULL },
	{ "musl", { "./a.musl" }, 1 << 20, ": mmap (in " },
	{ "JIT", { "luajit", "-e", "local t = {} for i = 1, 1e9 do t[i % 3000000 + 1] = {i} end" },
	  1 << 16, NULL },
};

/* Waits until fzf runs. Returns its pid, or 0 if it does not run. */
static pid_t pid_of_fzf(void)
{
	pid_t pid = 0;

	for (unsigned int i = 0; i < 300 * patience() && !pid; i++) {
		FILE *out = popen("pidof fzf", "r");

		if (!out)
			break;
		if (fscanf(out, "%d", &pid) != 1)
			pid = 0;
		pclose(out);
		if (!pid)
			usleep(50000);
	}
	return pid;
}

static void start_program(struct __test_metadata *_metadata, FIXTURE_DATA(attach) *self, size_t i)
{
	pid_t pid;

	self->target = ctl_start(before_target, programs[i].argv);
	ASSERT_TRUE(process_await_exec(self->target));
	/* The Go program to attach to is fzf. It is a child of the shell that ctl_start() started. */
	pid = !strcmp(programs[i].name, "Go") ? pid_of_fzf() : self->target;
	ASSERT_LT(0, pid);
	snprintf(self->pid, sizeof(self->pid), "%d", (int)pid);
	/* Let the program run for a while. */
	usleep(1500000);
}

/*
 * Returns whether massif-ctl's model of the process has the same mappings as /proc. The process must be stopped and the
 * model up to date.
 */
static bool equals_proc(const char *pid)
{
	struct kmod_intervals model, truth;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	if (kmod_intervals_read(&truth, path) || kmod_intervals_read(&model, "a.dump"))
		return false;
	same = truth.count && kmod_intervals_equal(&truth, &model);
	kmod_intervals_destroy(&truth);
	kmod_intervals_destroy(&model);
	return same;
}

/* Returns the number of bytes that the process @pid has mapped. */
static unsigned long bytes_of(const char *pid)
{
	unsigned long pages = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/statm", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * 4096;
}

/*
 * Waits one second, and then until the process @pid has mapped 2 * @bytes more than at the time of this call. The wait
 * has a timeout, which is longer on slow machines.
 */
static void let_grow(const char *pid, unsigned long bytes)
{
	unsigned long from = bytes_of(pid);

	sleep(1);
	for (unsigned int i = 0; i < 200 * patience() && bytes_of(pid) < from + 2 * bytes; i++)
		usleep(100000);
}

static void dump_intervals(void)
{
	before_ctl();
	setenv("MASSIF_DUMP_INTERVALS", "a.dump", 1);
}

TEST_F_TIMEOUT(attach, programs_of_every_kind, 280)
{
	char source[512];

	snprintf(source, sizeof(source), "%s/selftests/targets/ctl_mappings.c",
		 getenv("MASSIF_SRC") ?: ".");
	CTL_RUN(&self->result, "musl-gcc", "-g", "-O1", "-funwind-tables", "-o", "a.musl", source);
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		unsigned long first, last;
		pid_t pid, ctl;
		int status;
		char *text;

		start_program(_metadata, self, i);
		pid = atoi(self->pid);
		remove("a.err");
		remove("a.dump");
		ctl = ctl_start(dump_intervals, (const char *const[]){
			"massif-ctl", "attach", self->pid, "--detailed-freq=1", NULL });
		EXPECT_TRUE(wait_for_words("attached to process "));
		let_grow(self->pid, programs[i].grows);
		EXPECT_TRUE(stop(pid));
		kill(ctl, SIGINT);
		EXPECT_EQ(ctl, waitpid(ctl, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_TRUE(equals_proc(self->pid)) {
			TH_LOG("%s", programs[i].name);
		}
		kill(pid, SIGCONT);
		usleep(200000);
		/* The process still runs. */
		EXPECT_NE(0, process_state(pid));
		EXPECT_NE('Z', process_state(pid));
		text = read_profile(_metadata, pid);
		first = strtoul(strstr(text, "mem_heap_B=") ? strstr(text, "mem_heap_B=") + 11 : "0",
				NULL, 10);
		last = last_of(text, "mem_heap_B=");
		EXPECT_LE(programs[i].grows, last - first) {
			TH_LOG("%s: from %lu to %lu", programs[i].name, first, last);
		}
		EXPECT_NE(NULL, strstr(text, "[before attach]"));
		if (programs[i].stack)
			EXPECT_NE(NULL, strstr(text, programs[i].stack)) {
				TH_LOG("%s", programs[i].name);
			}
		free(text);
		kill(pid, SIGKILL);
		kill_target(&self->target);
	}
}

/* Each process that cannot be profiled gets one message, with advice. */
TEST_F_TIMEOUT(attach, refusals, SECONDS)
{
	pid_t first;

	CTL_RUN(&self->result, "massif-ctl", "attach", "999999");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl: there is no process 999999\n", self->result.err);
	ctl_result_free(&self->result);

	CTL_RUN(&self->result, "massif-ctl", "attach", "python3");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl: python3: not a process id\n", self->result.err);
	ctl_result_free(&self->result);

	CTL_RUN(&self->result, "massif-ctl", "attach", "2");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl: process 2 is a kernel thread: it has no memory of its own to profile\n", self->result.err);
	ctl_result_free(&self->result);

	START(ctl_target("ctl_mappings"));
	first = ctl_start(before_ctl, (const char *const[]){ "massif-ctl", "attach", self->pid,
							      NULL });
	EXPECT_TRUE(wait_for_words("attached to process "));
	CTL_RUN(&self->result, "massif-ctl", "attach", self->pid);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, " is already being profiled by massif\n"));
	kill(first, SIGINT);
	waitpid(first, NULL, 0);
	EXPECT_TRUE(runs(self->target));
}

static void before_traced(void)
{
	before_ctl();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/*
 * Continues a traced process until its next system call with the given number has returned. Returns false if the
 * process ends before that.
 */
static bool run_to_the_end_of(pid_t pid, unsigned long number)
{
	bool inside = false;
	int status;

	for (;;) {
		struct user_regs_struct regs;

		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			return false;
		if (regs.orig_rax != number)
			continue;
		if (inside)
			return true;
		inside = true;
	}
}

/* Starts an idle process with the pid @wanted; returns -1 if that pid is not available. */
static pid_t start_as(pid_t wanted)
{
	for (int i = 0; i < 50; i++) {
		FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");
		pid_t pid;

		if (!file || fprintf(file, "%d", (int)wanted - 1) < 0 || fclose(file))
			return -1;
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (pid == wanted)
			return pid;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return -1;
}

/* The pid is reused between opening the pidfd and attaching: the new process must not be profiled. */
TEST_F_TIMEOUT(attach, a_number_that_is_used_again, SECONDS)
{
	pid_t ctl, again;
	int status;
	char *text;

	START(ctl_target("ctl_mappings"));
	ctl = ctl_start(before_traced, (const char *const[]){ "massif-ctl", "attach", self->pid, "--duration=1", NULL });
	ASSERT_EQ(ctl, waitpid(ctl, &status, 0));
	ASSERT_TRUE(run_to_the_end_of(ctl, SYS_pidfd_open));
	again = self->target;
	kill_target(&self->target);
	again = start_as(again);
	ASSERT_LT(0, again);
	self->target = again;
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, ctl, NULL, NULL));
	ASSERT_EQ(ctl, waitpid(ctl, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(1, WEXITSTATUS(status));
	text = ctl_read_file("a.err");
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, " has just ended")) {
		TH_LOG("%s", text);
	}
	free(text);
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
	EXPECT_TRUE(runs(self->target));
}

static void become(uid_t id)
{
	if (kmod_session_allow() || setgroups(0, NULL) || setgid(id) || setuid(id))
		_exit(98);
}

static void become_user(void)
{
	before_target();
	become(USER);
}

static void become_other(void)
{
	become(OTHER);
}

/*
 * A user may attach to their own processes, but not to those of other users. If an attach is refused, the message says
 * what would help.
 */
TEST_F_TIMEOUT(attach, different_users, SECONDS)
{
	const char *own[] = { "massif-ctl", "attach", self->pid, "--duration=0.5", NULL };
	struct stat st;

	CTL_NEEDS_USER(USER);
	ASSERT_EQ(0, stat("/dev/massif", &st));
	ASSERT_EQ(0, chmod("/dev/massif", 0666));
	self->target = ctl_start(become_user, (const char *const[]){ ctl_target("ctl_mappings"),
								     NULL });
	snprintf(self->pid, sizeof(self->pid), "%d", (int)self->target);
	/* Until it has executed its program, the process is not dumpable. */
	ASSERT_TRUE(process_await_exec(self->target));
	usleep(300000);
	ctl_run(&self->result, NULL, become_user, own);
	EXPECT_EQ(0, ctl_exit_code(&self->result)) {
		TH_LOG("%s", self->result.err);
	}
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, become_other, own);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, " may not be profiled by this user: "));
	EXPECT_NE(NULL, strstr(self->result.err, "CAP_SYS_PTRACE"));
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
	ctl_result_free(&self->result);
	/* Root may attach to any process. */
	ctl_run(&self->result, NULL, NULL, own);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	chmod("/dev/massif", st.st_mode & 0777);
	EXPECT_TRUE(runs(self->target));
}

/* massif-ctl's default for --max-snapshots. */
#define MAX_SNAPSHOTS 100

/*
 * Returns whether every snapshot of the first file, except the last, has the same time as some snapshot of the second
 * file.
 */
static bool times_are_among(const char *first, const char *second)
{
	const char *at = strstr(first, "\ntime="), *next;

	if (!at)
		return false;
	for (; (next = strstr(at + 1, "\ntime=")); at = next) {
		char line[64];

		snprintf(line, sizeof(line), "%.*s\n", (int)strcspn(at + 1, "\n") + 1, at);
		if (!strstr(second, line))
			return false;
	}
	return true;
}

/* A snapshot command issued during the attach writes a file. The final file must repeat everything in that file. */
TEST_F_TIMEOUT(attach, snapshots_meanwhile, SECONDS)
{
	unsigned long first, second;
	char *text, *final;
	int status;
	pid_t ctl;

	START(ctl_target("ctl_mappings"));
	ctl = ctl_start(before_ctl, (const char *const[]){ "massif-ctl", "attach", self->pid,
							    "--threshold=0",
							    "--peak-inaccuracy=100000", NULL });
	EXPECT_TRUE(wait_for_words("attached to process "));
	sleep(1);
	CTL_RUN(&self->result, "massif-ctl", "list");
	EXPECT_NE(NULL, strstr(self->result.out, self->pid));
	EXPECT_NE(NULL, strstr(self->result.out, " pages "));
	EXPECT_NE(NULL, strstr(self->result.out, "/ctl_mappings\n"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "snapshot", "a.first");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	sleep(1);
	CTL_RUN(&self->result, "massif-ctl", "detailed_snapshot", "--pid", self->pid, "a.second");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	text = ctl_read_file("a.first");
	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_NE(NULL, strstr(text, "snapshot=0\n"));
	EXPECT_EQ(NULL, strstr(text, "snapshot=1\n"));
	first = last_of(text, "mem_heap_B=");
	free(text);
	text = ctl_read_file("a.second");
	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	second = last_of(text, "mem_heap_B=");
	EXPECT_LT(first, second);
	EXPECT_NE(NULL, strstr(text, ": map_one_more (ctl_mappings.c:"));
	EXPECT_NE(NULL, strstr(text, "[before attach]"));
	free(text);
	EXPECT_TRUE(stop(self->target));
	CTL_RUN(&self->result, "massif-ctl", "snapshot", "a.first");
	text = ctl_read_file("a.first");
	ASSERT_NE(NULL, text);
	first = last_of(text, "mem_heap_B=");
	free(text);
	ctl_result_free(&self->result);
	for (int i = 0; i < 2; i++) {
		char line[64];

		CTL_RUN(&self->result, "massif-ctl", "top", "--once", "--top=1000");
		snprintf(line, sizeof(line), "(useful %lu, ", first);
		EXPECT_EQ(0, ctl_exit_code(&self->result)) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_NE(NULL, strstr(self->result.out, "\nmode         pages\nstate        running\n"));
		EXPECT_NE(NULL, strstr(self->result.out, line)) {
			TH_LOG("%s %s", line, self->result.out);
		}
		EXPECT_NE(NULL, strstr(self->result.out, "  map_one_more (ctl_mappings.c:"));
		ctl_result_free(&self->result);
	}
	CTL_RUN(&self->result, "massif-ctl", "all_snapshots", "a.all");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	kill(ctl, SIGINT);
	EXPECT_EQ(ctl, waitpid(ctl, &status, 0));
	kill(self->target, SIGCONT);
	text = ctl_read_file("a.all");
	final = read_profile(_metadata, self->target);
	ASSERT_NE(NULL, text);
	/*
	 * The final file has the snapshots of the file that the snapshot command wrote, plus one taken at the end,
	 * which is not a new peak here. If this last snapshot fills the table of snapshots, half of the snapshots are
	 * culled.
	 */
	if (last_of(text, "snapshot=") + 2 < MAX_SNAPSHOTS) {
		EXPECT_EQ(0, strncmp(final, text, strlen(text)));
		EXPECT_EQ(last_of(text, "snapshot=") + 1, last_of(final, "snapshot="));
	}
	EXPECT_TRUE(times_are_among(final, text));
	free(text);
	free(final);
}

/* With --pages=both, one snapshot contains both resident and non-resident pages. */
TEST_F_TIMEOUT(attach, snapshot_of_both, SECONDS)
{
	char *text;
	pid_t ctl;

	START("python3", "-c", "import mmap, time\nm = mmap.mmap(-1, 1 << 24)\nopen('" READY "', 'w').close()\n"
	      "time.sleep(3600)");
	ASSERT_TRUE(wait_until_ready());
	ctl = ctl_start(before_ctl, (const char *const[]){ "massif-ctl", "attach", self->pid,
							    "--pages=both", NULL });
	EXPECT_TRUE(wait_for_words("attached to process "));
	CTL_RUN(&self->result, "massif-ctl", "snapshot", "a.plain");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "detailed_snapshot", "a.tree");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	text = ctl_read_file("a.plain");
	ASSERT_NE(NULL, text);
	EXPECT_LT(1 << 24, last_of(text, "mem_heap_B="));
	EXPECT_EQ(0, last_of(text, "mem_heap_extra_B="));
	free(text);
	text = ctl_read_file("a.tree");
	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	/* The first line of the tree is the total, and the snapshot's heap. */
	EXPECT_NE(NULL, strstr(text, " (mapped pages) resident"));
	EXPECT_LT(1 << 24, last_of(text, "mem_heap_B="));
	EXPECT_EQ(last_of(text, "mem_heap_B="), strtoull(strstr(strstr(text, "heap_tree=detailed\nn"), ": ") + 2, NULL, 10));
	free(text);
	kill(ctl, SIGINT);
	waitpid(ctl, NULL, 0);
}

/* Forked children have their own files; with --trace-children, so do the programs that they execute. */
TEST_F_TIMEOUT(attach, with_children, SECONDS)
{
	ASSERT_EQ(0, mkfifo("a.fifo", 0600));
	for (int traced = 0; traced < 2; traced++) {
		pid_t ctl;
		int fd, status;

		remove("a.err");
		START("sh", "-c", "read x <a.fifo; (:); /bin/true 'a b'; exec /bin/sleep 1");
		ctl = ctl_start(before_ctl, (const char *const[]){
			"massif-ctl", "attach", "-v", self->pid,
			traced ? "--trace-children=yes" : "--trace-children=no", NULL });
		EXPECT_TRUE(wait_for_words("attached to process "));
		fd = open("a.fifo", O_WRONLY);
		ASSERT_LE(0, fd);
		close(fd);
		EXPECT_EQ(ctl, waitpid(ctl, &status, 0));
		EXPECT_EQ(0, status);
		/*
		 * The subshell, which runs only the command ":", has a profile; with --trace-children, so do the
		 * programs true and sleep.
		 */
		EXPECT_EQ(traced ? 3 : 1, ctl_find_files("massif.out", NULL));
		if (traced) {
			char *text = read_profile(_metadata, self->target);

			EXPECT_NE(NULL, strstr(text, "\ncmd: /bin/sleep 1\n"));
			free(text);
		} else {
			EXPECT_TRUE(wait_for_words("executed another program (sleep)"));
		}
		kill_target(&self->target);
		ctl_remove_files("massif.out");
	}
}

TEST_HARNESS_MAIN
