// SPDX-License-Identifier: GPL-2.0
// massif-ctl check: budgets of all kinds at their limit and one below it, known leaks, formats, exit statuses.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/*
 * Peak: 100,000 + 1,000 + 500 + 64 bytes requested, with 52 of overhead and rounding: 101,616. End: 1,500 and 36.
 * 103 blocks of 107,900 bytes, 100 of them temporary; the one of 100,000 bytes
 * is freed last, and not by the next call.
 */
#define PROGRAM								\
	"#include <stdlib.h>\n"						\
	"#include <string.h>\n"						\
	"void *volatile sink;\n"					\
	"static void *wrap(size_t n) { return malloc(n); }\n"		\
	"static void leak(void) { sink = wrap(1000); }\n"		\
	"static void known_leak(void) { sink = malloc(500); }\n"	\
	"static void churn(void) { for (int i = 0; i < 100; i++) free(sink = malloc(64)); }\n" \
	"int main(int n, char **args)\n"				\
	"{\n"								\
	"	void *volatile p = calloc(1, 100000);\n"		\
	"	leak();\n"						\
	"	known_leak();\n"					\
	"	churn();\n"						\
	"	free(p);\n"						\
	"	return n > 1 ? atoi(args[1]) ? atoi(args[1]) : (abort(), 0) : 0;\n" \
	"}\n"

FIXTURE(check) {
	struct ctl_result result;
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define CHECK(...) RUN("massif-ctl", "check", __VA_ARGS__, "massif.rec")
#define HAS(text) (strstr(self->result.out, text) != NULL)
#define SAYS(text) (strstr(self->result.err, text) != NULL)

FIXTURE_SETUP(check)
{
	ctl_remove_files("massif.");
	ctl_write_file("program.c", PROGRAM, 0644);
	ASSERT_EQ(0, RUN("cc", "-O0", "-g", "-o", "program", "program.c"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--peak-inaccuracy=0", "--record=massif.rec",
			 "--massif-out-file=massif.out", "./program"));
}

FIXTURE_TEARDOWN(check)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("program");
}

/* Budgets that are just kept. With a limit lower by one, each is exceeded. */
static const struct {
	const char *words;
	unsigned long limit;
} budgets[] = {
	{ "peak", 101616 },
	{ "end", 1536 },
	{ "allocations", 103 },
	{ "allocated", 107900 },
	{ "temporary", 100 },
	{ "leak-sites", 2 },
	/* A function counts with all that it calls. */
	{ "function main peak", 101564 },
	{ "function leak end", 1000 },
	{ "function leak allocations", 1 },
	{ "function *leak end", 1500 },
	{ "function \"known_leak\" leak-sites", 1 },
	{ "function churn temporary", 100 },
	{ "function churn allocated", 6400 },
	{ "file program.c end", 1500 },
	{ "file *.c leak-sites", 2 },
	{ "library program allocations", 103 },
	{ "library */program allocated", 107900 },
	{ "program prog* library prog?am end", 1500 },
};

#define BUDGETS (sizeof(budgets) / sizeof(budgets[0]))

TEST_F_TIMEOUT(check, at_the_limit_and_below_it, 120)
{
	char text[256];

	for (size_t i = 0; i < BUDGETS; i++) {
		for (unsigned long less = 0; less < 2; less++) {
			snprintf(text, sizeof(text), "# one\n\n  %s %lu # of all\r\n", budgets[i].words,
				 budgets[i].limit - less);
			ctl_write_file("massif.budget", text, 0644);
			EXPECT_EQ((int)less, CHECK("--budget=massif.budget")) {
				TH_LOG("%s: %s%s", text, self->result.out, self->result.err);
			}
			EXPECT_TRUE(HAS(less ? "\n0 kept, 1 over\n" : "\n1 kept, 0 over\n"));
		}
	}
}

