// SPDX-License-Identifier: GPL-2.0
// Tests massif-ctl --pages-as-heap: each process gets a file, or a message says why it has none.

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/page_data.h"

#define SECONDS 120
#define NOBODY	65534

FIXTURE(pages) {
	struct ctl_result result;
	char name[256];
};

FIXTURE_SETUP(pages)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("p.");
}

FIXTURE_TEARDOWN(pages)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	ctl_remove_files("p.");
}

static void expect_file(struct __test_metadata *_metadata, const char *name)
{
	char *text = ctl_read_file(name);
	struct stat st;

	ASSERT_NE(NULL, text) {
		TH_LOG("%s", name);
	}
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_EQ(NULL, strstr(text, "snapshot=0\n#-----------\ntime=0\nmem_heap_B=0\n"));
	EXPECT_EQ(0, stat(name, &st));
	/* Only the owner may read the file, since it is derived from the program's stacks. */
	EXPECT_EQ(0600, st.st_mode & 0777);
	free(text);
}

TEST_F_TIMEOUT(pages, one_process, SECONDS)
{
	char *text;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap", "--time-unit=B",
		"--detailed-freq=1", "sh", "-c", "echo out; echo err >&2; exit 7");
	EXPECT_STREQ("out\n", self->result.out);
	EXPECT_STREQ("err\n", self->result.err);
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	ASSERT_EQ(1, ctl_find_files("massif.out.", self->name));
	expect_file(_metadata, self->name);
	text = ctl_read_file(self->name);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "desc: --pages-as-heap --time-unit=B --detailed-freq=1\n"
				     "cmd: sh -c echo out; echo err >&2; exit 7\n"
				     "time_unit: B\n"));
	EXPECT_NE(NULL, strstr(text, " (page allocation syscalls) mmap/mremap/brk, --alloc-fns, "
				     "etc.\n"));
	free(text);
}

/* The recording of a pages mode run is readable only by its owner, and has the same profile. */
TEST_F_TIMEOUT(pages, recording, SECONDS)
{
	struct stat st;
	char *text;

	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=p.rec", "--massif-out-file=p.out", "--pages=both",
		"sh", "-c", "echo out; exit 7");
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	ASSERT_EQ(0, stat("p.rec", &st));
	EXPECT_EQ(0600, st.st_mode & 0777);
	text = ctl_read_file("p.out");
	ASSERT_NE(NULL, text);
	CTL_RUN(&self->result, "massif-ctl", "export", "p.rec");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ(text, self->result.out);
	free(text);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "--by=library", "p.rec");
	EXPECT_NE(NULL, strstr(self->result.out, " resident, "));
	EXPECT_NE(NULL, strstr(self->result.out, "[file pages]"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=p.virtual", "--massif-out-file=p.out", "--pages=virtual",
		"true");
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "p.virtual");
	EXPECT_NE(NULL, strstr(self->result.out, " mapped) at "));
}

/* The page of massif-ctl report has the same trees and totals as the export, of each kind of pages. */
TEST_F_TIMEOUT(pages, report, 4 * SECONDS)
{
	static const char *const kinds[] = { "--pages=virtual", "--pages=resident", "--pages=both" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char difference[2048];

		CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=p.rec", "--massif-out-file=p.out", kinds[i],
			"--time-unit=B", "--detailed-freq=3", "sh", "-c", "echo out; exit 7");
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "report", "-o", "p.html", "p.rec");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "export", "--to=json", "-o", "p.json", "p.rec");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
		ASSERT_TRUE(page_data_extract("p.html", "p.data"));
		EXPECT_TRUE(page_data_equal_export("p.data", "p.json", false, difference)) {
			TH_LOG("%s: %s", kinds[i], difference);
		}
	}
	ctl_remove_files("out.");
}

/*
 * massif-ctl runs at a higher priority, because delays in massif-ctl slow the program down. The programs that it starts
 * do not inherit this priority.
 */
