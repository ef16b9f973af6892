// SPDX-License-Identifier: GPL-2.0
// In heap mode, the child processes of a program and the programs that it executes each get the same output file as
// under Valgrind's Massif.

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/diff_end.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND  "/usr/bin/valgrind"
#define FILES_MAX 512

FIXTURE(children) {
	struct ctl_result result, theirs;
	char *files[2][FILES_MAX]; /* files of massif-ctl and of Valgrind, normalized and sorted */
	size_t n[2];
};

FIXTURE_SETUP(children)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("c.");
	setenv("HOME", "/nonexistent", 1);
	unsetenv("VALGRIND_OPTS");
	unsetenv("MASSIF_OPTS");
}

FIXTURE_TEARDOWN(children)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < self->n[side]; i++)
			free(self->files[side][i]);
	}
	ctl_result_free(&self->result);
	ctl_result_free(&self->theirs);
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_remove_files("massif.out");
	ctl_remove_files("c.");
}

/* Removes addresses, which differ from run to run. */
static void blank_addresses(char *text)
{
	char *to = text;

	while (*text) {
		*to++ = *text;
		if (*text++ == 'x' && to[-2] == '0')
			while (isxdigit((unsigned char)*text))
				text++;
	}
	*to = '\0';
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads and removes the files whose names begin with @prefix. */
static size_t take_files(const char *prefix, char *files[FILES_MAX])
{
	char name[256];
	size_t n = 0;

	while (n < FILES_MAX && ctl_find_files(prefix, name)) {
		files[n] = ctl_read_file(name);
		blank_addresses(files[n++]);
		unlink(name);
	}
	qsort(files, n, sizeof(files[0]), compare);
	return n;
}

/*
 * Reads and removes Valgrind's files, whose names begin with @prefix. Adds to each of them the snapshot at the
 * program's end, as recorded in c.end.PID. If there is no such record, the last snapshot in Valgrind's file is assumed
 * to be the one at the end. See diff_end_add().
 */
static size_t take_their_files(const char *prefix, const char *const *options, char *files[FILES_MAX])
{
	char name[256], end_name[256];
	size_t n = 0;
	bool added;

	while (n < FILES_MAX && ctl_find_files(prefix, name)) {
		char *text = ctl_read_file(name), *end;

		snprintf(end_name, sizeof(end_name), "c.end%s", strrchr(name, '.'));
		end = ctl_read_file(end_name);
		files[n] = diff_end_add(text, end, NULL, options, &added);
		blank_addresses(files[n++]);
		unlink(name);
		free(text);
		free(end);
	}
	qsort(files, n, sizeof(files[0]), compare);
	ctl_remove_files("c.end.");
	return n;
}

/* Returns how many times @words occurs in @text. */
static size_t count(const char *text, const char *words)
{
	size_t n = 0;

	for (; (text = strstr(text, words)); text += strlen(words))
		n++;
	return n;
}

/* Returns how many of massif-ctl's files contain @line. */
static size_t count_lines(const struct _test_data_children *self, const char *line)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n[0]; i++) {
		const char *found = strstr(self->files[0][i], line);

		n += found && found[-1] == '\n' && found[strlen(line)] == '\n';
	}
	return n;
}

/*
 * Called in the forked child before it executes Valgrind: preloads the library libdiff_end.so into the programs that
 * run under Valgrind.
 */
static void preload_end(void)
{
	char path[4096];

	if (!getcwd(path, sizeof(path) - 16))
		_exit(98);
	setenv("DIFF_END", strcat(path, "/c.end.%p"), 1);
	setenv("LD_PRELOAD", ctl_target("libdiff_end.so"), 1);
}

static void run_side(struct _test_data_children *self, int side, const char *trace,
		     const char *const *args)
{
	struct ctl_result *result = side ? &self->theirs : &self->result;
	const char *argv[32] = { NULL };
	size_t n = 0;

	if (side) {
		argv[n++] = VALGRIND;
		argv[n++] = "--tool=massif";
		argv[n++] = "--run-libc-freeres=no";
	} else {
		argv[n++] = "massif-ctl";
	}
	argv[n++] = "-q";
	argv[n++] = trace;
	argv[n++] = "--time-unit=B";
	/* Makes sure that the last snapshot has a tree. */
	argv[n++] = "--detailed-freq=1";
	argv[n++] = "--massif-out-file=massif.out.%q{SIDE}.%p";
	while (*args)
		argv[n++] = *args++;
	setenv("SIDE", side ? "theirs" : "ours", 1);
	ctl_run(result, NULL, side ? preload_end : NULL, argv);
	self->n[side] = side ? take_their_files("massif.out.theirs", argv, self->files[side]) :
			       take_files("massif.out.ours", self->files[side]);
}

