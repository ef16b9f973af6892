// SPDX-License-Identifier: GPL-2.0
// massif-ctl's memory execution trees are the same as Valgrind's except for the order of stacks.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

#define VALGRIND  "/usr/bin/valgrind"
#define ANNOTATE  "/usr/bin/callgrind_annotate"
#define STACKS_MAX 10000

FIXTURE(xtree) {
	struct ctl_result result;
	char *ours, *theirs;
};

FIXTURE_SETUP(xtree)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("xt");
}

FIXTURE_TEARDOWN(xtree)
{
	ctl_result_free(&self->result);
	free(self->ours);
	free(self->theirs);
	ctl_remove_files("massif.out");
	ctl_remove_files("xt");
}

FIXTURE_VARIANT(xtree) {
	const char *target, *argument, *option;
	bool full;     /* true to use --xtree-memory=full instead of =allocs */
	bool has_pool; /* true if Valgrind shows libstdc++'s pool for exceptions (see POOL) */
};

FIXTURE_VARIANT_ADD(xtree, blocks) { "heap_xtree", NULL, "-q" };
FIXTURE_VARIANT_ADD(xtree, nothing_lives) { "heap_xtree", "nothing", "-q" };
FIXTURE_VARIANT_ADD(xtree, depth_is_no_limit) { "heap_xtree", NULL, "--depth=2" };
FIXTURE_VARIANT_ADD(xtree, nor_are_alloc_fns) { "heap_xtree", NULL, "--alloc-fn=leaf" };
FIXTURE_VARIANT_ADD(xtree, example) { "heap_example", NULL, "-q" };
FIXTURE_VARIANT_ADD(xtree, no_names) { "diff_stripped", NULL, "-q" };
FIXTURE_VARIANT_ADD(xtree, operators) { "diff_new", NULL, "-q" };
FIXTURE_VARIANT_ADD(xtree, demangled) { "heap_map", NULL, "-q" };
FIXTURE_VARIANT_ADD(xtree, mangled) { "heap_map", NULL, "--demangle=no" };
FIXTURE_VARIANT_ADD(xtree, full) { "heap_xtree", "freed", "-q", .full = true };
FIXTURE_VARIANT_ADD(xtree, full_depth_is_no_limit) { "heap_xtree", "freed", "--depth=2", .full = true };
FIXTURE_VARIANT_ADD(xtree, full_nothing_lives) { "heap_xtree", "nothing", "-q", .full = true };
FIXTURE_VARIANT_ADD(xtree, full_merged) {
	"heap_xtree", "freed", "--merge-recursive-frames=1", .full = true };
FIXTURE_VARIANT_ADD(xtree, full_inside_libc) { "diff_library", "strings", "-q", .full = true };
FIXTURE_VARIANT_ADD(xtree, full_operators) {
	"diff_new", "forms", "-q", .full = true, .has_pool = true };
FIXTURE_VARIANT_ADD(xtree, full_demangled) { "heap_map", NULL, "-q", .full = true };

/* Runs the program under both profilers. Both write execution trees to files whose names end in @ending. */
static bool run(FIXTURE_DATA(xtree) *self, const FIXTURE_VARIANT(xtree) *variant,
		const char *ending, const char *compress)
{
	const char *memory = variant->full ? "--xtree-memory=full" : "--xtree-memory=allocs";
	char ours[64], theirs[64], target[4096];
	int status;
	bool fine;

	snprintf(ours, sizeof(ours), "--xtree-memory-file=xt.ours%s", ending);
	snprintf(theirs, sizeof(theirs), "--xtree-memory-file=xt.theirs%s", ending);
	snprintf(target, sizeof(target), "%s", ctl_target(variant->target));
	CTL_RUN(&self->result, VALGRIND, "-q", "--tool=massif", "--run-libc-freeres=no",
		"--run-cxx-freeres=no", "--massif-out-file=massif.out", memory, compress, theirs,
		variant->option, target, variant->argument);
	status = ctl_exit_code(&self->result);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--massif-out-file=massif.out", memory, compress,
		ours, variant->option, target, variant->argument);
	/* massif-ctl must exit with the program's status, as Valgrind did in the run used for comparison. */
	fine = ctl_exit_code(&self->result) == status;
	self->ours = ctl_read_file(ours + strlen("--xtree-memory-file="));
	self->theirs = ctl_read_file(theirs + strlen("--xtree-memory-file="));
	return fine && self->ours && self->theirs;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The code that allocates libstdc++'s pool for exceptions is called from the dynamic linker. From there, Valgrind's
 * unwinder continues into unrelated contents of the stack.
 */
