// SPDX-License-Identifier: GPL-2.0
// What ms_print refuses: the words on standard error, the status, and nothing half-printed.

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

/* How much of the reference's words has to be the same. */
enum words {
	SAME,		/* all but its warnings */
	BEGINNING,	/* it goes on with the place in its own source */
	OWN,		/* it has only the place in its own source, or none at all */
};

static const struct {
	const char *file;
	const char *words;	/* standard error, whole */
	enum words compare;
} bad_files[] = {
	{ "", "Line 0: missing 'cmd' line\n", SAME },
	{ "\n# only\n", "Line 2: missing 'cmd' line\n", SAME },
	{ "desc: a\ndesc: b\n", "Line 2: missing 'cmd' line\n", SAME },
	{ "desc: a", "Line 1: missing 'cmd' line\n", SAME },
	{ "desc: a\n cmd: x\n", "Line 2: missing 'cmd' line\n", SAME },
	{ "0", "Line 1: missing 'cmd' line\n", SAME },
	{ "cmd: a\n", "Line 1: missing 'time_unit' line\n", SAME },
	{ "cmd: a\ncmd: b\n", "Line 2: missing 'time_unit' line\n", SAME },
	{ HEADER, "Died at the end of a file without a snapshot.\n", OWN },
	{ HEADER "time=0\n", "Line 4: expected \"snapshot\" line, got:\ntime=0\n", SAME },
	{ HEADER " snapshot=0\n", "Line 4: expected \"snapshot\" line, got:\n snapshot=0\n", SAME },
	{ HEADER "snapshot=0\n", "Line 4: expected \"time\" line, got end of file\n", SAME },
	{ HEADER "snapshot=0\nt", "Line 5: expected \"time\" line, got:\nt\n", BEGINNING },
	{ HEADER "snapshot=0\ntime=1\nx # y\n",
	  "Line 6: expected \"mem_heap_B\" line, got:\nx \n", SAME },
	{ HEADER "snapshot=0\ntime=1\nmem_heap_B=1\nmem_heap_B=1\n",
	  "Line 7: expected \"mem_heap_extra_B\" line, got:\nmem_heap_B=1\n", SAME },
	{ HEADER NUMBERS, "Line 8: expected \"heap_tree\" line, got end of file\n", SAME },
	{ HEADER NUMBERS "heap_tree=emptyy\n",
	  "Line 9: expected 'empty' or '...' after 'heap_tree='\n", SAME },
	{ HEADER NUMBERS "heap_tree=empty\r\n",
	  "Line 9: expected 'empty' or '...' after 'heap_tree='\n", SAME },
	{ TREE, "Line 9: expected a tree node line, got:\n\n", SAME },
	{ TREE "x0: 5 y\n", "Line 10: expected a tree node line, got:\nx0: 5 y\n\n", SAME },
	{ TREE "n0: 5 y\nz", "Line 11: expected \"snapshot\" line, got:\nz\n", BEGINNING },
	{ TREE "n1: 5 y\n", "Line 10: expected a tree node line, got:\n\n", SAME },
	{ TREE "n2: 5 y\n n0: 1 a\n n0 2 b", "Line 12: expected a tree node line, got:\n n0 2 b\n",
	  SAME },
	{ TREE "n99999999999999999999: 5 y\n n18446744073709551615: 5 z\n",
	  "Line 11: expected a tree node line, got:\n\n", SAME },
	{ TREE "n0: 11 y\n",
	  "Died at a tree node that is larger than its snapshot, <INPUTFILE> line 10.\n", OWN },
	{ "cmd: x\ntime_unit: s\n" NUMBERS "heap_tree=empty\n", "bad time_unit: s\n", SAME },
	{ "cmd: x\ntime_unit: B\r\n" NUMBERS "heap_tree=empty\n", "bad time_unit: B\r\n", SAME },
	{ HEADER "snapshot=0\ntime=-5\nmem_heap_B=1\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
	  "heap_tree=empty\n", "Died at a snapshot's time that cannot be drawn.\n", OWN },
};

#define FILES (sizeof(bad_files) / sizeof(bad_files[0]))

static bool save(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

/* The reference's words without the interpreter's warnings, in place. */
static char *without_warnings(char *words)
{
	static const char *const marks[] = { "Use of uninitialized", "Argument \"" };
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		while (!strncmp(words, marks[i], strlen(marks[i])) && strchr(words, '\n'))
			words = strchr(words, '\n') + 1;
	}
	return words;
}

static bool begins_with(const char *text, const char *beginning)
{
	/* The reference has a blank where our line ends. */
	return !strncmp(text, beginning, strlen(beginning) - 1);
}