/* Runs the program under both profilers and compares the files. */
static void run_both(struct __test_metadata *_metadata, struct _test_data_children *self,
		     const char *trace, const char *const *args)
{
	run_side(self, 0, trace, args);
	run_side(self, 1, trace, args);
	EXPECT_EQ(ctl_exit_code(&self->theirs), ctl_exit_code(&self->result));
	EXPECT_STREQ(self->theirs.out, self->result.out);
	EXPECT_EQ(self->n[1], self->n[0]);
	for (size_t i = 0; i < self->n[0] && i < self->n[1]; i++) {
		EXPECT_TRUE(ctl_is_massif_file(self->files[0][i]));
		EXPECT_STREQ(self->files[1][i], self->files[0][i]);
	}
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define NEED_VALGRIND()                                       \
	do {                                                  \
		if (access(VALGRIND, X_OK))                   \
			SKIP(return, "there is no Valgrind"); \
	} while (0)

static void forget_files(struct _test_data_children *self)
{
	for (int side = 0; side < 2; side++) {
		while (self->n[side])
			free(self->files[side][--self->n[side]]);
	}
	ctl_result_free(&self->result);
	ctl_result_free(&self->theirs);
}

/* Compares only the lines before the first snapshot, because a shell's memory depends on its environment. */
static void compare_heads(struct __test_metadata *_metadata, struct _test_data_children *self)
{
	ASSERT_EQ(self->n[1], self->n[0]);
	for (size_t i = 0; i < self->n[0]; i++) {
		size_t length = strcspn(self->files[0][i], "#");

		EXPECT_EQ(length, strcspn(self->files[1][i], "#"));
		EXPECT_EQ(0, strncmp(self->files[0][i], self->files[1][i], length)) {
			TH_LOG("%.*s%.*s", (int)length, self->files[0][i], (int)length,
			       self->files[1][i]);
		}
	}
}

static char target[4096];

/*
 * A program executed by the profiled program starts a new profile with the same options and its own file; the
 * profile from before the exec is discarded.
 */
TEST_F_TIMEOUT(children, traced, 120)
{
	static const struct {
		const char *way;
		size_t files;
	} ways[] = {
		{ "exec", 1 }, { "fork_exec", 2 }, { "close_exec", 2 },
		{ "vfork_exec", 2 }, { "spawn", 2 }, { "chain", 2 },
	};

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		TH_LOG("%s", ways[i].way);
		run_both(_metadata, self, "--trace-children=yes",
			 ARGS(target, ways[i].way, target, "leaf", "two words", ""));
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		EXPECT_EQ(ways[i].files, self->n[0]);
		EXPECT_STREQ("", self->result.err);
		forget_files(self);
	}
}

static const char *const bare_ways[] = {
	"spawn_bare", "spawnp_bare", "exec_at", "exec_number", "exec_at_number", "cleared",
};

/* Programs are followed whatever environment they are given and whichever exec or spawn function starts them. */
TEST_F_TIMEOUT(children, traced_without_environment, 120)
{
	NEED_VALGRIND();
	/* In an empty environment, which has no TMPDIR, Valgrind has to write to /tmp. */
	if (access("/tmp", W_OK))
		SKIP(return, "/tmp is not writable: Valgrind cannot start in an empty environment");
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < sizeof(bare_ways) / sizeof(bare_ways[0]); i++) {
		TH_LOG("%s", bare_ways[i]);
		run_both(_metadata, self, "--trace-children=yes", ARGS(target, bare_ways[i], target, "leaf"));
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		EXPECT_EQ(2, self->n[0]);
		EXPECT_STREQ("", self->result.err);
		forget_files(self);
	}
}

