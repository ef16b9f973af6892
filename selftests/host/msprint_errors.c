// SPDX-License-Identifier: GPL-2.0
// For files and options that ms_print refuses, checks the message on standard error and the exit status, and that there
// is no partial output.

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/msprint_oracle.h"

#define HEADER "desc: x\ncmd: ./prog\ntime_unit: B\n"
#define NUMBERS "snapshot=0\ntime=5\nmem_heap_B=10\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
#define TREE HEADER NUMBERS "heap_tree=detailed\n"

static const struct {
	const char *file;
	const char *words;	/* message on standard error, without program and file names */
	bool is_ours;		/* true if Valgrind's ms_print prints garbage or a different message */
} bad_files[] = {
	{ "", "the file is empty\n" },
	{ "\n# only\n", "line 2: missing 'cmd' line: the file is cut off\n" },
	{ "desc: a\ndesc: b\n", "line 2: missing 'cmd' line: the file is cut off\n" },
	{ "desc: a", "line 1: missing 'cmd' line: the file is cut off\n" },
	{ "desc: a\n cmd: x\n", "line 2: missing 'cmd' line: this is not a massif.out file\n" },
	{ "massif.rec\r\n\1", "line 1: this is a recording; print it by massif-ctl show, or by massif-ctl export FILE | "
				"ms_print /dev/stdin\n", .is_ours = true },
	{ "0", "line 1: missing 'cmd' line: this is not a massif.out file\n" },
	{ "cmd: a\n", "line 1: missing 'time_unit' line: the file is cut off\n" },
	{ "cmd: a\ncmd: b\n", "line 2: missing 'time_unit' line\n" },
	{ HEADER, "the file has no snapshot: it is cut off\n" },
	{ HEADER "time=0\n", "line 4: expected \"snapshot\" line, got:\ntime=0\n" },
	{ HEADER " snapshot=0\n", "line 4: expected \"snapshot\" line, got:\n snapshot=0\n" },
	{ HEADER "snapshot=0\n",
	  "line 4: expected \"time\" line, got end of file: the file is cut off\n" },
	{ HEADER "snapshot=0\nt", "line 5: expected \"time\" line, got:\nt\n" },
	{ HEADER "snapshot=0\ntime=1\nx # y\n",
	  "line 6: expected \"mem_heap_B\" line, got:\nx \n" },
	{ HEADER "snapshot=0\ntime=1\nmem_heap_B=1\nmem_heap_B=1\n",
	  "line 7: expected \"mem_heap_extra_B\" line, got:\nmem_heap_B=1\n" },
	{ HEADER NUMBERS, "line 8: expected \"heap_tree\" line, got end of file: the file is cut off\n" },
	{ HEADER NUMBERS "heap_tree=emptyy\n",
	  "line 9: expected 'empty' or '...' after 'heap_tree='\n" },
	{ HEADER NUMBERS "heap_tree=empty\r\n",
	  "line 9: expected 'empty' or '...' after 'heap_tree='\n" },
	{ TREE, "line 9: expected a tree node line, got end of file: the file is cut off\n" },
	{ TREE "x0: 5 y\n", "line 10: expected a tree node line, got:\nx0: 5 y\n" },
	{ TREE "n0: 5 y\nz", "line 11: expected \"snapshot\" line, got:\nz\n" },
	{ TREE "n1: 5 y\n", "line 10: expected a tree node line, got end of file: the file is cut off\n" },
	{ TREE "n2: 5 y\n n0: 1 a\n n0 2 b", "line 12: expected a tree node line, got:\n n0 2 b\n" },
	{ TREE "n99999999999999999999: 5 y\n n18446744073709551615: 5 z\n",
	  "line 11: expected a tree node line, got end of file: the file is cut off\n" },
	{ TREE "n0: 11 y\n", "line 10: a tree node is larger than its snapshot\n" },
	{ "cmd: x\ntime_unit: s\n" NUMBERS "heap_tree=empty\n",
	  "line 2: unknown unit of time, not i, ms or B: s\n" },
	{ "cmd: x\ntime_unit: B\r\n" NUMBERS "heap_tree=empty\n",
	  "line 2: unknown unit of time, not i, ms or B: B\r\n" },
	{ HEADER "snapshot=0\ntime=-5\n", "line 5: expected a number, got: time=-5\n", true },
	{ HEADER "snapshot=0\ntime=banana\n", "line 5: expected a number, got: time=banana\n", true },
	{ HEADER "snapshot=0\ntime=\n", "line 5: expected a number, got: time=\n", true },
	{ HEADER "snapshot=0\ntime=1.5\n", "line 5: expected a number, got: time=1.5\n", true },
	{ HEADER "snapshot=0\ntime=1\nmem_heap_B=1e3\n",
	  "line 6: expected a number, got: mem_heap_B=1e3\n", true },
	{ HEADER "snapshot=0\ntime=18446744073709551616\n",
	  "line 5: a number that is too large: time=18446744073709551616\n", true },
	{ HEADER NUMBERS "heap_tree=empty\n" "snapshot=1\ntime=4\nmem_heap_B=0\nmem_heap_extra_B=0\n"
	  "mem_stacks_B=0\nheap_tree=empty\n", "snapshot 0 is later than the last one\n", true },
	{ "# callgrind format\nversion: 1\n", "this is a file for callgrind_annotate(1) and KCachegrind; "
	  "an execution tree that ms_print reads has .ms in its name "
	  "(--xtree-memory-file=NAME.ms)\n", true },
	{ "\177ELF", "this is a program or library, not a massif.out file\n", true },
};

