// SPDX-License-Identifier: GPL-2.0
// Compares pages mode with Valgrind's Massif run with --pages-as-heap=yes, on the same system calls.
//
// Before main, the two differ (differences.rst). From main on, corresponding snapshots must show the same changes in
// time and in total, the same bytes for each function, the same extra bytes, and the same peaks.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/ctl_run.h"

#define PAGE	  4096
#define SNAPSHOTS 400

static const char *const functions[] = {
	"map_large", "map_small", "map_hidden", "map_shared", "map_file",
	"map_over",  "remap",	  "heap",	"attach",     "main",
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

struct snapshot {
	int64_t time, heap, extra, stacks;
	char tree[16];
	int64_t root;
	/* for each function, the total bytes of the tree's entries for frames of this function */
	int64_t at[FUNCTIONS];
	/*
	 * true if the tree contains any of the functions listed in functions[], which belong to the target program
	 * pages_calls
	 */
	bool ours;
};

struct profile {
	size_t n;
	struct snapshot snapshots[SNAPSHOTS];
};

static void take_line(struct snapshot *snapshot, const char *line)
{
	int indent = (int)strspn(line, " ");
	int64_t bytes;
	char name[128];

	if (!indent && line[0] == 'n') {
		sscanf(line, "n%*d: %" SCNd64, &snapshot->root);
		return;
	}
	if (sscanf(line, " n%*d: %" SCNd64 " 0x%*x: %127[^ ] (pages_calls.c", &bytes, name) != 2 ||
	    !strstr(line, " (pages_calls.c:"))
		return;
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!strcmp(functions[i], name)) {
			snapshot->at[i] += bytes;
			snapshot->ours = true;
		}
}

/* Reads the snapshots, beginning with the first one whose tree contains a function of pages_calls. */
static void read_profile(struct __test_metadata *_metadata, const char *path,
			 struct profile *profile)
{
	struct snapshot *snapshot = NULL;
	FILE *file = fopen(path, "r");
	char line[8192];

	ASSERT_NE(file, NULL) TH_LOG("%s", path);
	memset(profile, 0, sizeof(*profile));
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "snapshot=", 9)) {
			if (snapshot && (snapshot->ours || profile->n))
				profile->n++;
			ASSERT_LT(profile->n, SNAPSHOTS);
			snapshot = &profile->snapshots[profile->n];
			memset(snapshot, 0, sizeof(*snapshot));
		} else if (snapshot && sscanf(line, "time=%" SCNd64, &snapshot->time) != 1 &&
			   sscanf(line, "mem_heap_B=%" SCNd64, &snapshot->heap) != 1 &&
			   sscanf(line, "mem_heap_extra_B=%" SCNd64, &snapshot->extra) != 1 &&
			   sscanf(line, "mem_stacks_B=%" SCNd64, &snapshot->stacks) != 1 &&
			   sscanf(line, "heap_tree=%15s", snapshot->tree) != 1) {
			take_line(snapshot, line);
		}
	}
	if (snapshot && profile->n)
		profile->n++;
	fclose(file);
}

static void show(FILE *file, const struct snapshot *snapshot, const struct snapshot *first)
{
	fprintf(file, "# +%" PRId64 " clock, +%" PRId64 " heap, %s:", snapshot->time - first->time,
		snapshot->heap - first->heap, snapshot->tree);
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (snapshot->at[i])
			fprintf(file, " %s %" PRId64, functions[i], snapshot->at[i] / PAGE);
	fprintf(file, "\n");
}

static bool same(const struct profile *a, const struct profile *b, size_t i)
{
	const struct snapshot *x = &a->snapshots[i], *y = &b->snapshots[i];

	return x->time - a->snapshots[0].time == y->time - b->snapshots[0].time &&
	       x->heap - a->snapshots[0].heap == y->heap - b->snapshots[0].heap &&
	       !memcmp(x->at, y->at, sizeof(x->at)) && !strcmp(x->tree, y->tree) && !x->extra &&
	       !y->extra && !x->stacks && !y->stacks && x->heap == x->root && y->heap == y->root;
}