TEST_F_TIMEOUT(check, shares, 120)
{
	/* 100 of 103 blocks: 97.0874 per cent. */
	EXPECT_EQ(0, CHECK("--max-temporary=97.1%"));
	EXPECT_EQ(1, CHECK("--max-temporary=97%"));
	EXPECT_TRUE(HAS("OVER      97.09%     97.00%  program (pid "));
	ctl_write_file("massif.budget", "function churn temporary 100%\nfunction main temporary 97.1%\n"
					"function none temporary 0%\n", 0644);
	EXPECT_EQ(0, CHECK("--budget=massif.budget"));
	ctl_write_file("massif.budget", "function churn temporary 99.9%", 0644);
	EXPECT_EQ(1, CHECK("--budget=massif.budget"));
}

TEST_F_TIMEOUT(check, what_is_over_is_explained, 120)
{
	EXPECT_EQ(1, CHECK("--max-peak=64K", "--max-end=1G", "--max-leak-sites=0"));
	EXPECT_TRUE(HAS("\nOVER    99.23 KB   64.00 KB  program (pid "));
	EXPECT_TRUE(HAS("): peak 64K\n                                     97.66 KB  main (program.c:10)\n"
			"                                     0.977 KB  wrap (program.c:4)\n"));
	EXPECT_TRUE(HAS("\nok      1.500 KB   1.000 GB  program (pid "));
	EXPECT_TRUE(HAS("\nOVER           2          0  program (pid "));
	EXPECT_TRUE(HAS("): leak-sites 0\n                                     0.977 KB  wrap (program.c:4)\n"
			"                                        500 B  known_leak (program.c:6)\n"));
	EXPECT_TRUE(HAS("\n1 kept, 2 over\n"));
	EXPECT_EQ(1, CHECK("--max-leak-sites=1", "--alloc-fn=wrap"));
	EXPECT_TRUE(HAS(" leak (program.c:5)\n"));
}

/* Five sites are named; more are added up in one line. */
TEST_F_TIMEOUT(check, many_sites, 120)
{
	static const unsigned int numbers[] = { 5, 6, 50 };
	char text[8192], line[64];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t n = (size_t)snprintf(text, sizeof(text), "#include <stdlib.h>\nvoid *volatile sink;\n"
								"int main(void) {\n");
		unsigned int named = 0;

		for (unsigned int k = 0; k < numbers[i]; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "sink = malloc(1000);\n");
		snprintf(text + n, sizeof(text) - n, "return 0; }\n");
		ctl_write_file("program.c", text, 0644);
		ASSERT_EQ(0, RUN("cc", "-O0", "-g", "-o", "program", "program.c"));
		ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.many", "--massif-out-file=massif.out",
				 "./program"));
		EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-allocated=1", "massif.many"));
		for (const char *at = self->result.out; (at = strstr(at, "  main (program.c:")); at++)
			named++;
		EXPECT_EQ(5, named);
		EXPECT_EQ(numbers[i] > 5, HAS("in other places"));
		snprintf(line, sizeof(line), "%s  in other places\n", numbers[i] == 6 ? "0.977 KB" : "43.95 KB");
		EXPECT_EQ(numbers[i] > 5, HAS(line)) {
			TH_LOG("%s", self->result.out);
		}
	}
}

/* Known leaks, and how many sites of leaks are left. */
static const struct {
	const char *text;
	const char *left;
} suppressions[] = {
	{ "", "2" },
	{ "# known\nleak:known_\n", "1" },
	{ "leak:leak\n", "0" },
	{ "leak:^leak\n", "1" },
	{ "leak:^leak$\nleak:^known_leak$\n", "0" },
	{ "leak:^eak\n", "2" },
	{ "leak:program.c\n", "0" },
	{ "{\n  a\n  Memcheck:Leak\n  match-leak-kinds: reachable\n  fun:malloc\n  fun:known_leak\n  fun:main\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Leak\n  fun:known_leak\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Leak\n  fun:malloc\n  fun:main\n}\n", "2" },
	{ "{\n  a\n  Memcheck:Leak\n  fun:*alloc\n  ...\n  fun:main\n}\n", "0" },
	{ "{\n  a\n  Memcheck:Leak\n  ...\n  fun:leak\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Leak\n  ...\n  fun:malloc\n  fun:known_leak\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Leak\n  ...\n  fun:malloc\n  fun:main\n}\n", "2" },
	{ "{\n  a\n  Memcheck,Addrcheck:Leak\n  ...\n  src:program.c:6\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Leak\n  obj:*/program\n  obj:*/program\n  fun:main\n}\n", "1" },
	{ "{\n  a\n  Memcheck:Cond\n  fun:main\n}\n{\n  b\n  Helgrind:Leak\n  fun:leak\n}\n", "2" },
};

