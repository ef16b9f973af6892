// SPDX-License-Identifier: GPL-2.0
// massif-ctl show: its figures and tables for programs whose blocks are known.

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/launch/exit_status.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(show) {
	struct ctl_result result;
};

FIXTURE_SETUP(show)
{
	ctl_remove_files("massif.");
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
	setenv("LC_ALL", "C.UTF-8", 1);
	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=massif.rec", "--time-unit=B",
		"--detailed-freq=1", "--massif-out-file=massif.out", ctl_target("heap_example"));
	ASSERT_EQ(0, ctl_exit_code(&self->result));
}

FIXTURE_TEARDOWN(show)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

/* The example of Massif's manual: 20,000 bytes at the peak in three places, all but 10,000 freed. */
TEST_F_TIMEOUT(show, says_peak_end_and_sites, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_TRUE(HAS("\npeak               19.71 KB  (19.53 KB requested, 184 B overhead) at "));
	EXPECT_TRUE(HAS("\nheld at the end    9.789 KB  (9.766 KB requested, 24 B overhead)\n"));
	EXPECT_TRUE(HAS("\ncalls                    13 allocations, 0 reallocations, 10 frees\n"));
	EXPECT_TRUE(HAS("\nallocated          19.53 KB  in 13 blocks, 0.00% of them temporary (0)\n"));
	EXPECT_TRUE(HAS("      peak        end   share  site\n"));
	EXPECT_TRUE(HAS("\n  9.766 KB        0 B  50.00%  main (heap_example.c:"));
	EXPECT_TRUE(HAS("\n  7.812 KB   7.812 KB  40.00%  g (heap_example.c:"));
	EXPECT_TRUE(HAS("\n  1.953 KB   1.953 KB  10.00%  f (heap_example.c:"));
	EXPECT_TRUE(HAS("  19.53 KB   9.766 KB 100.00%  in all\n"));
	EXPECT_TRUE(HAS("█"));
}