#define POOL " 72704 1"

/*
 * Splits a file into stacks at its empty lines, makes each stack a separate string, and sorts the stacks; the header
 * stays first.
 */
static size_t split(char *text, char **stacks)
{
	char *events = strstr(text, "\nevents: "), *pid = strstr(text, "\npid: ");
	size_t n = 0;

	if (!events || !pid)
		return 0;
	events -= strcspn(pid + 1, "\n") + 1;
	memmove(pid, strchr(pid + 1, '\n'), strlen(strchr(pid + 1, '\n')) + 1);
	stacks[n++] = text;
	text = strchr(events + 1, '\n');
	while (text && n < STACKS_MAX) {
		char *end;

		*text = '\0';
		stacks[n++] = ++text;
		end = strstr(text, "\n\n");
		if (end)
			*end = '\0';
		if (strstr(text, POOL) && strncmp(text, "totals", 6) != 0)
			strcpy(text, "pool");
		text = end ? end + 1 : NULL;
	}
	qsort(stacks + 1, n - 1, sizeof(*stacks), compare);
	return n;
}

TEST_F_TIMEOUT(xtree, for_callgrinds_readers, 120)
{
	static char *ours[STACKS_MAX], *theirs[STACKS_MAX];
	size_t n;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	ASSERT_TRUE(run(self, variant, ".kcg", "--xtree-compress-strings=no"));
	n = split(self->theirs, theirs);
	ASSERT_LT(1, n);
	EXPECT_EQ(n, split(self->ours, ours));
	for (size_t i = 0; i < n; i++)
		EXPECT_STREQ(theirs[i], ours[i]);
}

TEST_F_TIMEOUT(xtree, for_massifs_readers, 120)
{
	char *ours, *theirs, *time;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	if (variant->has_pool)
		SKIP(return, "the stack of libstdc++'s pool is not the same, see POOL");
	ASSERT_TRUE(run(self, variant, ".ms", "--xtree-compress-strings=yes"));
	EXPECT_TRUE(ctl_is_massif_file(self->ours));
	/* Entries of equal size are sorted by the addresses of their libraries, which vary. */
	if (strcmp(variant->target, "heap_map") == 0) {
		strstr(self->ours, "\nsnapshot=1\n")[1] = '\0';
		strstr(self->theirs, "\nsnapshot=1\n")[1] = '\0';
	}
	ours = massif_text_normalise(self->ours);
	theirs = massif_text_normalise(self->theirs);
	for (char *text = ours; text; text = text == ours ? theirs : NULL)
		for (time = text; (time = strstr(time, "\ntime=")); time++)
			memset(time + 6, 'T', strcspn(time + 6, "\n"));
	/* Replaces the times with placeholders of the same length. */
	for (char *text = ours; text; text = text == ours ? theirs : NULL)
		while ((time = strstr(text, "TT")))
			memmove(time, time + 1, strlen(time));
	EXPECT_STREQ(theirs, ours);
	free(ours);
	free(theirs);
}

