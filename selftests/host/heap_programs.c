// SPDX-License-Identifier: GPL-2.0
// Heap mode on real programs: they behave as they do without massif, and the peak equals Massif's.

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND "/usr/bin/valgrind"

/* A Python script that makes about 10^6 allocations and ends with a special exit status. */
#define PYTHON_SCRIPT                                                             \
	"import json, sys\n"                                                      \
	"d = [{'number': i, 'text': str(i) * 3} for i in range(60000)]\n"         \
	"t = json.dumps(d)\n"                                                     \
	"print(len(t), sum(len(e['text']) for e in json.loads(t)))\n"             \
	"sys.exit(5)\n"

#define SQL                                                                       \
	"create table t(a, b); with recursive c(x) as (select 1 union all "       \
	"select x + 1 from c where x < 30000) insert into t select x, "           \
	"'text number ' || x from c; create index i on t(b); "                    \
	"select count(*), max(b) from t;"

FIXTURE(programs) {
	char *ours, *theirs;
	char ms_print[4096];
};

FIXTURE_SETUP(programs)
{
	const char *build = getenv("MASSIF_BUILD");

	snprintf(self->ms_print, sizeof(self->ms_print), "%s/ms_print", build ? build : "build");
	/* Settings that make runs reproducible. */
	setenv("PYTHONMALLOC", "malloc", 1);
	setenv("PYTHONHASHSEED", "1", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	unsetenv("PYTHONPATH");
}

FIXTURE_TEARDOWN(programs)
{
	ctl_remove_files("massif.out");
	free(self->ours);
	free(self->theirs);
}

FIXTURE_VARIANT(programs) {
	const char *argv[8];
	const char *target;	   /* name of a test program to run; NULL: run argv[0] */
	bool threads;		   /* true if threads make the order of events differ from Massif's */
	const char *outermost[4]; /* names of functions that may be the outermost frame of a stack */
};

FIXTURE_VARIANT_ADD(programs, python3) {
	.argv = { "/usr/bin/python3", "-c", PYTHON_SCRIPT },
	.outermost = { ": main", "(below main)" },
};

FIXTURE_VARIANT_ADD(programs, sqlite3) {
	.argv = { "/usr/bin/sqlite3", ":memory:", SQL },
	.outermost = { ": main", "(below main)" },
};

FIXTURE_VARIANT_ADD(programs, git) {
	.argv = { "/usr/bin/git", "-C", "repository", "log", "-p", "--no-color" },
	.outermost = { ": main", "(below main)" },
};

FIXTURE_VARIANT_ADD(programs, map) {
	.argv = { "" },
	.target = "heap_map",
	.outermost = { ": main", "_dl_init" },
};

FIXTURE_VARIANT_ADD(programs, threads) {
	.argv = { "", "4", "50000" },
	.target = "heap_storm",
	.threads = true,
	.outermost = { ": main", "start_thread", "clone" },
};

/* Creates a repository with some history, once per run of the test. */
static void make_repository(void)
{
	if (system("rm -rf repository && git init -q repository && cd repository && "
		   "git config user.name test && git config user.email test@example.org && "
		   "for i in $(seq 40); do seq $i $((i * 50)) > file$((i % 7)); git add . && "
		   "git commit -q -m \"change $i\"; done"))
		abort();
}

static void fill(const char **argv, size_t n, const char *const *const words,
		 const struct _fixture_variant_programs *variant)
{
	for (size_t i = 0; i < 8 && words[i]; i++)
		argv[n++] = i == 0 && variant->target ? ctl_target(variant->target) : words[i];
	argv[n] = NULL;
}

/* Removes from @text all lines that contain the string @words. */
static void remove_lines(char *text, const char *words)
{
	char *line = text;

	while (*line) {
		size_t length = strcspn(line, "\n");
		char *found = strstr(line, words);

		length += line[length] == '\n';
		if (found && found < line + length)
			memmove(line, line + length, strlen(line + length) + 1);
		else
			line += length;
	}
}

TEST_F_TIMEOUT(programs, as_without_and_as_massif, 200)
{
	const char *native_argv[16] = { NULL };
	const char *our_argv[24] = { "massif-ctl", "-q", "--time-unit=B", "--threshold=0",
				     "--depth=200", "--max-snapshots=10",
				     "--massif-out-file=massif.out.ours" };
	const char *their_argv[16] = { VALGRIND, "-q", "--tool=massif", "--time-unit=B",
				       "--massif-out-file=massif.out.theirs" };
	struct ctl_result native, ours, theirs, report;
	struct massif_text_reach reach;
	double peak, their_peak;

	if (!variant->target && access(variant->argv[0], X_OK))
		SKIP(return, "the program is not installed");
	if (strstr(variant->argv[0], "git"))
		make_repository();
	fill(native_argv, 0, variant->argv, variant);
	fill(our_argv, 7, variant->argv, variant);
	fill(their_argv, 5, variant->argv, variant);

	ctl_run(&native, NULL, NULL, native_argv);
	ctl_run(&ours, NULL, NULL, our_argv);
	EXPECT_EQ(ctl_exit_code(&native), ctl_exit_code(&ours));
	EXPECT_STREQ(native.out, ours.out);
	/* The program also forks, so massif-ctl reports that the name of the child's file is already taken. */
	if (variant->threads)
		remove_lines(ours.err, "' is reserved for the profile of process ");
	EXPECT_STREQ(native.err, ours.err);
	ctl_result_free(&native);
	ctl_result_free(&ours);

	self->ours = ctl_read_file("massif.out.ours");
	ASSERT_NE(NULL, self->ours);
	CTL_RUN(&report, self->ms_print, "massif.out.ours");
	EXPECT_EQ(0, ctl_exit_code(&report));
	ctl_result_free(&report);
	peak = (double)massif_text_peak(self->ours);
	EXPECT_LT(0, peak);
	reach = massif_text_reach(self->ours, variant->outermost);
	TH_LOG("%.2f %% of the peak's bytes reach the program's entry",
	       100.0 * (double)reach.reached / (double)reach.leaves);
	EXPECT_LE(0.99 * (double)reach.leaves, (double)reach.reached);

	if (variant->threads)
		return;
	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed: the peak has nothing to be held against");
	ctl_run(&theirs, NULL, NULL, their_argv);
	ctl_result_free(&theirs);
	self->theirs = ctl_read_file("massif.out.theirs");
	ASSERT_NE(NULL, self->theirs);
	their_peak = (double)massif_text_peak(self->theirs);
	TH_LOG("peak: ours %.0f, Massif's %.0f", peak, their_peak);
	EXPECT_GE(0.01 * their_peak, peak > their_peak ? peak - their_peak : their_peak - peak);
}

TEST_HARNESS_MAIN