/* Runs that allocate nothing, or one block: words in the singular, and no curve of nothing. */
TEST_F_TIMEOUT(show, small_runs, 120)
{
	ctl_write_file("massif.c", "#include <stdlib.h>\nvoid *kept;\nint main(int argc, char **argv)\n{\n"
		       "if (argc == 2) kept = malloc(3);\nif (argc == 3) free(realloc(malloc(1), 2));\nreturn 0;\n}\n", 0644);
	ASSERT_EQ(0, RUN("cc", "-O0", "-g", "-o", "massif.program", "massif.c")) TH_LOG("%s", self->result.err);
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "./massif.program"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--leaks", "massif.rec"));
	EXPECT_TRUE(HAS("\ncalls                     0 allocations, 0 reallocations, 0 frees\n"
			"allocated               0 B  in 0 blocks\n\n      peak ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("\nnever freed             0 B  in 0 blocks\n"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "./massif.program", "one"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--leaks", "massif.rec"));
	EXPECT_TRUE(HAS("\ncalls                     1 allocation, 0 reallocations, 0 frees\n"
			"allocated               3 B  in 1 block, 0.00% of it temporary (0)\n\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_TRUE(HAS("\nnever freed             3 B  in 1 block\n"));
	EXPECT_FALSE(HAS(" \n"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "./massif.program", "one", "two"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_TRUE(HAS(" 1 allocation, 1 reallocation, 1 free\n")) TH_LOG("%s", self->result.out);
	/* The curve falls at the end; no line ends with blanks. */
	EXPECT_FALSE(HAS(" \n"));
}

/* A shell can execute the command that record proposes, whatever the name of the file is. */
TEST_F_TIMEOUT(show, proposed_command, 120)
{
	static const char *const names[][2] = {
		{ "massif.rec", "massif.rec" }, { "massif.a b$(x)", "'massif.a b$(x)'" },
		{ "massif.it's", "'massif.it'\\''s'" },
		{ "massif.a\n\x01'\\", "$'massif.a\\012\\001\\'\\\\'" }, { "massif.\xc3\xa9", "massif.\xc3\xa9" },
		{ "-massif", "./-massif" },
	};

	setenv("ctl", ctl_path(), 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char option[64], wanted[128], command[160];

		snprintf(option, sizeof(option), "--record=%s", names[i][0]);
		snprintf(wanted, sizeof(wanted), "massif-ctl: wrote the recording of 1 process: massif-ctl show %s\n",
			 names[i][1]);
		ASSERT_EQ(0, RUN("massif-ctl", "record", option, "--massif-out-file=massif.out", ctl_target("heap_example")));
		EXPECT_NE(NULL, strstr(self->result.err, wanted)) TH_LOG("%s", self->result.err);
		snprintf(command, sizeof(command), "$ctl show %s", names[i][1]);
		EXPECT_EQ(0, RUN("bash", "-c", command)) TH_LOG("%s", self->result.err);
	}
	ctl_remove_files("-massif");
}

/* Pages mode has frames that name a kind of page, not code: show must not print them as if they were in a library. */
TEST_F(show, massif_files_of_pages)
{
	ctl_write_file("massif.pages", "desc: --pages=resident\ncmd: p\ntime_unit: ms\n#-----------\nsnapshot=0\n#-----------\n"
		       "time=1\nmem_heap_B=8192\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
		       "n2: 8192 (resident pages) first touched by\n n0: 4096 0x0: [anonymous pages]\n"
		       " n0: 4096 0x10: ?\?\? (in ?\?\?)\n", 0644);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "massif.pages"));
	EXPECT_TRUE(HAS("  4.000 KB   4.000 KB  50.00%  [anonymous pages]\n"));
	EXPECT_TRUE(HAS("  4.000 KB   4.000 KB  50.00%  0x10 (in unknown)\n"));
}

static const struct {
	const char *option;
	const char *says;
} views[] = {
	{ "--by=function", "  9.766 KB        0 B  50.00%  main\n" },
	{ "--by=file", "  19.53 KB   9.766 KB 100.00%  heap_example.c\n" },
	{ "--by=library", "selftests/targets/heap_example\n" },
	{ "--by=process", "\n1 process was recorded.\n" },
	{ "--by=stack", "g (heap_example.c:" },
	{ "--leaks", "      peak        end     blocks   share  site\n  7.812 KB   7.812 KB          2  80.00%  g " },
	{ "--sort=end", "\n  19.53 KB   9.766 KB          3 100.00%  in all\n" },
	{ "--top=1", " more\n" },
	{ "--through=g", "\n  7.812 KB   7.812 KB 100.00%  in all\n" },
	{ "--through=f", "\n  5.859 KB   5.859 KB 100.00%  in all\n" },
	{ "--through=?", "\n  9.766 KB   9.766 KB 100.00%  in all\n" },
	{ "--through=main", "\n  19.53 KB   9.766 KB 100.00%  in all\n" },
	{ "--sort=calls", "\n        10   9.766 KB          0  76.92%  main (heap_example.c:" },
	{ "--sort=allocated", "\n         2   7.812 KB          0  40.00%  g (heap_example.c:" },
	{ "--sort=temporary", "\n        13   19.53 KB          0   0.00%  in all\n" },
	{ "--filter=^main ", "  9.766 KB        0 B 100.00%  main (heap_example.c:" },
	{ "--filter=nothing", "       0 B        0 B   0.00%  in all\n" },
	{ "--at=end", "\n       end   share  site\n" },
	{ "--at=5KB", "\n  4.883 KB        0 B 100.00%  main (heap_example.c:" },
	{ "--at=4096B", "\n  3.906 KB        0 B 100.00%  main (heap_example.c:" },
	{ "--at=0B", "\n       0 B   9.766 KB   0.00%  in all\n" },
	{ "--sort=growth", "     first        end   share  site\n       0 B   7.812 KB  80.00%  g (heap_example.c:" },
	{ "--tree", "\n  9.766 KB  50.00%  main (heap_example.c:" },
	{ "--tree", "\n  7.812 KB  40.00%  g (heap_example.c:10)\n  3.906 KB  20.00%    f (heap_example.c:16)\n"
		    "  3.906 KB  20.00%      main (heap_example.c:25)\n" },
	{ "--tree", "\n  19.53 KB 100.00%  in all\n" },
};

TEST_F_TIMEOUT(show, has_other_views, 120)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		EXPECT_EQ(0, RUN("massif-ctl", "show", views[i].option, "massif.rec"));
		EXPECT_TRUE(HAS(views[i].says)) {
			TH_LOG("%s: '%s' is not in:\n%s", views[i].option, views[i].says, self->result.out);
		}
	}
}