TEST_F_TIMEOUT(check, known_leaks, 120)
{
	char line[64];

	for (size_t i = 0; i < sizeof(suppressions) / sizeof(suppressions[0]); i++) {
		ctl_write_file("massif.supp", suppressions[i].text, 0644);
		EXPECT_EQ(suppressions[i].left[0] != '0', CHECK("--max-leak-sites=0", "--suppressions=massif.supp"));
		snprintf(line, sizeof(line), "%10s          0  program (pid ", suppressions[i].left);
		EXPECT_TRUE(HAS(line)) {
			TH_LOG("%s: %s%s", suppressions[i].text, self->result.out, self->result.err);
		}
	}
}

/* All kinds of operator new. Valgrind's suppressions name them as they are in the file. */
static const char *const operators[] = {
	"_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZnamSt11align_val_tRKSt9nothrow_t", "_Zna*", "*nothrow_t",
};

TEST_F_TIMEOUT(check, known_leaks_of_operators, 120)
{
	char text[256];

	ctl_write_file("program.cc", "void *volatile sink;\n"
				     "static void leak() { sink = new char[100]; }\n"
				     "int main() { leak(); return 0; }\n", 0644);
	ASSERT_EQ(0, RUN("g++", "-O0", "-g", "-o", "program", "program.cc"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "./program"));
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		snprintf(text, sizeof(text), "{\n  a\n  Memcheck:Leak\n  fun:%s\n  fun:_ZL4leakv\n  fun:main\n}\n",
			 operators[i]);
		ctl_write_file("massif.supp", text, 0644);
		EXPECT_EQ(0, CHECK("--max-leak-sites=0", "--suppressions=massif.supp")) TH_LOG("%s", operators[i]);
	}
	ctl_write_file("massif.supp", "{\n  a\n  Memcheck:Leak\n  fun:_Znwm\n  fun:main\n}\n", 0644);
	EXPECT_EQ(1, CHECK("--max-leak-sites=0", "--suppressions=massif.supp"));
}

TEST_F_TIMEOUT(check, formats, 120)
{
	ctl_write_file("massif.budget", "peak 64K\nfunction \"a<b> #&\" end 0\nprogram other allocations 3\n", 0644);
	EXPECT_EQ(1, CHECK("--budget=massif.budget", "--format=tap"));
	EXPECT_TRUE(HAS("TAP version 13\n1..3\nnot ok 1 - program: peak 64K\n# measured 101616, limit 65536 (pid "));
	EXPECT_TRUE(HAS("\n#   97.66 KB  main (program.c:10)\n"));
	EXPECT_TRUE(HAS("\nok 2 - program: function \"a<b> \\#&\" end 0\n# measured 0, limit 0 (pid "));
	EXPECT_TRUE(HAS("\nok 3 - program other allocations 3 # SKIP no recorded process is of this program\n"));

	EXPECT_EQ(1, CHECK("--budget=massif.budget", "--format=junit", "-o", "massif.xml"));
	EXPECT_STREQ("", self->result.out);
	EXPECT_EQ(0, RUN("xmllint", "--xpath", "concat(/testsuite/@tests, ' ', /testsuite/@failures, ' ', /testsuite/@skipped, "
						"' ', count(//testcase), ' ', count(//failure), ' ', count(//skipped), ' ', "
						"//testcase[2]/@name)", "massif.xml"));
	EXPECT_STREQ("3 1 1 3 1 1 function \"a<b> #&\" end 0\n", self->result.out);
	EXPECT_EQ(2, CHECK("--max-peak=1", "--format=xml"));
	EXPECT_TRUE(SAYS("there are text, tap, junit"));
}