/* Writes the execution tree @text to @out. Replaces each name that is given only by its number with the name itself. */
static void expand(const char *text, FILE *out)
{
	static const char *const keys[] = { "fl=(", "cfi=(", "fn=(", "cfn=(" };
	static char names[2][STACKS_MAX][1024];

	while (*text) {
		size_t length = strcspn(text, "\n");
		bool done = false;

		for (size_t i = 0; i < 4 && !done; i++) {
			size_t key = strlen(keys[i]);
			unsigned long number;
			char *end;

			if (strncmp(text, keys[i], key) != 0)
				continue;
			number = strtoul(text + key, &end, 10);
			if (end[1] == ' ')
				snprintf(names[i / 2][number], 1024, "%.*s",
					 (int)(text + length - end - 2), end + 2);
			fprintf(out, "%.*s%s\n", (int)key - 1, text, names[i / 2][number]);
			done = true;
		}
		if (!done)
			fprintf(out, "%.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

/* A compressed file has the same contents, and programs that read such files can read it. */
TEST_F_TIMEOUT(xtree, compressed, 120)
{
	static char *plain[STACKS_MAX], *expanded[STACKS_MAX];
	char *memory = NULL;
	size_t size, n;
	FILE *out;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	ASSERT_TRUE(run(self, variant, ".kcg", "--xtree-compress-strings=yes"));
	out = open_memstream(&memory, &size);
	expand(self->ours, out);
	fclose(out);
	free(self->ours);
	free(self->theirs);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, ANNOTATE, "--show-percs=no", "xt.ours.kcg");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.out, "PROGRAM TOTALS")) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
	ctl_result_free(&self->result);
	ASSERT_TRUE(run(self, variant, ".kcg", "--xtree-compress-strings=no"));
	n = split(self->ours, plain);
	EXPECT_EQ(n, split(memory, expanded));
	for (size_t i = 0; i < n; i++)
		EXPECT_STREQ(plain[i], expanded[i]);
	free(memory);
}

FIXTURE(totals) {
	struct ctl_result result;
	char *text;
	unsigned long long bytes, blocks, allocated, allocations, freed, frees;
};

FIXTURE_SETUP(totals)
{
	ctl_remove_files("xt");
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(totals)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files("xt");
	ctl_remove_files("massif.out");
}

/* Runs the target heap_xtree with the argument @way, and reads the totals in the last line of its execution tree. */
static bool count(FIXTURE_DATA(totals) *self, const char *way)
{
	const char *totals;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--xtree-memory=full",
		"--xtree-memory-file=xt.full", "--xtree-compress-strings=no",
		"--massif-out-file=massif.out", ctl_target("heap_xtree"), way);
	if (ctl_exit_code(&self->result))
		return false;
	self->text = ctl_read_file("xt.full");
	totals = self->text ? strstr(self->text, "\ntotals: ") : NULL;
	return totals && sscanf(totals, "\ntotals: %llu %llu %llu %llu %llu %llu\n", &self->bytes,
				&self->blocks, &self->allocated, &self->allocations, &self->freed,
				&self->frees) == 6;
}

/* Returns the sum of value number @value over all stacks whose innermost function is @function. */
static unsigned long long sum_of(const char *text, const char *function, int value)
{
	unsigned long long sum = 0, values[6];
	char wanted[64], *end;

	snprintf(wanted, sizeof(wanted), "\nfn=%s\n", function);
	for (const char *at = text; (at = strstr(at, wanted)); at++) {
		strtoul(at + strlen(wanted), &end, 10);
		/* Skip stacks in which @function calls another function, so that it is not the innermost one. */
		if (*end == '\n')
			continue;
		for (int i = 0; i < 6; i++)
			values[i] = strtoull(end, &end, 10);
		sum += values[value];
	}
	return sum;
}

/* Four threads free each other's blocks, and no bytes are missing from the totals. */
TEST_F_TIMEOUT(totals, of_threads, 120)
{
	const unsigned long long rounds = 4 * 20000;
	unsigned long long bytes = 0;

	for (int i = 0; i < 20000; i++)
		bytes += 4 * (16 + (unsigned int)i % 100);
	ASSERT_TRUE(count(self, "threads"));
	EXPECT_EQ(self->allocated, self->bytes + self->freed);
	EXPECT_EQ(self->allocations, self->blocks + self->frees);
	EXPECT_EQ(bytes, sum_of(self->text, "leaf", 2));
	EXPECT_EQ(rounds, sum_of(self->text, "leaf", 3));
	EXPECT_EQ(0, sum_of(self->text, "leaf", 0));
	EXPECT_EQ(0, sum_of(self->text, "leaf", 1));
	EXPECT_EQ(bytes, sum_of(self->text, "drop", 4));
	EXPECT_EQ(rounds, sum_of(self->text, "drop", 5));
}