/* The usual next questions. A massif.out file has no counts. */
TEST_F_TIMEOUT(show, names_other_views, 120)
{
	static const struct {
		const char *word, *file;
		bool more, counts, charts;
	} hints[] = {
		{ "--top=10", "massif.rec", true, true, true },
		{ "--by=file", "massif.rec", true, false },
		{ "--leaks", "massif.rec", true, false },
		{ "--sort=temporary", "massif.rec", true, false },
		{ "--sort=growth", "massif.rec", false, false },
		{ "--by=stack", "massif.rec", false, false },
		{ "--tree", "massif.rec", false, false },
		{ "--sizes", "massif.rec", false, false },
		{ "-q", "massif.rec", false, false },
		{ "--top=10", "massif.out", true, false, true },
	};

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		EXPECT_EQ(0, RUN("massif-ctl", "show", hints[i].word, hints[i].file));
		EXPECT_EQ(hints[i].more, HAS("\n\nMore: --tree (callers)")) TH_LOG("%s", hints[i].word);
		EXPECT_EQ(hints[i].charts, HAS(".\nCharts for a browser: massif-ctl report.\n"));
		EXPECT_EQ(hints[i].counts, HAS(", --leaks (never freed), --sort=temporary (short-lived).\n"));
	}
}

/* The same tree, from a file that has only text. */
TEST_F_TIMEOUT(show, tree_of_a_massif_out_file, 120)
{
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "massif.out"));
	EXPECT_TRUE(HAS("\n  7.812 KB  40.00%  g (heap_example.c:10)\n  3.906 KB  20.00%    f (heap_example.c:16)\n"
			"  3.906 KB  20.00%      main (heap_example.c:25)\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "--threshold=15", "massif.rec"));
	EXPECT_TRUE(HAS("\n  1.953 KB  10.00%  1 more, each below 15.00%\n"));
}

/* main calls all of it, and f calls g once. A function that is in a stack twice is counted once. */
TEST_F_TIMEOUT(show, functions_with_all_that_they_call, 120)
{
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--inclusive", "--by=function", "massif.rec"));
	EXPECT_TRUE(HAS("\n  19.53 KB   9.766 KB 100.00%  main\n  7.812 KB   7.812 KB  40.00%  g\n"
			"  5.859 KB   5.859 KB  30.00%  f\n  19.53 KB   9.766 KB 100.00%  in all\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--inclusive", "--by=file", "massif.rec"));
	EXPECT_TRUE(HAS("\n  19.53 KB   9.766 KB 100.00%  heap_example.c\n  19.53 KB   9.766 KB 100.00%  in all\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--inclusive", "--by=function", "--sort=calls", "--top=1", "massif.rec"));
	EXPECT_TRUE(HAS("\n        13   19.53 KB          0 100.00%  main\n"
			"                                          2 more\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--inclusive", "--by=stack", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--inclusive: a row must be"));
}

/* With --sort, the tree is of the end, or of the counts since the start. */
TEST_F_TIMEOUT(show, trees_of_the_end_and_of_counts, 120)
{
	static const struct {
		const char *sort, *says;
	} trees[] = {
		{ "--sort=end", "\n  7.812 KB  80.00%  g (heap_example.c:10)\n" },
		{ "--sort=calls", "\n        10  76.92%  main (heap_example.c:24)\n         2  15.38%  g (heap_example.c:10)\n"
				  "         1   7.69%    f (heap_example.c:16)\n" },
		{ "--sort=calls", "\n    blocks   share  call, and below it its callers\n" },
		{ "--sort=allocated", "\n  9.766 KB  50.00%  main (heap_example.c:24)\n" },
		{ "--sort=temporary", "share  call, and below it its callers\n         0   0.00%  in all\n" },
	};

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", trees[i].sort, "massif.rec"));
		EXPECT_TRUE(HAS(trees[i].says)) {
			TH_LOG("%s: '%s' is not in:\n%s", trees[i].sort, trees[i].says, self->result.out);
		}
	}
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--tree", "--sort=calls", "massif.out"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--leaks", "massif.out"));
	EXPECT_TRUE(HAS("      peak  last tree   share  site\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "--sort=calls", "--through=g", "massif.rec"));
	EXPECT_TRUE(HAS("callers\n         2 100.00%  g (heap_example.c:10)\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "--through=f", "massif.out"));
	EXPECT_TRUE(HAS("\n  5.859 KB 100.00%  in all\n"));
}

/*
 * Calls at different addresses in the same line of a function are one row, and so are, without lines, those in the same
 * function. In the massif.out file, and in one made of the recording, each address has its own.
 */
TEST_F_TIMEOUT(show, calls_that_read_the_same_are_one_row_of_a_tree, 120)
{
	static const char *const options[] = { "-g", "-s" };
	char directory[4096], lines[4 * 4096], *written;

	/* Wide enough for the path of any directory, so that labels have the whole path. */
	setenv("COLUMNS", "5000", 1);
	ASSERT_NE(NULL, getcwd(directory, sizeof(directory)));
	snprintf(lines, sizeof(lines), "\n  2.930 KB  96.77%%    both (in %s/show.program)\n"
		 "  2.930 KB  96.77%%      main (in %s/show.program)\n     100 B   3.23%%    main (in %s/show.program)\n"
		 "  3.027 KB 100.00%%  in all\n", directory, directory, directory);
	ctl_write_file("show.c",
		       "#include <stdlib.h>\n"
		       "void *kept[4];\n"
		       "__attribute__((noinline)) void *take(int n) { return malloc(n); }\n"
		       "__attribute__((noinline)) void both(int n) { kept[0] = take(n); kept[1] = take(2 * n); }\n"
		       "int main(void) { both(1000);\n"
		       "for (int i = 0; i < 2; i++) kept[2 + i] = i ? take(60) : take(40); return 0; }\n", 0644);
	for (size_t i = 0; i < 2; i++) {
		ASSERT_EQ(0, RUN("cc", "-O0", "-rdynamic", options[i], "-o", "show.program", "show.c"));
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out",
				 "--threshold=0", "./show.program"));
		ASSERT_EQ(0, RUN("massif-ctl", "show", "--tree", "--threshold=0", "massif.rec"));
		EXPECT_TRUE(HAS(i ? lines :
				    "\n  2.930 KB  96.77%    both (show.c:4)\n"
				    "  2.930 KB  96.77%      main (show.c:5)\n"
				    "     100 B   3.23%    main (show.c:6)\n"
				    "  3.027 KB 100.00%  in all\n")) {
			TH_LOG("%s", self->result.out);
		}
		ASSERT_EQ(0, RUN("massif-ctl", "export", "massif.rec"));
		written = ctl_read_file("massif.out");
		ASSERT_NE(NULL, written);
		EXPECT_STREQ(written, self->result.out);
		EXPECT_NE(NULL, strstr(written, "n0: 60 0x"));
		EXPECT_NE(NULL, strstr(written, "n0: 40 0x"));
		free(written);
	}
	ctl_remove_files("show.");
}

/* The names of a deep tree stay readable: from level 20 on, calls are not indented further. */
TEST_F_TIMEOUT(show, deep_trees, 120)
{
	static const unsigned int depths[] = { 19, 20, 21, 199 };
	char number[16], line[128];

	ctl_write_file("massif.c", "#include <stdlib.h>\nvoid *volatile p;\n"
				   "static int f(int n) { if (n) return f(n - 1) + 1; p = malloc(4096); return 0; }\n"
				   "int main(int n, char **a) { return f(atoi(a[1]) - 1) & 0; }\n", 0644);
	ASSERT_EQ(0, RUN("cc", "-O0", "-g", "-o", "massif.prog", "massif.c"));
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		/* main is below so many calls of f(). */
		snprintf(number, sizeof(number), "%u", depths[i]);
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--depth=200", "--record=massif.deep",
				 "--massif-out-file=massif.out", "./massif.prog", number));
		ASSERT_EQ(0, RUN("massif-ctl", "show", "--tree", "--depth=200", "massif.deep"));
		snprintf(line, sizeof(line), "\n  4.000 KB 100.00%%  %*smain (massif.c:4)\n",
			 2 * (int)(depths[i] < 20 ? depths[i] : 20), "");
		EXPECT_TRUE(HAS(line)) {
			TH_LOG("%u: %s", depths[i], self->result.out);
		}
	}
}