/* The programs get exactly the environment that they were given, even without --trace-children. */
TEST_F_TIMEOUT(children, executed_with_their_environment, 120)
{
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < 5; i++) {
		run_side(self, 0, "--trace-children=no", ARGS(target, bare_ways[i], "/usr/bin/env"));
		EXPECT_STREQ("A=b\nSIDE=ours\n", self->result.out);
		EXPECT_EQ(1, self->n[0]);
		forget_files(self);
	}
	run_side(self, 0, "--trace-children=yes", ARGS(target, "exec_at_descriptor", "/usr/bin/env"));
	EXPECT_NE(NULL, strstr(self->result.out, "A=b\nSIDE=ours\n"));
	EXPECT_EQ(2, self->n[0]);
}

/*
 * An exec call with an unreadable environment fails, as it does without massif; one with an environment that ends at
 * the last readable byte does not.
 */
TEST_F(children, misused)
{
	static const char *const traces[] = { "--trace-children=no", "--trace-children=yes" };

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < 2; i++) {
		TH_LOG("%s", traces[i]);
		ctl_run(&self->theirs, NULL, NULL, ARGS(target, "misused", "/usr/bin/env"));
		EXPECT_EQ(0, ctl_exit_code(&self->theirs));
		EXPECT_NE(NULL, strstr(self->theirs.out, "bad path: Bad address\n"));
		run_side(self, 0, traces[i], ARGS(target, "misused", "/usr/bin/env"));
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		if (i) {
			/*
			 * The program executes env with the environment EDGE=1, which env prints. The shim adds two
			 * variables, which env prints before EDGE=1. Remove these two lines, so that the output can be
			 * compared with that of the run without massif.
			 */
			char *words = strstr(self->result.out, "LD_PRELOAD="),
			     *edge = strstr(self->result.out, "EDGE=1\n");

			ASSERT_NE(NULL, words);
			ASSERT_NE(NULL, edge);
			memmove(words, edge, strlen(edge) + 1);
		}
		EXPECT_STREQ(self->theirs.out, self->result.out);
		forget_files(self);
	}
}

/*
 * massif-ctl resolves a relative file name in the directory in which massif-ctl was started. Massif resolves it in the
 * working directory of each executed program, where its files would disturb programs like git and make.
 */
TEST_F_TIMEOUT(children, traced_elsewhere, 60)
{
	char name[256];

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	ASSERT_EQ(0, mkdir("c.sub", 0755));
	for (int side = 0; side < 2; side++)
		run_side(self, side, "--trace-children=yes", ARGS(target, "elsewhere", target, "leaf"));
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	EXPECT_EQ(7, ctl_exit_code(&self->theirs));
	EXPECT_EQ(2, self->n[0]);
	EXPECT_EQ(1, self->n[1]);
	ASSERT_EQ(0, chdir("c.sub"));
	EXPECT_EQ(0, ctl_find_files("massif.out.ours", name));
	EXPECT_EQ(1, ctl_find_files("massif.out.theirs", name));
	ctl_remove_files("massif.out.");
	ASSERT_EQ(0, chdir(".."));
	rmdir("c.sub");
}

/*
 * Without --trace-children only the program itself gets an output file, and the programs that it executes get their
 * original environment.
 */
TEST_F_TIMEOUT(children, not_traced, 60)
{
	static const char *const ways[] = { "vfork_exec", "spawn", "fork_exec", "close_exec" };

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		TH_LOG("%s", ways[i]);
		run_both(_metadata, self, "--trace-children=no", ARGS(target, ways[i], target, "leaf"));
		EXPECT_EQ(1, self->n[0]);
		forget_files(self);
	}
	run_side(self, 0, "--trace-children=no", ARGS(target, "spawn", "/usr/bin/env"));
	EXPECT_EQ(1, self->n[0]);
	CTL_RUN(&self->theirs, target, "spawn", "/usr/bin/env");
	EXPECT_STREQ(self->theirs.out, self->result.out);
}

/* A forked child continues with a copy of its parent's profile, and both processes have a file. */
TEST_F_TIMEOUT(children, forked, 200)
{
	static const struct {
		const char *way;
		size_t files;
	} ways[] = {
		{ "forked", 2 }, { "forked_twice", 3 },
		/* Both orders are tested: the first event after the fork may be in the parent or in the child. */
		{ "late", 2 }, { "late_ones", 5 }, { "late_closed", 2 }, { "orphan", 3 },
		{ "between", 3 },
	};
	const size_t n_ways = sizeof(ways) / sizeof(ways[0]);
	static const char *const units[] = { "--max-snapshots=100", "--max-snapshots=10",
					     "--ignore-fn=shrink" };

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < 3 * n_ways; i++) {
		TH_LOG("%s %s", ways[i / 3].way, units[i % 3]);
		run_both(_metadata, self, "--trace-children=no",
			 ARGS(units[i % 3], target, ways[i / 3].way));
		EXPECT_EQ(ways[i / 3].files, self->n[0]);
		EXPECT_STREQ("", self->result.err);
		forget_files(self);
	}
}