/* realloc to size 0 frees the block; the execution tree shows the caller of realloc, not a function of the shim. */
TEST_F_TIMEOUT(totals, of_a_realloc_to_nothing, 120)
{
	ASSERT_TRUE(count(self, "emptied"));
	EXPECT_EQ(100, sum_of(self->text, "leaf", 2));
	EXPECT_EQ(0, sum_of(self->text, "leaf", 0));
	EXPECT_EQ(100, sum_of(self->text, "resize", 4));
	EXPECT_EQ(1, sum_of(self->text, "resize", 5));
	EXPECT_EQ(0, sum_of(self->text, "resize", 3));
}

/*
 * The stacks of frees, which --xtree-memory=full records, must not appear in the profile: the massif.out file is the
 * same as without --xtree-memory.
 */
TEST_F_TIMEOUT(totals, are_not_in_the_other_file, 120)
{
	char *with, *without, *plain_with, *plain_without;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
		"--massif-out-file=massif.out", "--xtree-memory=none",
		"--xtree-memory-file=xt.full", ctl_target("heap_xtree"), "freed");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	without = ctl_read_file("massif.out");
	EXPECT_EQ(0, ctl_find_files("xt", NULL));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--detailed-freq=1",
		"--massif-out-file=massif.out", "--xtree-memory=full",
		"--xtree-memory-file=xt.full", ctl_target("heap_xtree"), "freed");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	with = ctl_read_file("massif.out");
	EXPECT_EQ(1, ctl_find_files("xt", NULL));
	ASSERT_TRUE(with && without);
	plain_with = massif_text_normalise(with);
	plain_without = massif_text_normalise(without);
	EXPECT_STREQ(plain_without, plain_with);
	free(with);
	free(without);
	free(plain_with);
	free(plain_without);
}

FIXTURE(options) {
	struct ctl_result result;
};

FIXTURE_SETUP(options)
{
	ctl_remove_files("xt");
	ctl_remove_files("massif.out");
}

FIXTURE_TEARDOWN(options)
{
	ctl_result_free(&self->result);
	ctl_remove_files("xt");
	ctl_remove_files("massif.out");
}

TEST_F(options, none_is_the_default)
{
	CTL_RUN(&self->result, "massif-ctl", ctl_target("heap_xtree"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(0, ctl_find_files("xt", NULL));
}

TEST_F(options, the_file_has_a_name_of_its_own)
{
	char expected[320], name[256];

	CTL_RUN(&self->result, "massif-ctl", "--xtree-memory=allocs", ctl_target("heap_xtree"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	ASSERT_EQ(1, ctl_find_files("xtmemory.kcg.", name));
	snprintf(expected, sizeof(expected), "massif-ctl: xtree memory report: %s\n", name);
	EXPECT_NE(NULL, strstr(self->result.err, expected)) {
		TH_LOG("%s", self->result.err);
	}
}

TEST_F(options, are_refused_with_a_reason)
{
	static const char *const refused[][3] = {
		{ "--xtree-memory=most", NULL, "'--xtree-memory' can be none, allocs or full" },
		{ "--xtree-memory=full", "--pages-as-heap=yes", "an execution tree needs heap mode" },
		{ "--xtree-memory=allocs", "--pages-as-heap=yes", "an execution tree needs heap mode" },
		{ "--xtree-compress-strings=2", NULL, "should be 'yes' or 'no'" },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		CTL_RUN(&self->result, "massif-ctl", refused[i][0],
			refused[i][1] ? refused[i][1] : "-q", "/bin/true");
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_NE(NULL, strstr(self->result.err, refused[i][2])) {
			TH_LOG("%s", self->result.err);
		}
		ctl_result_free(&self->result);
	}
	memset(&self->result, 0, sizeof(self->result));
}

/* If the xtree file cannot be written, it is saved elsewhere, and the massif.out file is written as usual. */
TEST_F(options, a_file_that_cannot_be_written)
{
	char *saved;

	CTL_RUN(&self->result, "massif-ctl", "--xtree-memory=allocs", "--xtree-memory-file=/dev/full",
		ctl_target("heap_xtree"));
	EXPECT_EQ(1, ctl_find_files("massif.out.", (char[256]){ 0 }));
	saved = ctl_saved_file(self->result.err);
	ASSERT_NE(NULL, saved) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(saved, "/xtmemory.kcg."));
	EXPECT_EQ(0, unlink(saved));
	free(saved);
}

TEST_HARNESS_MAIN