/*
 * The status of a process that its parent has not reaped, and of one that it has reaped, which only newer kernels know. A
 * shell reaps its children at once.
 */
static bool knows_reaped(void)
{
	int status, pidfd;
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	waitpid(pid, &status, 0);
	status = mf_exit_status_read(pid, pidfd);
	close(pidfd);
	return status != MF_EXIT_STATUS_UNKNOWN;
}

TEST(status_of_a_zombie)
{
	static const struct {
		int status, signal, expected;
	} ends[] = { { 0, 0, 0 }, { 7, 0, 7 << 8 }, { 0, SIGKILL, SIGKILL } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct pollfd polled = { .events = POLLIN };
		int status;
		pid_t pid = fork();

		if (!pid) {
			raise(ends[i].signal);
			_exit(ends[i].status);
		}
		polled.fd = (int)syscall(SYS_pidfd_open, pid, 0);
		ASSERT_EQ(1, poll(&polled, 1, 10000));
		EXPECT_EQ(ends[i].expected, mf_exit_status_read(pid, polled.fd));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(ends[i].expected, status);
		/* A reaped process has its status or none, but no other. */
		status = mf_exit_status_read(pid, polled.fd);
		EXPECT_TRUE(status == ends[i].expected || status == MF_EXIT_STATUS_UNKNOWN);
		close(polled.fd);
	}
}