/*
 * The child's first event is in a new thread. The child's profile is not compared with Massif's, because the block with
 * the thread's table of TLS blocks (its DTV) differs in size: under massif-ctl, the table has an entry for the shim.
 */
TEST_F(children, forked_then_thread)
{
	size_t with_thread = 0;

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	run_side(self, 0, "--trace-children=no",
		 ARGS("--detailed-freq=1", "--threshold=0", target, "late_thread"));
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_EQ(2, self->n[0]);
	for (size_t i = 0; i < 2; i++) {
		EXPECT_TRUE(ctl_is_massif_file(self->files[0][i]));
		/* There are five blocks; the child frees three of them and allocates five more. */
		with_thread += strstr(self->files[0][i], "n1: 3500 0x: change_in_thread") != NULL;
		with_thread += strstr(self->files[0][i], "n1: 4900 0x: change_in_thread") != NULL;
	}
	EXPECT_EQ(3, with_thread);
}

/* Returns how many sessions are mapped by massif-ctl. */
static size_t count_sessions(pid_t pid)
{
	char path[64], name[256];
	struct dirent *entry;
	size_t n = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, name, sizeof(name) - 1);

		name[length > 0 ? length : 0] = '\0';
		n += strstr(name, "memfd:massif-session") != NULL;
	}
	if (directory)
		closedir(directory);
	return n;
}

static int program_in[2], program_out[2];

static void connect_program(void)
{
	dup2(program_in[0], STDIN_FILENO);
	dup2(program_out[1], STDOUT_FILENO);
}