TEST(file_that_is_wrong)
{
	const char *const args[] = { "bad", NULL };
	const char *theirs;
	size_t i;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	for (i = 0; i < FILES; i++) {
		ASSERT_TRUE(save("bad", bad_files[i].file));
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);
		MSPRINT_RUN_AUTO reference = msprint_run(MSPRINT_REFERENCE, args);

		EXPECT_EQ(reference.status, ours.status) {
			TH_LOG("file %zu: %s", i, bad_files[i].words);
		}
		EXPECT_NE(0, ours.status);
		EXPECT_STREQ(reference.out, ours.out);
		EXPECT_STREQ(bad_files[i].words, ours.err);
		theirs = without_warnings(reference.err);
		if (bad_files[i].compare == SAME) {
			EXPECT_STREQ(theirs, ours.err);
		} else if (bad_files[i].compare == BEGINNING) {
			EXPECT_TRUE(begins_with(theirs, ours.err));
		}
	}
}

static const char *const bad_args[][3] = {
	{ NULL }, { "-h" }, { "--help" }, { "-" }, { "--" }, { "--x" }, { "--x=" }, { "--x=3" },
	{ "--x=1001" }, { "--x=7a" }, { "--x=-7" }, { "--x= 7" }, { "--y=3" }, { "--y=1001" },
	{ "--y=99999999999999999999999" }, { "--threshold=" }, { "--threshold=%" },
	{ "--threshold=101" }, { "--threshold=100.01" }, { "--threshold=-1" },
	{ "--threshold=1e1" }, { "--threshold=5%%" }, { "--x=5", "--nonsense", "good" },
	{ "good", "--version=1" }, { "good", "-v" }, { "--X=5", "good" },
};

TEST(arguments_that_are_wrong)
{
	static const char *const shown[] = {
		"usage: ms_print [options] massif-out-file\n", "-h --help", "--version",
		"--threshold=<m.n>", "[1]\n", "--x=<4..1000>", "[72]\n", "--y=<4..1000>", "[20]\n",
	};
	size_t i;
	size_t j;

	if (msprint_missing())
		SKIP(return, "%s", msprint_missing());
	ASSERT_TRUE(save("good", HEADER NUMBERS "heap_tree=empty\n"));
	for (i = 0; i < sizeof(bad_args) / sizeof(bad_args[0]); i++) {
		const char *args[4] = { bad_args[i][0], bad_args[i][1], bad_args[i][2], NULL };
		MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);
		MSPRINT_RUN_AUTO reference = msprint_run(MSPRINT_REFERENCE, args);

		EXPECT_EQ(255, reference.status);
		EXPECT_EQ(255, ours.status) {
			TH_LOG("%s", args[0] ?: "no argument");
		}
		EXPECT_STREQ("", ours.out);
		/* The text is our own, but both show the same things. */
		for (j = 0; j < sizeof(shown) / sizeof(shown[0]); j++) {
			EXPECT_NE(NULL, strstr(reference.err, shown[j]));
			EXPECT_NE(NULL, strstr(ours.err, shown[j]));
		}
		EXPECT_EQ(ours.err, strstr(ours.err, shown[0]));
	}
}

TEST(version)
{
	const char *const args[] = { "good", "--version", "--nonsense", NULL };
	MSPRINT_RUN_AUTO ours = msprint_run(msprint_ours(), args);

	EXPECT_EQ(255, ours.status);
	EXPECT_STREQ("", ours.out);
	EXPECT_STREQ("ms_print-" MASSIF_VERSION "\n", ours.err);
}

TEST(file_that_cannot_be_read)
{
	static const struct {
		const char *path;
		int status;	/* the errno */
		const char *words;
	} paths[] = {
		{ "nowhere", 2, "Cannot open nowhere for reading\n" },
		{ "", 2, "Cannot open  for reading\n" },
		{ "good/below", 20, "Cannot open good/below for reading\n" },
		/* The reference takes a directory for an empty file. */
		{ "/", 21, "Cannot read /: Is a directory\n" },
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
		if (paths[i].status != 21) {
			EXPECT_STREQ(reference.err, ours.err);
		}
	}
}

/* Runs ours by the shell, which redirects. */
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
		  "Unable to write standard output: No space left on device\n" },
		{ "$ms_print good >&-", "Unable to write standard output: Bad file descriptor\n" },
		{ "ulimit -f 1; trap '' XFSZ; $ms_print good > out",
		  "Unable to write standard output: File too large\n" },
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

/* The reference recurses, so this is about ours alone. */
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
