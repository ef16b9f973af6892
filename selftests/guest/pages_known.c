// SPDX-License-Identifier: GPL-2.0
// Checks, with real programs, that each stack recognised by the module is the one that a stack copy would have shown.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"

#define DUMP   "stacks"
#define REPORT "known."

/*
 * A Python program that waits several times, so that massif-ctl can report stacks to the module before the same stacks
 * recur.
 */
static const char python[] = "import json, time\n"
			     "for _ in range(8):\n"
			     " d = {str(i): [i, 'x' * (i % 300)] for i in range(20000)}\n"
			     " s = json.dumps(d)\n"
			     " n = len(json.loads(s))\n"
			     " del d\n"
			     " time.sleep(0.2)\n"
			     "print(n)";

static const char sql[] =
	"create table t(a integer primary key, b);"
	"with recursive c(x) as (select 1 union all select x+1 from c where x<20000)"
	"insert into t select x, hex(x)||'abcdefghijklmnop' from c;"
	"create index i on t(b); select count(*) from t;";

/* Counters from the dump file that massif-ctl writes for tests, summed over all processes in the file. */
struct figures {
	uint64_t recognised, captured, walked, limited, none, verified, wrong;
	uint64_t lost, mismatches;
};

FIXTURE(known)
{
	struct figures figures;
	struct ctl_result result;
};

FIXTURE_VARIANT(known)
{
	const char *words[5]; /* command line; target/NAME stands for the test program NAME */
	unsigned int recognised; /* minimum percentage of stacks that must be recognised */
	/* true if the program's report may differ from run to run, so that two reports cannot be compared */
	bool differs;
};

FIXTURE_VARIANT_ADD(known, python3){{"python3", "-c", python}, 20, false};
FIXTURE_VARIANT_ADD(known, sqlite3){{"sqlite3", ":memory:", sql}, 0, false};
FIXTURE_VARIANT_ADD(known, stacks){{"target/pages_stacks", "8000"}, 40, false};
FIXTURE_VARIANT_ADD(known, stacks_of_threads){{"target/pages_stacks", "2000", "threads"}, 30, true};
FIXTURE_VARIANT_ADD(known, torture){{"target/torture", "11", "1500"}, 50, false};
FIXTURE_VARIANT_ADD(known, torture_of_threads){{"target/torture", "13", "600", "threads"}, 50, true};

FIXTURE_SETUP(known)
{
	memset(self, 0, sizeof(*self));
	setenv("MASSIF_DUMP_INTERVALS", DUMP, 1);
	setenv("PYTHONHASHSEED", "0", 1);
	setenv("TORTURE_MAPS", "maps", 1);
	mkdir("maps", 0700);
}

FIXTURE_TEARDOWN(known)
{
	ctl_result_free(&self->result);
	unsetenv("MASSIF_KNOWN_STACKS");
}

static void same_addresses(void)
{
	personality(ADDR_NO_RANDOMIZE);
}

/*
 * Runs the variant's program under massif-ctl with MASSIF_KNOWN_STACKS=@mode, which controls whether the module may
 * recognise stacks. Returns the report, which the caller must free.
 */
static char *run(FIXTURE_DATA(known) *self, const FIXTURE_VARIANT(known) *variant, const char *mode)
{
	const char *argv[16] = {
		"massif-ctl", "--pages-as-heap", "--time-unit=B", "--threshold=0", "--depth=200",
		"--massif-out-file=" REPORT "out",
	};
	char line[512], name[256];
	FILE *dump;
	int n = 6;

	unlink(DUMP);
	ctl_remove_files(REPORT);
	setenv("MASSIF_KNOWN_STACKS", mode, 1);
	for (int i = 0; i < 5 && variant->words[i]; i++)
		argv[n++] = strncmp(variant->words[i], "target/", 7) ?
				    variant->words[i] : ctl_target(variant->words[i] + 7);
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, same_addresses, argv);
	memset(&self->figures, 0, sizeof(self->figures));
	dump = fopen(DUMP, "r");
	while (dump && fgets(line, sizeof(line), dump)) {
		struct figures *sum = &self->figures, f = {0};

		sscanf(line, "process %*d model %*u kernel %*u lost %" SCNu64 " mismatches %" SCNu64,
		       &f.lost, &f.mismatches);
		sscanf(line, "stacks recognised %" SCNu64 " captured %" SCNu64 " walked %" SCNu64
		       " limited %" SCNu64 " none %" SCNu64 " verified %" SCNu64 " wrong %" SCNu64,
		       &f.recognised, &f.captured, &f.walked, &f.limited, &f.none, &f.verified,
		       &f.wrong);
		for (size_t i = 0; i < sizeof(f) / sizeof(uint64_t); i++)
			((uint64_t *)sum)[i] += ((uint64_t *)&f)[i];
	}
	if (dump)
		fclose(dump);
	return ctl_find_files(REPORT, name) ? ctl_read_file(name) : NULL;
}