TEST_F_TIMEOUT(pages, comes_first, SECONDS)
{
	int nice = getpriority(PRIO_PROCESS, 0);
	char wanted[32];

	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap=yes", "sh", "-c",
		"own=$(cut -d' ' -f19 /proc/$$/stat); for i in $(seq 200); do"
		"	its=$(cut -d' ' -f19 /proc/$PPID/stat); [ $its = $own ] || break; sleep 0.05;"
		"done; echo $own $its");
	snprintf(wanted, sizeof(wanted), "%d %d\n", nice, nice - 5);
	EXPECT_STREQ(wanted, self->result.out);
}

TEST_F_TIMEOUT(pages, killed, SECONDS)
{
	const char *last;
	char *text;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap=yes", "--detailed-freq=100",
		"sh", "-c", "kill -KILL $$");
	EXPECT_TRUE(WIFSIGNALED(self->result.status));
	EXPECT_EQ(SIGKILL, WTERMSIG(self->result.status));
	ASSERT_EQ(1, ctl_find_files("massif.out.", self->name));
	expect_file(_metadata, self->name);
	/*
	 * SIGKILL has ended the program, so the last snapshot must have a tree. Otherwise only every hundredth snapshot
	 * (--detailed-freq=100) and the peak would have one.
	 */
	text = ctl_read_file(self->name);
	ASSERT_NE(NULL, text);
	last = ctl_last(text, "snapshot=");
	EXPECT_EQ(NULL, strstr(last, "heap_tree=empty\n"));
	EXPECT_NE(NULL, strstr(last, " (page allocation syscalls) mmap/mremap/brk, "));
	free(text);
}

/* A static program can be profiled, too, because nothing is preloaded. */
TEST_F_TIMEOUT(pages, static_program, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap", ctl_target("ctl_static"));
	EXPECT_EQ(9, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_EQ(1, ctl_find_files("massif.out.", self->name));
	expect_file(_metadata, self->name);
}

static unsigned int count(const char *text, const char *part)
{
	unsigned int n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/*
 * With -v -v, massif-ctl prints the same lines about snapshots as in heap mode. The number of these lines agrees with
 * the counters that --stats=yes prints. The number of pages added minus the number removed agrees with the total.
 */
TEST_F_TIMEOUT(pages, steps_and_counters, SECONDS)
{
	const char *err;
	char *text, *last;

	CTL_RUN(&self->result, "massif-ctl", "-v", "-v", "--stats=yes", "--pages-as-heap",
		"--time-unit=B", "--max-snapshots=10", "sh", "-c", "(:) ; exit 0");
	err = self->result.err;
	/* The forked process has its own lines in the log, with its pid. */
	EXPECT_EQ(2, count(err, "Massif: heap allocs:"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "-v", "-v", "--stats=yes", "--pages-as-heap",
		"--time-unit=B", "--max-snapshots=1000", "--massif-out-file=massif.out.one",
		ctl_target("ctl_static"));
	err = self->result.err;
	EXPECT_EQ(ctl_number(err, "Massif: real snapshots:"),
		  count(err, "Massif:   alloc S") + count(err, "Massif: dealloc S") +
			  count(err, "Massif: de-PEAK S") + count(err, "Massif: startup S") +
			  count(err, "Massif: endPEAK S"));
	EXPECT_EQ(0, ctl_number(err, "Massif: skipped snapshots:"));
	EXPECT_EQ(ctl_number(err, "Massif: peak snapshots:"),
		  count(err, "de-PEAK Sp") + count(err, "endPEAK Sp"));
	EXPECT_EQ(1, count(err, "startup S"));
	text = ctl_read_file("massif.out.one");
	ASSERT_NE(NULL, text);
	last = text;
	for (char *at = text; (at = strstr(at, "mem_heap_B=")); at++)
		last = at;
	/*
	 * If the last event unmapped a range of pages, the last snapshot counts only the first of these pages as
	 * removed. Its heap size is then larger than the number of pages given by "heap allocs" minus "heap frees".
	 */
	EXPECT_GE(ctl_number(last, "mem_heap_B="),
		  4096 * (ctl_number(err, "heap allocs:") - ctl_number(err, "heap frees:")));
	free(text);
}

/* Only those forked processes that do not call exec have files of their own. */
TEST_F_TIMEOUT(pages, forks, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap", "sh", "-c",
		"(:) & (:) & /bin/true & wait");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(3, ctl_find_files("massif.out.", self->name));
	expect_file(_metadata, self->name);
}

/*
 * Without %p in the file name, the program's file has exactly the given name. In the names of the other files, the pid
 * of the process is appended to the given name.
 */
TEST_F_TIMEOUT(pages, one_name_for_all, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap",
		"--massif-out-file=massif.out.all", "sh", "-c", "(:) & (:) & (:) & wait");
	EXPECT_EQ(4, ctl_find_files("massif.out", self->name));
	EXPECT_EQ(3, ctl_find_files("massif.out.all.", self->name));
	expect_file(_metadata, "massif.out.all");
	expect_file(_metadata, self->name);
}

TEST_F_TIMEOUT(pages, replaced, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--pages-as-heap", "sh", "-c",
		"exec /bin/true");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "executed another program (true); no file is written for "
						 "its previous program\n"));
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
}