/* Parent and child share one profile until either of them allocates. */
TEST_F(children, copied_late)
{
	char letter;
	int status;
	pid_t pid;

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	ASSERT_EQ(0, pipe2(program_in, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(program_out, O_CLOEXEC));
	pid = ctl_start(connect_program, (const char *[]){ "massif-ctl", "-q", target, "idle", NULL });
	ASSERT_EQ(1, read(program_out[0], &letter, 1));
	EXPECT_EQ(1, count_sessions(pid));
	ASSERT_EQ(1, write(program_in[1], "x", 1));
	ASSERT_EQ(1, read(program_out[0], &letter, 1));
	EXPECT_EQ(3, count_sessions(pid));
	ASSERT_EQ(1, write(program_in[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(7, WEXITSTATUS(status));
	EXPECT_EQ(3, take_files("massif.out", self->files[0]));
}

/*
 * With Massif, if the file name has no %p, the last process overwrites the file. With massif-ctl, each process gets a
 * complete file; the child's file is written next to the first process's.
 */
TEST_F_TIMEOUT(children, forked_to_one_file, 60)
{
	static const char *const argv[2][8] = {
		{ "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=massif.out.one", target,
		  "forked" },
		{ VALGRIND, "--tool=massif", "-q", "--time-unit=B",
		  "--massif-out-file=massif.out.one", target, "forked" },
	};

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (int side = 0; side < 2; side++) {
		struct ctl_result *result = side ? &self->theirs : &self->result;

		ctl_run(result, NULL, NULL, argv[side]);
		EXPECT_EQ(7, ctl_exit_code(result));
		if (!side) {
			ASSERT_EQ(1, take_files("massif.out.one.", self->files[side]));
			EXPECT_TRUE(ctl_is_massif_file(self->files[side][0]));
			free(self->files[side][0]);
		}
		self->n[side] = take_files("massif.out", self->files[side]);
		ASSERT_EQ(1, self->n[side]);
	}
	EXPECT_TRUE(ctl_is_massif_file(self->files[0][0]));
	EXPECT_STREQ(self->files[1][0], self->files[0][0]);
}

/* Forks while threads allocate, resize and free: there is no deadlock, and all sums are consistent. */
TEST_F_TIMEOUT(children, forked_among_threads, 1000)
{
	char name[256], other[300];
	size_t n = 0;

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	ctl_remove_files("c.xt.");
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
		"--threshold=0", "--xtree-memory=allocs", "--xtree-memory-file=c.xt.%p", target,
		"fork_threads", "200");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	while (ctl_find_files("massif.out.", name)) {
		char *text = ctl_read_file(name), *xtree;

		snprintf(other, sizeof(other), "c.xt.%s", name + strlen("massif.out."));
		xtree = ctl_read_file(other);
		ASSERT_NE(NULL, xtree);
		EXPECT_TRUE(ctl_is_massif_file(text));
		EXPECT_TRUE(massif_text_sums_agree(text, xtree));
		free(text);
		free(xtree);
		unlink(name);
		unlink(other);
		n++;
	}
	EXPECT_EQ(201, n);
}

/* With --child-silent-after-fork there are no messages about children, but the children still have files. */
TEST_F(children, silent)
{
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	CTL_RUN(&self->result, "massif-ctl", "-v", "--stats=yes", "--trace-malloc=yes",
		"--child-silent-after-fork=yes", target, "forked");
	self->n[0] = take_files("massif.out", self->files[0]);
	EXPECT_EQ(2, self->n[0]);
	EXPECT_NE(NULL, strstr(self->result.err, "; wrote massif.out."));
	EXPECT_EQ(NULL, strstr(strstr(self->result.err, "; wrote massif.out.") + 1,
			       "; wrote massif.out."));
	EXPECT_EQ(NULL, strstr(self->result.err, "malloc(700)"));
	EXPECT_NE(NULL, strstr(self->result.err, "malloc(300)"));
}

/* The files show the command of every program, including scripts. */
TEST_F_TIMEOUT(children, script, 120)
{
	NEED_VALGRIND();
	ctl_write_file("c.script", "#!/bin/sh -e\n"
				   "/bin/echo one; (/bin/echo two) | cat\n"
				   "./c.inner a 'b c'\n"
				   "exec ./c.bare d\n", 0755);
	ctl_write_file("c.inner", "#!/bin/sh\n/bin/true inner\n", 0755);
	ctl_write_file("c.bare", "#! /bin/sh\n/bin/true bare\n:\n", 0755);
	run_side(self, 0, "--trace-children=yes", ARGS("./c.script", "x"));
	run_side(self, 1, "--trace-children=yes", ARGS("./c.script", "x"));
	EXPECT_STREQ("one\ntwo\n", self->result.out);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(1, count_lines(self, "cmd: /bin/echo one"));
	EXPECT_EQ(1, count_lines(self, "cmd: ./c.inner a b c"));
	EXPECT_EQ(1, count_lines(self, "cmd: /bin/true inner"));
	EXPECT_EQ(1, count_lines(self, "cmd: ./c.bare d"));
	EXPECT_EQ(0, count_lines(self, "cmd: ./c.script x"));
	EXPECT_LT(5, self->n[0]);
	compare_heads(_metadata, self);
}

/* --trace-children-skip skips a program and everything that the program starts. */
TEST_F_TIMEOUT(children, skipped, 60)
{
	static const char *const options[] = { "--trace-children-skip=/none,*/env",
					       "--trace-children-skip-by-arg=-z*,x" };

	NEED_VALGRIND();
	for (int i = 0; i < 2; i++) {
		for (int side = 0; side < 2; side++)
			run_side(self, side, "--trace-children=yes",
				 ARGS(options[i], "/bin/sh", "-c",
				      "/usr/bin/env /bin/echo out; /bin/echo x; /bin/echo in; :"));
		compare_heads(_metadata, self);
		EXPECT_STREQ("out\nx\nin\n", self->result.out);
		EXPECT_EQ(1, count_lines(self, "cmd: /bin/echo in"));
		EXPECT_EQ(i == 0 ? 0 : 1, count_lines(self, "cmd: /bin/echo out"));
		EXPECT_EQ(i == 0 ? 1 : 0, count_lines(self, "cmd: /bin/echo x"));
		forget_files(self);
	}
}

/* Each program is executed with an environment that differs from that of the process that executes it. */
TEST_F_TIMEOUT(children, own_environment, 60)
{
	static const char *const scripts[] = {
		"/usr/bin/env -i /bin/echo in; :",
		"unset LD_PRELOAD MASSIF_SESSION; /bin/echo in; :",
		"/usr/bin/env -i LD_PRELOAD=libm.so.6 A=b /bin/sh -c '/bin/echo in; :'; :",
		/* The shell that runs between them shall find the shim's path in such a list, too. */
		"export LD_PRELOAD=\"$LD_PRELOAD libm.so.6\"; /bin/sh -c '/bin/echo in; :'; :",
		"export LD_PRELOAD=\"libm.so.6:$LD_PRELOAD\"; /bin/sh -c '/bin/echo in; :'; :",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		TH_LOG("%s", scripts[i]);
		run_side(self, 0, "--trace-children=yes", ARGS("/bin/sh", "-c", scripts[i]));
		EXPECT_STREQ("in\n", self->result.out);
		EXPECT_STREQ("", self->result.err);
		EXPECT_EQ(1, count_lines(self, "cmd: /bin/echo in"));
		forget_files(self);
	}
	/*
	 * An executed program keeps the environment that it was given. Without --trace-children, nothing is added to
	 * this environment.
	 */
	run_side(self, 0, "--trace-children=yes",
		 ARGS("/usr/bin/env", "-i", "LD_PRELOAD=libm.so.6", "A=b", "/usr/bin/env"));
	EXPECT_NE(NULL, strstr(self->result.out, ":libm.so.6\n"));
	EXPECT_NE(NULL, strstr(self->result.out, "A=b\n"));
	forget_files(self);
	run_side(self, 0, "--trace-children=no", ARGS("/bin/sh", "-c", "/usr/bin/env -i A=b /usr/bin/env"));
	EXPECT_STREQ("A=b\n", self->result.out);
}

/* A child is killed while the others run. */
TEST_F(children, killed)
{
	const char *found = NULL;

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	run_side(self, 0, "--trace-children=yes", ARGS(target, "killed", target, "stay"));
	EXPECT_EQ(128 + SIGKILL, ctl_exit_code(&self->result));
	ASSERT_EQ(2, self->n[0]);
	for (size_t i = 0; i < 2; i++) {
		EXPECT_TRUE(ctl_is_massif_file(self->files[0][i]));
		if (strstr(self->files[0][i], " stay\ntime_unit") &&
		    !strstr(self->files[0][i], " killed "))
			found = self->files[0][i];
	}
	ASSERT_NE(NULL, found);
	EXPECT_NE(NULL, strstr(found, "mem_heap_B=10000\n"));
}

/*
 * A forked child is killed while its parent continues. Massif writes no file for a process that is killed by SIGKILL,
 * so massif-ctl's files are also compared with those from a run under Massif in which the child is killed by a
 * different signal.
 */
TEST_F_TIMEOUT(children, killed_child, 60)
{
	static const struct {
		const char *ours, *theirs;
		size_t files; /* number of files that Valgrind writes for parent and child */
	} signals[] = { { "15", "15", 2 }, { "9", "9", 1 }, { "9", "6", 2 } };

	NEED_VALGRIND();
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		TH_LOG("%s, Valgrind's %s", signals[i].ours, signals[i].theirs);
		setenv("CHILD_SIGNAL", signals[i].ours, 1);
		run_side(self, 0, "--trace-children=no", ARGS(target, "killed_child"));
		setenv("CHILD_SIGNAL", signals[i].theirs, 1);
		run_side(self, 1, "--trace-children=no", ARGS(target, "killed_child"));
		EXPECT_EQ(7, ctl_exit_code(&self->result));
		EXPECT_EQ(7, ctl_exit_code(&self->theirs));
		EXPECT_STREQ("", self->result.err);
		EXPECT_EQ(2, self->n[0]);
		EXPECT_EQ(signals[i].files, self->n[1]);
		for (size_t j = 0; signals[i].files == 2 && j < self->n[0]; j++)
			EXPECT_STREQ(self->files[1][j], self->files[0][j]);
		forget_files(self);
	}
	unsetenv("CHILD_SIGNAL");
}

/* A static program runs, although the shim cannot be loaded into it. */
TEST_F(children, static_one)
{
	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	run_side(self, 0, "--trace-children=yes", ARGS(target, "chain", ctl_target("ctl_static")));
	EXPECT_STREQ("1 arguments\n", self->result.out);
	EXPECT_EQ(9, ctl_exit_code(&self->result));
	EXPECT_EQ(1, self->n[0]);
	EXPECT_EQ(1, count(self->result.err, "/ctl_static is statically linked, so heap mode cannot "
					     "profile it; use --pages-as-heap=yes\n"));
}

/*
 * A process that executes one program after another announces each exec to massif-ctl, and connects to massif-ctl again
 * shortly after. massif-ctl must not report it as executing a program without the shim.
 */
TEST_F_TIMEOUT(children, executed_in_turn, 120)
{
	static const char chain[] = "exec env A=1 env -i env B=1 /bin/true";

	for (int run = 0; run < 20; run++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "-q", "--trace-children=yes", "--massif-out-file=massif.out.turn",
			"/bin/sh", "-c", run % 2 ? chain : "(exec env A=1 env B=1 sleep 0.02); exec env C=1 true");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_EQ(NULL, strstr(self->result.err, "heap mode"));
		EXPECT_LE(1, ctl_find_files("massif.out.turn", NULL));
		ctl_remove_files("massif.out");
	}
}

/* A static program is reported once, whichever function executes it, and from whichever directory. */
TEST_F(children, obstacles)
{
	static const char *const ways[] = { "fork_exec", "vfork_exec", "spawn", "exec_number", "cleared" };
	char path[4096];

	snprintf(target, sizeof(target), "%s", ctl_target("heap_children"));
	snprintf(path, sizeof(path), "%s", ctl_target("ctl_static"));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		TH_LOG("%s", ways[i]);
		run_side(self, 0, "--trace-children=yes", ARGS(target, ways[i], path));
		EXPECT_EQ(9, ctl_exit_code(&self->result));
		EXPECT_EQ(1, count(self->result.err, " is statically linked, "));
		forget_files(self);
		run_side(self, 0, "--trace-children=no", ARGS(target, ways[i], path));
		EXPECT_EQ(0, count(self->result.err, " is statically linked, "));
		forget_files(self);
	}
	/*
	 * A static program is reported only once, whether it is found through PATH or executed under two different
	 * relative names.
	 */
	for (size_t i = 0; i < 2; i++) {
		char command[4200];

		snprintf(command, sizeof(command),
			 i ? "cd '%.*s'; ./ctl_static; ../targets/ctl_static" :
			     "PATH=/nowhere:'%.*s' /usr/bin/env ctl_static",
			 (int)(strrchr(path, '/') - path), path);
		run_side(self, 0, "--trace-children=yes", ARGS("/bin/sh", "-c", command));
		EXPECT_EQ(9, ctl_exit_code(&self->result));
		EXPECT_EQ(1, count(self->result.err, "/ctl_static is statically linked, "));
		forget_files(self);
	}
	/* Programs that are skipped because of the options are not reported. */
	run_side(self, 0, "--trace-children=yes",
		 ARGS("--trace-children-skip=*/ctl_static", target, "spawn", path));
	EXPECT_EQ(9, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
}

/* The output of git, and the files that it writes, are the same as without massif. */
TEST_F_TIMEOUT(children, git, 120)
{
	static const char script[] =
		"set -e; export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
		"GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='1700000000 +0000' "
		"GIT_COMMITTER_DATE='1700000000 +0000'\n"
		"rm -rf c.git c.clone; git init -q c.git; cd c.git\n"
		"for i in 1 2 3; do echo $i > file$i; git add .; git commit -q -m $i; done\n"
		"git gc -q; git fsck; cd ..; git clone -q --no-local c.git c.clone\n"
		"git -C c.clone log --format='%H %s' | cat; rm -rf c.git c.clone";

	if (access("/usr/bin/git", X_OK))
		SKIP(return, "there is no git");
	CTL_RUN(&self->theirs, "sh", "-c", script);
	run_side(self, 0, "--trace-children=yes", ARGS("sh", "-c", script));
	EXPECT_EQ(0, ctl_exit_code(&self->theirs));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ(self->theirs.out, self->result.out);
	EXPECT_STREQ(self->theirs.err, self->result.err);
	EXPECT_LT(20, self->n[0]);
	for (size_t i = 0; i < self->n[0]; i++)
		EXPECT_TRUE(ctl_is_massif_file(self->files[0][i]));
}

TEST_HARNESS_MAIN