static void say(struct __test_metadata *_metadata, const char *mode, const struct figures *f)
{
	TH_LOG("%s: recognised %" PRIu64 ", captured %" PRIu64 " (walked %" PRIu64
	       ", limited %" PRIu64 "), none %" PRIu64 ", verified %" PRIu64, mode, f->recognised,
	       f->captured, f->walked, f->limited, f->none, f->verified);
}

/*
 * Returns the number (counted from 1) of the first line in which the texts differ, and sets *@a and *@b to that line in
 * the two texts. Returns 0 if the texts are equal.
 */
static int first_difference(const char **a, const char **b)
{
	for (int line = 1; **a || **b; line++) {
		size_t n = strcspn(*a, "\n"), m = strcspn(*b, "\n");

		if (n != m || memcmp(*a, *b, n) != 0)
			return line;
		*a += n + !!(*a)[n];
		*b += m + !!(*b)[m];
	}
	return 0;
}

/* In mode "verify", each stack that the module would have recognised is copied, walked and compared. */
TEST_F_TIMEOUT(known, are_what_they_are_said_to_be, 240)
{
	char *report = run(self, variant, "verify");

	ASSERT_NE(report, NULL);
	free(report);
	say(_metadata, "verify", &self->figures);
	EXPECT_EQ(ctl_exit_code(&self->result), 0) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_EQ(self->figures.wrong, 0);
	EXPECT_EQ(self->figures.recognised, 0);
	EXPECT_EQ(self->figures.mismatches, 0);
	EXPECT_EQ(self->figures.captured, self->figures.walked);
	/*
	 * Only stacks that the module finds in its cache are compared. Their number depends on how soon massif-ctl
	 * walks stacks and reports them to the module, so the test requires only one.
	 */
	if (variant->recognised)
		EXPECT_LT(0, self->figures.verified);
}

/*
 * A run in which the module recognises stacks must give the same report as a run in which all stacks are copied and
 * walked.
 */
TEST_F_TIMEOUT(known, change_nothing_in_the_report, 240)
{
	char *plain = run(self, variant, "off"), *known;
	const char *a = plain, *b;
	struct figures off = self->figures;
	uint64_t all;

	say(_metadata, "off", &off);
	EXPECT_EQ(off.recognised, 0);
	EXPECT_EQ(off.captured, off.walked);
	/*
	 * The mode is "yes" rather than "on", so that it is as long as "off". The mode is in the environment, which is
	 * on the stack, and the size of the stack must not change.
	 */
	known = run(self, variant, "yes");
	say(_metadata, "on", &self->figures);
	EXPECT_EQ(ctl_exit_code(&self->result), 0) {
		TH_LOG("%s", self->result.err);
	}
	ASSERT_NE(plain, NULL);
	ASSERT_NE(known, NULL);
	EXPECT_EQ(self->figures.none, off.none);
	EXPECT_EQ(self->figures.lost, 0);
	EXPECT_EQ(self->figures.mismatches, 0);
	EXPECT_EQ(self->figures.limited, 0);
	all = self->figures.recognised + self->figures.captured;
	EXPECT_GE(self->figures.recognised * 100, all * variant->recognised);
	EXPECT_LE(self->figures.walked, self->figures.captured);
	/* Do not use EXPECT_STREQ to compare the two reports, because it would print both in full. */
	b = known;
	if (!variant->differs)
		EXPECT_EQ(first_difference(&a, &b), 0) {
			TH_LOG("off: %.*s", (int)strcspn(a, "\n"), a);
			TH_LOG("on:  %.*s", (int)strcspn(b, "\n"), b);
			TH_LOG("%s", self->result.err);
		}
	free(plain);
	free(known);
}

TEST_HARNESS_MAIN