#define FILES (sizeof(bad_files) / sizeof(bad_files[0]))

static bool save(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

TEST(file_that_is_wrong)
{
	const char *const args[] = { "bad", NULL };
	char words[1024];
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (i = 0; i < FILES; i++) {
		ASSERT_TRUE(save("bad", bad_files[i].file));
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);

		snprintf(words, sizeof(words), "ms_print: bad: %s", bad_files[i].words);
		EXPECT_NE(0, ours.status);
		EXPECT_STREQ("", ours.out);
		EXPECT_STREQ(words, ours.err);
		if (!bad_files[i].is_ours) {
			MSPRINT_RUN_AUTO reference = msprint_run(MSPRINT_REFERENCE, args);

			EXPECT_NE(0, reference.status);
		}
	}
}

#define USAGE "usage: ms_print [options] massif-out-file\n"

static const struct {
	const char *args[3];
	const char *words;
} bad_args[] = {
	{ { NULL }, "no file specified" },
	{ { "-" }, "unknown option: -" },
	{ { "--" }, "unknown option: --" },
	{ { "--x" }, "unknown option: --x" },
	{ { "--x=" }, "bad value: --x=" },
	{ { "--x=3" }, "bad value: --x=3" },
	{ { "--x=1001" }, "bad value: --x=1001" },
	{ { "--x=7a" }, "bad value: --x=7a" },
	{ { "--x=-7" }, "bad value: --x=-7" },
	{ { "--x= 7" }, "bad value: --x= 7" },
	{ { "--y=3" }, "bad value: --y=3" },
	{ { "--y=1001" }, "bad value: --y=1001" },
	{ { "--y=99999999999999999999999" }, "bad value: --y=99999999999999999999999" },
	{ { "--threshold=" }, "bad value: --threshold=" },
	{ { "--threshold=%" }, "bad value: --threshold=%" },
	{ { "--threshold=101" }, "bad value: --threshold=101" },
	{ { "--threshold=100.01" }, "bad value: --threshold=100.01" },
	{ { "--threshold=-1" }, "bad value: --threshold=-1" },
	{ { "--threshold=1e1" }, "bad value: --threshold=1e1" },
	{ { "--threshold=5%%" }, "bad value: --threshold=5%%" },
	{ { "--x=5", "--nonsense", "good" }, "unknown option: --nonsense" },
	{ { "good", "--version=1" }, "unknown option: --version=1" },
	{ { "good", "-v" }, "unknown option: -v" },
	{ { "--X=5", "good" }, "unknown option: --X=5" },
	{ { "good", "better" }, "only one file at a time, not also: better" },
};