/* The names of a program are not always text. */
TEST_F_TIMEOUT(check, hostile_names, 120)
{
	static const char name[] = "./program\xff\xc2\x9b\x1b\xef\xbf\xbf<";

	EXPECT_EQ(0, RUN("cp", "program", name));
	EXPECT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.bad", "--massif-out-file=massif.out", name));
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-peak=1", "--format=junit", "-o", "massif.xml", "massif.bad"));
	EXPECT_EQ(0, RUN("xmllint", "--xpath", "string(//testcase/@classname)", "massif.xml")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_STREQ("program?" "?" "?" "?<\n", self->result.out);
}

/* Invalid files of budgets, and the message about each. */
static const struct {
	const char *text, *message;
} mistakes[] = {
	{ "peak", "massif.budget:1: peak has no limit" },
	{ "\n# two\npeek 1", "massif.budget:3: 'peek' is not a measure; use peak, end, " },
	{ "peak 1.5M", "massif.budget:1: '1.5M' is not a limit for peak; it needs a size" },
	{ "peak -1", "'-1' is not a limit for peak" },
	{ "peak 10%", "'10%' is not a limit for peak" },
	{ "allocations 1K", "'1K' is not a limit for allocations; it needs a whole number" },
	{ "leak-sites -1", "'-1' is not a limit for leak-sites" },
	{ "temporary %", "'%' is not a limit for temporary; it needs a whole number, or a percentage" },
	{ "temporary -1%", "'-1%' is not a limit for temporary" },
	{ "peak 1 2", "there is something after the limit: '2'" },
	{ "program a function b peak 1 2", "there is something after the limit: '2'" },
	{ "program", "'program' needs a pattern after it" },
	{ "function peak 1", "'1' is not a measure" },
	{ "function \"\" peak 1", "'function' needs a pattern after it" },
	{ "function f", "there is no measure" },
	{ "function \"f peak 1", "the quotation mark before 'f peak 1" },
	{ "function f program p peak 1", "'program' is not a measure" },
};

static const struct {
	const char *text, *message;
} mistaken_suppressions[] = {
	{ "leak:", "massif.supp:1: leak: needs a pattern" },
	{ "\nrace:x", "massif.supp:2: 'race:x' is no suppression" },
	{ "{\n  a\n  Memcheck:Leak\n  fun:x\n", "massif.supp:4: the block has no } at its end" },
	{ "{\n  a\n  Memcheck:Cond\n  fun:x\n", "massif.supp:4: the block has no } at its end" },
	{ "{\n", "massif.supp:1: the block has no } at its end" },
	{ "{\n  a\n  Leak\n  fun:x\n}\n", "massif.supp:3: 'Leak' is not a kind" },
	{ "{\n  a\n  Memcheck:Leak\n  frame:x\n}\n", "massif.supp:4: 'frame:x' is not a call" },
	{ "{\n  a\n  Memcheck:Leak\n}\n", "massif.supp:4: the block has no calls" },
};

TEST_F_TIMEOUT(check, mistakes, 120)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		ctl_write_file("massif.budget", mistakes[i].text, 0644);
		EXPECT_EQ(2, CHECK("--budget=massif.budget"));
		EXPECT_TRUE(SAYS(mistakes[i].message)) {
			TH_LOG("%s: %s", mistakes[i].text, self->result.err);
		}
	}
	for (size_t i = 0; i < sizeof(mistaken_suppressions) / sizeof(mistaken_suppressions[0]); i++) {
		ctl_write_file("massif.supp", mistaken_suppressions[i].text, 0644);
		EXPECT_EQ(2, CHECK("--max-leak-sites=9", "--suppressions=massif.supp"));
		EXPECT_TRUE(SAYS(mistaken_suppressions[i].message)) {
			TH_LOG("%s: %s", mistaken_suppressions[i].text, self->result.err);
		}
	}
	EXPECT_EQ(2, CHECK("-q"));
	EXPECT_TRUE(SAYS("there is no budget"));
	EXPECT_EQ(2, CHECK("--budget=massif.none"));
	EXPECT_TRUE(SAYS("cannot read the budgets 'massif.none'"));
	EXPECT_EQ(2, CHECK("--budget=."));
	EXPECT_EQ(2, CHECK("--max-peak=1.5M"));
	EXPECT_TRUE(SAYS("--max-peak=1.5M"));
	EXPECT_EQ(2, CHECK("--max-peak"));
	EXPECT_EQ(2, RUN("massif-ctl", "check", "--max-peak=1M", "massif.none"));
	EXPECT_EQ(2, CHECK("--max-peak=1M", "-o", "/nonexistent/massif.check"));
}