/* Returns whether exactly one massif.out file has the command @cmd, which is a regular expression. */
static bool has_profile_of(const char *cmd)
{
	char pattern[128], command[256];

	snprintf(pattern, sizeof(pattern), "^cmd: %s$", cmd);
	snprintf(command, sizeof(command), "test $(grep -l '%s' massif.out.* | wc -l) = 1", pattern);
	return system(command) == 0;
}

/*
 * Each executed program has an output file that shows its own command line. An exec begins a new profile under the same
 * pid.
 */
TEST_F_TIMEOUT(pages, children_traced, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "-v", "--trace-children=yes", "--pages-as-heap", "sh",
		"-c", "/bin/echo a 'b  c'; (:); ls /dev/null; exec /usr/bin/env -i /bin/true");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("a b  c\n/dev/null\n", self->result.out);
	EXPECT_NE(NULL, strstr(self->result.err, " executed another program (env); a new profile starts\n"));
	EXPECT_EQ(NULL, strstr(self->result.err, "no file is written"));
	/* There are four profiles: of echo, of the subshell (:), of ls and of true. */
	EXPECT_EQ(4, ctl_find_files("massif.out.", self->name));
	expect_file(_metadata, self->name);
	EXPECT_TRUE(has_profile_of("/bin/echo a b  c"));
	EXPECT_TRUE(has_profile_of("ls /dev/null"));
	EXPECT_TRUE(has_profile_of("/bin/true"));
	/* The subshell was forked without exec, so its profile shows the command line of its parent, the shell. */
	EXPECT_TRUE(has_profile_of("sh -c /bin/echo .*"));
}

/*
 * If a program is skipped, so are the programs that it starts. A program is skipped if it matches a pattern of
 * --trace-children-skip or of --trace-children-skip-by-arg.
 */
TEST_F_TIMEOUT(pages, children_skipped, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "--trace-children=yes", "--pages-as-heap",
		"--trace-children-skip=/none,*/env,/bin/ech?", "--trace-children-skip-by-arg=-z*,x",
		"sh", "-c", "/bin/echo a; /usr/bin/env /bin/cat /dev/null; "
		"test -e /none; /bin/ls x y; /bin/uname; :");
	EXPECT_EQ(2, ctl_find_files("massif.out.", self->name));
	EXPECT_TRUE(has_profile_of("/bin/uname"));
	EXPECT_TRUE(has_profile_of("sh -c /bin/echo .*"));
}

static void end_of_fifo(void)
{
	int fd = open("p.fifo", O_WRONLY);

	close(fd);
}

static bool is_gone_soon(pid_t pid)
{
	for (int i = 0; i < 3000 && kill(pid, 0) == 0; i++)
		usleep(20000);
	return kill(pid, 0) != 0;
}