/* If the C library has debug information, the frame of mmap contains the inlined function __mmap64. */
#define OPTIONS                                                                                    \
	"--pages-as-heap=yes", "--time-unit=B", "--detailed-freq=1", "--max-snapshots=1000",       \
		"--threshold=0", "--peak-inaccuracy=0", "--alloc-fn=mmap", "--alloc-fn=__mmap64",  \
		"--alloc-fn=mremap", "--alloc-fn=sbrk", "--alloc-fn=brk", "--alloc-fn=shmat"

FIXTURE(massif)
{
	struct profile theirs, ours;
};

FIXTURE_SETUP(massif)
{
	unlink("ours");
	unlink("theirs");
}

FIXTURE_TEARDOWN(massif) {}

static void run_both(struct __test_metadata *_metadata, FIXTURE_DATA(massif) * self,
		     const char *option, const char *word)
{
	const char *target = ctl_target("pages_calls");
	struct ctl_result result;

	CTL_RUN(&result, "valgrind", "-q", "--tool=massif", OPTIONS, option,
		"--massif-out-file=theirs", target, word);
	ASSERT_EQ(ctl_exit_code(&result), 0) TH_LOG("%s", result.err);
	ctl_result_free(&result);
	CTL_RUN(&result, "massif-ctl", "-q", OPTIONS, option, "--massif-out-file=ours", target, word);
	ASSERT_EQ(ctl_exit_code(&result), 0) TH_LOG("%s", result.err);
	ctl_result_free(&result);
	read_profile(_metadata, "theirs", &self->theirs);
	read_profile(_metadata, "ours", &self->ours);
	EXPECT_GT(self->ours.n, 20);
}

static void expect_same(struct __test_metadata *_metadata, FIXTURE_DATA(massif) * self)
{
	EXPECT_EQ(self->theirs.n, self->ours.n);
	for (size_t i = 0; i < self->ours.n && i < self->theirs.n; i++) {
		if (same(&self->ours, &self->theirs, i))
			continue;
		fprintf(stderr, "# snapshot %zu of the script; before, theirs, ours:\n", i);
		if (i)
			show(stderr, &self->ours.snapshots[i - 1], &self->ours.snapshots[0]);
		show(stderr, &self->theirs.snapshots[i], &self->theirs.snapshots[0]);
		show(stderr, &self->ours.snapshots[i], &self->ours.snapshots[0]);
		EXPECT_TRUE(false);
		return;
	}
}

TEST_F_TIMEOUT(massif, the_same_snapshots, 150)
{
	run_both(_metadata, self, "--heap=yes", "plain");
	expect_same(_metadata, self);
}

/* Pages mapped by an ignored function are not in any total and cause no snapshot. */
TEST_F_TIMEOUT(massif, ignored_functions_do_not_count, 150)
{
	size_t before;

	run_both(_metadata, self, "--heap=yes", "plain");
	before = self->ours.n;
	run_both(_metadata, self, "--ignore-fn=map_hidden", "plain");
	expect_same(_metadata, self);
	EXPECT_LT(self->ours.n, before);
	for (size_t i = 0; i < self->ours.n; i++)
		EXPECT_EQ(self->ours.snapshots[i].at[2], 0);
}

/*
 * When 20 new pages replace 20 mapped ones, Massif counts all 40, whereas pages mode counts only those that are still
 * mapped.
 */
TEST_F_TIMEOUT(massif, what_is_replaced_goes, 150)
{
	const struct profile *ours = &self->ours, *theirs = &self->theirs;

	run_both(_metadata, self, "--heap=yes", "fixed");
	EXPECT_EQ(ours->snapshots[ours->n - 1].heap - ours->snapshots[0].heap + 20 * PAGE,
		  theirs->snapshots[theirs->n - 1].heap - theirs->snapshots[0].heap);
	/*
	 * massif-ctl takes a snapshot when the 20 replaced pages are removed, and possibly one of the peak just before
	 * that. Massif does not see the removal.
	 */
	EXPECT_GT(ours->n, theirs->n);
}

TEST_HARNESS_MAIN