/* How each process ended, which of them started it, and what all hold together. */
TEST_F_TIMEOUT(show, several_processes, 120)
{
	char child[64];

	ctl_write_file("massif.c", "#include <stdlib.h>\n#include <signal.h>\nvoid *volatile p;\n"
				   "int main(int n, char **a) { p = malloc(4096); if (n > 1) raise(SIGSEGV); return 7; }\n",
		       0644);
	ASSERT_EQ(0, RUN("cc", "-O0", "-g", "-o", "massif.prog", "massif.c"));
	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--record=massif.all", "--massif-out-file=massif.out.%p",
		"--trace-children=yes", "sh", "-c", "./massif.prog; ./massif.prog fail; exit 5");
	ASSERT_EQ(5, ctl_exit_code(&self->result));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=library", "massif.all"));
	EXPECT_TRUE(HAS("\n3 processes were recorded; --pid=PID shows one of them.\n"));
	EXPECT_TRUE(HAS("\nAll processes together, each at its own peak:\n"));
	EXPECT_TRUE(HAS("\n  8.000 KB   8.000 KB "));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--by=process", "massif.all"));
	EXPECT_FALSE(HAS("All processes"));
	/* The last of the list has the lowest peak. */
	snprintf(child, sizeof(child), "--pid=%ld", strtol(strstr(self->result.out, "  ./massif.prog fail") - 17, NULL, 10));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--tree", "massif.all"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", child, "massif.all"));
	EXPECT_TRUE(HAS(", child of "));
	if (knows_reaped())
		EXPECT_TRUE(HAS(", killed by signal 11 (Segmentation fault); massif "));
	/* massif-ctl itself waits for the program. */
	EXPECT_EQ(7, RUN("massif-ctl", "record", "-q", "--record=massif.one", "--massif-out-file=massif.out", "./massif.prog"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.one"));
	EXPECT_TRUE(HAS(", exit status 7; massif "));
}

static const struct {
	const char *option;
	const char *says;
} mistakes[] = {
	{ "--by=x", "use one of site, function, place, file, library, stack, thread, thread-name, allocator, process" },
	{ "--sort=x", "use peak, blocks, end, growth, calls, allocated, temporary or largest" },
	{ "--lifetimes=x", "--lifetimes=x: use bytes or allocations" },
	{ "--sizes=x", "--sizes takes no value" },
	{ "--temporary=6", "the next ones that they can answer are 3 and 7" },
	{ "--through=h", "--through=h: no such stack has a function of this name" },
	{ "--thread=x", "--separate-threads=yes" },
	{ "--top=0", "it needs a number of rows, at least 1" },
	{ "--filter=(", "--filter=(: " },
	{ "--leaks=yes", "--leaks takes no value" },
	{ "--at=x", "use peak, end, the number of a snapshot, or a time" },
	{ "--at=.B", "use peak, end, the number of a snapshot, or a time" },
	{ "--at=1.5", "use peak, end, the number of a snapshot, or a time" },
	{ "--at=1s", "--at=1s: the time of this profile is in bytes (10MB)" },
	{ "--at=1000", "there is no snapshot 1000" },
	{ "--tree=yes", "--tree takes no value" },
	{ "--to=pprof", "Bad option: --to=pprof\nmassif-ctl: It is an option of other commands.\n" },
	{ "--depht=3", "Unknown option: --depht=3\nmassif-ctl: Did you mean '--depth'?\n" },
	{ "--leak", "Unknown option: --leak\nmassif-ctl: Did you mean '--leaks'?\n" },
	{ "--nothing-like-it", "Unknown option: --nothing-like-it\nmassif-ctl: Use --help for more information.\n" },
	{ "--heap=no", "Bad option: --heap=no\nmassif-ctl: It has no effect on a profile that is already recorded.\n" },
};

TEST_F_TIMEOUT(show, mistakes_are_explained, 120)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		EXPECT_EQ(1, RUN("massif-ctl", "show", mistakes[i].option, "massif.rec"));
		EXPECT_NE(NULL, strstr(self->result.err, mistakes[i].says)) {
			TH_LOG("%s: it says %s", mistakes[i].option, self->result.err);
		}
		EXPECT_STREQ("", self->result.out);
	}
}

/* Without a terminal: no colours, 80 columns or as many as COLUMNS says, and other characters where UTF-8 is not used. */
TEST_F_TIMEOUT(show, suits_what_it_is_printed_to, 120)
{
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_FALSE(HAS("\033"));
	for (const char *line = self->result.out, *end; (end = strchr(line, '\n')); line = end + 1)
		if (!strstr(line, "options") && strncmp(line, "process", 7) != 0)
			EXPECT_GE(3 * 80, end - line);
	setenv("LC_ALL", "C", 1);
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	for (const char *at = self->result.out; *at; at++)
		ASSERT_LE(0, *at);
	EXPECT_TRUE(HAS("|"));
	/* "#" is a full character of the curve. Its columns depend on the run's timing. */
	EXPECT_TRUE(HAS("#"));
}

TEST_HARNESS_MAIN