/* The forked shell waits for the FIFO, so it outlives the program that massif-ctl started. */
TEST_F_TIMEOUT(pages, left_behind, SECONDS)
{
	pid_t background;
	char file[64];

	ASSERT_EQ(0, mkfifo("p.fifo", 0600));
	for (int told = 0; told < 2; told++) {
		struct ctl_result list;
		pid_t shell;

		CTL_RUN(&self->result, "massif-ctl", "--pages-as-heap", "sh", "-c",
			"(exec >/dev/null 2>&1; read x <p.fifo; :) & exit 4");
		EXPECT_EQ(4, ctl_exit_code(&self->result));
		background = (pid_t)ctl_number(self->result.err, "in massif-ctl (pid ");
		shell = atoi(ctl_last(self->result.err, "massif-ctl: sh (pid "));
		ASSERT_LT(0, background) {
			TH_LOG("%s", self->result.err);
		}
		EXPECT_EQ(1, ctl_find_files("massif.out", NULL));
		CTL_RUN(&list, "massif-ctl", "list");
		EXPECT_EQ(shell, (pid_t)ctl_number(list.out, "COMMAND\n")) {
			TH_LOG("%s", list.out);
		}
		ctl_result_free(&list);
		if (told)
			kill(background, SIGTERM);
		else
			end_of_fifo();
		EXPECT_TRUE(is_gone_soon(background));
		snprintf(file, sizeof(file), "massif.out.%d", (int)shell);
		expect_file(_metadata, file);
		EXPECT_EQ(2, ctl_find_files("massif.out", NULL));
		if (told)
			end_of_fifo();
		ctl_remove_files("massif.");
		ctl_result_free(&self->result);
	}
}

/*
 * With --wait=yes, massif-ctl stays in the foreground until the forked shell has ended. The shell's profile is then
 * complete, and massif-ctl returns the program's exit status.
 */
TEST_F_TIMEOUT(pages, waited_for, SECONDS)
{
	CTL_RUN(&self->result, "massif-ctl", "--pages-as-heap", "--wait=yes", "sh", "-c",
		"(exec >/dev/null 2>&1; sleep 1; :) & exit 4");
	EXPECT_EQ(4, ctl_exit_code(&self->result));
	EXPECT_EQ(2, ctl_find_files("massif.out", self->name));
	expect_file(_metadata, self->name);
	EXPECT_NE(NULL, strstr(self->result.err, "waiting for the end of these processes (--wait=yes)\n"));
}

static void become_nobody(void)
{
	if (kmod_session_allow() || setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(98);
}

TEST_F_TIMEOUT(pages, set_uid, SECONDS)
{
	const char *argv[] = { "massif-ctl", "-q", "--pages-as-heap", "./p.id", "-u", NULL };
	struct stat st;

	CTL_NEEDS_USER(NOBODY);
	CTL_RUN(&self->result, "cp", "/usr/bin/id", "p.id");
	ctl_result_free(&self->result);
	ASSERT_EQ(0, chmod("p.id", 04755));
	ASSERT_EQ(0, chmod(".", 0777));
	ASSERT_EQ(0, stat("/dev/massif", &st));
	ASSERT_EQ(0, chmod("/dev/massif", 0666));
	ctl_run(&self->result, NULL, become_nobody, argv);
	chmod("/dev/massif", st.st_mode & 0777);
	EXPECT_STREQ("0\n", self->result.out);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(self->result.err,
		  strstr(self->result.err, "massif-ctl: ./p.id gains privileges (set-uid, set-gid or "
					   "capabilities), so it is not profiled"));
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
}

/* Only one line, with the reason, is printed, and the program is not started. */
TEST_F_TIMEOUT(pages, no_permission, SECONDS)
{
	const char *argv[] = { "massif-ctl", "--pages-as-heap", "echo", "started", NULL };
	struct stat st;

	CTL_NEEDS_USER(NOBODY);
	ASSERT_EQ(0, chmod(".", 0777));
	ASSERT_EQ(0, stat("/dev/massif", &st));
	ASSERT_EQ(0, chmod("/dev/massif", 0600));
	ctl_run(&self->result, NULL, become_nobody, argv);
	chmod("/dev/massif", st.st_mode & 0777);
	EXPECT_STREQ("", self->result.out);
	EXPECT_NE(NULL, strstr(self->result.err, "/dev/massif"));
	EXPECT_EQ(self->result.err + strlen(self->result.err) - 1, strchr(self->result.err, '\n'));
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_EQ(0, ctl_find_files("massif.out", NULL));
}

TEST_HARNESS_MAIN