/* A massif.out file has no tree of the end and no counts, and leaves out what is below the threshold. */
TEST_F_TIMEOUT(check, massif_out_files, 120)
{
	EXPECT_EQ(0, RUN("massif-ctl", "check", "--max-peak=101616", "massif.out"));
	EXPECT_TRUE(HAS("  the program: peak 101616\n"));
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-peak=101615", "massif.out"));
	EXPECT_EQ(2, RUN("massif-ctl", "check", "--max-end=1G", "massif.out"));
	EXPECT_TRUE(SAYS("'end 1G' cannot be checked: a massif.out file has only the peak as a whole"));
	EXPECT_STREQ("", self->result.out);
}

TEST_F_TIMEOUT(check, processes_of_a_run, 120)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.all", "--massif-out-file=massif.out.%p",
			 "--trace-children=yes", "sh", "-c", "./program; ./program; true"));
	ctl_write_file("massif.budget", "program program peak 1K\nprogram *sh peak 100M\n", 0644);
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.all"));
	EXPECT_TRUE(HAS(" kept, 2 over\n"));
	EXPECT_EQ(2, RUN("massif-ctl", "check", "--budget=massif.budget", "--pid=1", "massif.all"));
	EXPECT_TRUE(SAYS("the recording has no process 1"));
}

TEST_F_TIMEOUT(check, while_it_runs, 120)
{
	EXPECT_EQ(0, RUN("massif-ctl", "run", "--massif-out-file=massif.out", "--max-peak=1M", "./program"));
	EXPECT_TRUE(SAYS("massif-ctl: 1 kept, 0 over\n"));
	EXPECT_EQ(1, RUN("massif-ctl", "run", "-q", "--massif-out-file=massif.out", "--max-peak=1K",
			 "--max-temporary=100%", "./program"));
	EXPECT_TRUE(SAYS("massif-ctl: OVER    99.23 KB   1.000 KB  program (pid "));
	EXPECT_TRUE(SAYS("massif-ctl: 1 kept, 1 over\n"));
	EXPECT_STREQ("", self->result.out);
	/* The status of a program that fails is its own. */
	EXPECT_EQ(7, RUN("massif-ctl", "run", "-q", "--massif-out-file=massif.out", "--max-peak=1K", "./program", "7"));
	EXPECT_TRUE(SAYS("OVER"));
	EXPECT_EQ(128 + SIGABRT, RUN("massif-ctl", "run", "-q", "--massif-out-file=massif.out", "--max-peak=1K",
				     "./program", "0"));
	EXPECT_TRUE(SAYS("OVER"));
	/* What was not profiled keeps to no budget. */
	ASSERT_EQ(0, RUN("cc", "-O0", "-static", "-o", "program_static", "program.c"));
	EXPECT_EQ(1, RUN("massif-ctl", "run", "-q", "--massif-out-file=massif.out", "--max-peak=1G",
			 "./program_static"));
	EXPECT_TRUE(SAYS("program_static was not profiled, so its budgets are not checked"));
	/* Mistakes are found before the program runs, and so is what pages mode cannot count. */
	EXPECT_EQ(1, RUN("massif-ctl", "run", "--budget=massif.none", "sh", "-c", "echo ran"));
	EXPECT_STREQ("", self->result.out);
	EXPECT_EQ(1, RUN("massif-ctl", "--pages-as-heap=yes", "--max-allocations=3", "sh", "-c", "echo ran"));
	EXPECT_TRUE(SAYS("The budget 'allocations 3' needs heap mode"));
	EXPECT_STREQ("", self->result.out);
}

TEST_HARNESS_MAIN