TEST(arguments_that_are_wrong)
{
	char words[256];
	size_t i;

	ASSERT_TRUE(save("good", HEADER NUMBERS "heap_tree=empty\n"));
	for (i = 0; i < sizeof(bad_args) / sizeof(bad_args[0]); i++) {
		const char *const *given = bad_args[i].args;
		const char *args[4] = { given[0], given[1], given[2], NULL };
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);

		snprintf(words, sizeof(words), "ms_print: %s\n" USAGE, bad_args[i].words);
		EXPECT_EQ(255, ours.status);
		EXPECT_STREQ("", ours.out);
		EXPECT_EQ(ours.err, strstr(ours.err, words)) {
			TH_LOG("%s: %s", args[0] ?: "no argument", ours.err);
		}
	}
}

/* --help and --version print to standard output and exit with status 0, even if they follow a file name. */
TEST(help_and_version)
{
	static const char *const shown[] = {
		"-h --help", "--version", "--threshold=<m.n>", "[1]\n", "--x=<4..1000>", "[72]\n",
		"--y=<4..1000>", "[20]\n",
	};
	static const char *const asked[][3] = { { "-h" }, { "--help" }, { "good", "--help" } };
	const char *const version[] = { "good", "--version", "--nonsense", NULL };
	MSPRINT_RUN_AUTO told = msprint_run(msprint_ours(), version);

	EXPECT_EQ(0, told.status);
	EXPECT_STREQ("ms_print-" MASSIF_VERSION "\n", told.out);
	EXPECT_STREQ("", told.err);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const char *args[] = { asked[i][0], asked[i][1], NULL };
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);

		EXPECT_EQ(0, ours.status);
		EXPECT_STREQ("", ours.err);
		EXPECT_EQ(ours.out, strstr(ours.out, USAGE));
		for (size_t j = 0; j < sizeof(shown) / sizeof(shown[0]); j++)
			EXPECT_NE(NULL, strstr(ours.out, shown[j]));
	}
}

TEST(file_that_cannot_be_read)
{
	static const struct {
		const char *path;
		int status;	/* the exit status, which is the expected errno */
		const char *words;
	} paths[] = {
		{ "nowhere", 2, "ms_print: nowhere: cannot be opened: No such file or directory\n" },
		{ "", 2, "ms_print: : cannot be opened: No such file or directory\n" },
		{ "good/below", 20, "ms_print: good/below: cannot be opened: Not a directory\n" },
		/* Valgrind's ms_print treats a directory as an empty file. */
		{ "/", 21, "ms_print: /: cannot be read: Is a directory\n" },
	};
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	ASSERT_TRUE(save("good", HEADER NUMBERS "heap_tree=empty\n"));
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *const args[] = { paths[i].path, NULL };
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);
		MSPRINT_RUN_AUTO reference = msprint_run(MSPRINT_REFERENCE, args);

		EXPECT_EQ(reference.status, ours.status);
		EXPECT_EQ(paths[i].status, ours.status);
		EXPECT_STREQ("", ours.out);
		EXPECT_STREQ(paths[i].words, ours.err);
	}
}

/* Runs our ms_print through the shell, with redirections. */
static struct msprint_run run_shell(const char *how)
{
	char command[8192];
	const char *const args[] = { "-c", command, NULL };

	snprintf(command, sizeof(command), "ms_print=%s; %s", msprint_ours(), how);
	return msprint_run("/bin/sh", args);
}

TEST(output_that_cannot_be_written)
{
	static const struct {
		const char *how;
		const char *words;
	} outputs[] = {
		{ "$ms_print good > /dev/full",
		  "ms_print: cannot write to standard output: No space left on device\n" },
		{ "$ms_print good >&-", "ms_print: cannot write to standard output: Bad file descriptor\n" },
		{ "ulimit -f 1; trap '' XFSZ; $ms_print good > out",
		  "ms_print: cannot write to standard output: File too large\n" },
	};
	size_t i;

	ASSERT_TRUE(save("good", HEADER NUMBERS "heap_tree=empty\n"));
	for (i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		MSPRINT_RUN_AUTO run = run_shell(outputs[i].how);

		EXPECT_EQ(1, run.status);
		EXPECT_STREQ(outputs[i].words, run.err);
	}
}

TEST(pipe_as_input)
{
	ASSERT_TRUE(save("good", TREE "n1: 10 a\n n0: 10 b\n"));
	MSPRINT_RUN_AUTO file = run_shell("$ms_print good");
	MSPRINT_RUN_AUTO pipe = run_shell("cat good | $ms_print /dev/stdin | "
					  "sed s,/dev/stdin,good,");

	EXPECT_EQ(0, file.status);
	EXPECT_NE(0, file.out_len);
	EXPECT_STREQ("", pipe.err);
	EXPECT_STREQ(file.out, pipe.out);
}

/*
 * ms_print reads compressed input from files and pipes. The input may consist of several compressed parts. Damaged,
 * truncated and empty input is rejected.
 */
TEST(compressed)
{
	static const struct {
		const char *how;	/* command that creates "packed" from "good" */
		const char *words;	/* error message; NULL: the output is the same as for "good" */
	} cases[] = {
		{ "gzip -c good > packed", NULL },
		{ "zstd -qc good > packed", NULL },
		{ "(head -c 99 good | gzip; tail -c +100 good | gzip) > packed", NULL },
		{ "(head -c 99 good | zstd -q; tail -c +100 good | zstd -q) > packed", NULL },
		{ "gzip -c good | head -c 40 > packed", "the gzip file is cut off\n" },
		{ "gzip -c good | head -c 2 > packed", "the gzip file is cut off\n" },
		{ "zstd -qc good | head -c 40 > packed", "the zstd file is cut off\n" },
		{ "zstd -qc good | head -c 4 > packed", "the zstd file is cut off\n" },
		{ "(gzip -c good; echo more) > packed", "the gzip file is damaged\n" },
		{ "(zstd -qc good; echo more) > packed", "the zstd file is damaged\n" },
		{ "printf '\\037\\213nonsense' > packed", "the gzip file is damaged\n" },
		{ "gzip -c /dev/null > packed", "the file is empty\n" },
	};

	ASSERT_TRUE(save("good", TREE "n1: 10 a, a line that is long enough to be more than a part\n"
				 " n0: 10 b\n"));
	MSPRINT_RUN_AUTO good = run_shell("$ms_print good");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		MSPRINT_RUN_AUTO made = run_shell(cases[i].how);
		MSPRINT_RUN_AUTO file = run_shell("$ms_print packed | sed s,packed,good,");
		MSPRINT_RUN_AUTO pipe = run_shell("(head -c 1 packed; sleep 0.05; tail -c +2 packed) | "
						  "$ms_print /dev/stdin | sed s,/dev/stdin,good,");

		EXPECT_EQ(0, made.status);
		EXPECT_STREQ(cases[i].words ? "" : good.out, file.out);
		EXPECT_STREQ(cases[i].words ? "" : good.out, pipe.out);
		if (cases[i].words) {
			EXPECT_EQ(0, strncmp(file.err, "ms_print: packed: ", 18));
			EXPECT_STREQ(cases[i].words, file.err + 18);
			EXPECT_NE(NULL, strstr(pipe.err, cases[i].words));
		} else {
			EXPECT_STREQ("", file.err);
			EXPECT_STREQ("", pipe.err);
		}
	}
}

/*
 * Valgrind's ms_print calls itself for each level of a tree, and this tree has a million levels, so test only our own
 * ms_print.
 */
TEST(very_deep_tree)
{
	FILE *file = fopen("deep", "w");
	unsigned int i;

	ASSERT_NE(NULL, file);
	fputs(TREE "n1: 10 root\n", file);
	for (i = 0; i < 1000000; i++)
		fputs("n1: 0 x\n", file);
	fputs("n0: 0 x\n", file);
	ASSERT_EQ(0, fclose(file));
	MSPRINT_RUN_AUTO run = run_shell("$ms_print deep");

	EXPECT_EQ(0, run.status);
	EXPECT_STREQ("", run.err);
	EXPECT_NE(NULL, strstr(run.out, "\n100.00% (10B) root\n->00.00% (0B) in 1+ places, all "
			       "below ms_print's threshold (01.00%)\n\n"));
}

TEST_HARNESS_MAIN
