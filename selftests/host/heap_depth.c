// SPDX-License-Identifier: GPL-2.0
// --stacks=yes: at each event, the stack depth must equal Massif's at the same point. Also tests which stacks are
// included in the sum and which are ignored.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/targets/heap_depth.h"

#define VALGRIND      "/usr/bin/valgrind"
#define SNAPSHOTS_MAX 1000
#define UNKNOWN	      UINT64_MAX

/*
 * Upper limit in bytes for the frames that a test does not make large on purpose, such as the frames of a new thread
 * before its first event, or those of main while it waits for a thread.
 */
#define FRAMES_BYTES 4096

struct snapshot {
	uint64_t time, heap, extra, stacks;
	bool has_tree, is_peak;
};

FIXTURE(depth) {
	struct ctl_result result;
	char *text;
	struct snapshot snapshots[SNAPSHOTS_MAX];
	size_t n;
};

static void remove_files(void)
{
	ctl_remove_files("d.");
	ctl_remove_files("massif.out");
}

FIXTURE_SETUP(depth)
{
	remove_files();
	unsetenv("POINTS");
}

FIXTURE_TEARDOWN(depth)
{
	ctl_result_free(&self->result);
	free(self->text);
	remove_files();
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? strtoull(found + strlen(name), NULL, 10) : UNKNOWN;
}

/* Reads the snapshots of @name, a massif.out file. Returns their number. */
static size_t read_snapshots(const char *name, struct snapshot *snapshots)
{
	char *text = ctl_read_file(name);
	size_t n = 0;

	if (!text || !ctl_is_massif_file(text))
		return 0;
	for (const char *at = text; (at = strstr(at, "\nsnapshot=")) && n < SNAPSHOTS_MAX; at++) {
		const char *tree = strstr(at, "\nheap_tree=");

		snapshots[n++] = (struct snapshot){
			.time = number_after(at, "\ntime="),
			.heap = number_after(at, "\nmem_heap_B="),
			.extra = number_after(at, "\nmem_heap_extra_B="),
			.stacks = number_after(at, "\nmem_stacks_B="),
			.has_tree = strncmp(tree, "\nheap_tree=empty", 16) != 0,
			.is_peak = strncmp(tree, "\nheap_tree=peak", 15) == 0,
		};
	}
	free(text);
	return n;
}

/* Runs the target in the mode @way, with a snapshot for each event. */
static bool run(FIXTURE_DATA(depth) *self, const char *way, const char *option)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "--stacks=yes", "--time-unit=B",
		"--max-snapshots=1000", "--massif-out-file=d.ours", "--peak-inaccuracy=1000000",
		option ? option : "-q", ctl_target("heap_depth"), way);
	if (ctl_exit_code(&self->result)) {
		fprintf(stderr, "%s", self->result.err);
		return false;
	}
	self->n = read_snapshots("d.ours", self->snapshots);
	return self->n && self->n < SNAPSHOTS_MAX;
}

/*
 * Returns the number of stack bytes at mark @i of the last run. A mark is a block of a unique size, which the target
 * allocates.
 */
static uint64_t at_mark(FIXTURE_DATA(depth) *self, int i)
{
	for (size_t j = 1; j < self->n; j++)
		if (self->snapshots[j].heap - self->snapshots[j - 1].heap == MARK_SIZE(i))
			return self->snapshots[j].stacks;
	return UNKNOWN;
}

/*
 * Returns the number of stack bytes in the snapshot that the target requested at mark @i. A mark is the allocation of a
 * block with a unique size. The snapshot's file is named @points followed by @i.
 */
static uint64_t at_point(const char *points, int i)
{
	struct snapshot snapshot = { .stacks = UNKNOWN };
	char name[64];

	snprintf(name, sizeof(name), "%s%d", points, i);
	return read_snapshots(name, &snapshot) == 1 ? snapshot.stacks : UNKNOWN;
}

#define THEIR_POINTS "d.theirs."
#define OUR_POINTS   "d.ours."

static uint64_t theirs_at_mark(int i)
{
	return at_point(THEIR_POINTS, i);
}

static void run_theirs(FIXTURE_DATA(depth) *self, const char *way, const char *option)
{
	char target[4096];

	snprintf(target, sizeof(target), "%s", ctl_target("heap_depth"));
	setenv("POINTS", THEIR_POINTS, 1);
	CTL_RUN(&self->result, VALGRIND, "-q", "--tool=massif", "--stacks=yes", "--time-unit=B",
		"--run-libc-freeres=no", "--massif-out-file=d.theirs", option ? option : "-q",
		target, way);
	unsetenv("POINTS");
	ctl_result_free(&self->result);
}

#define NEED_VALGRIND()                                           \
	do {                                                      \
		if (access(VALGRIND, X_OK))                       \
			SKIP(return, "valgrind is not installed"); \
	} while (0)

/* For the main stack, Massif and massif-ctl report the same number of bytes. */
TEST_F_TIMEOUT(depth, of_the_main_stack_is_massifs, 120)
{
	NEED_VALGRIND();
	run_theirs(self, "points", NULL);
	setenv("POINTS", OUR_POINTS, 1);
	ASSERT_TRUE(run(self, "points", NULL));
	for (int i = 1; i <= 8; i++) {
		EXPECT_EQ(theirs_at_mark(i), at_mark(self, i)) {
			TH_LOG("mark %d", i);
		}
		/*
		 * A mark is a block with a unique size. Right after allocating it, the target requests a snapshot. That
		 * snapshot must have the same number of stack bytes as the profile's own snapshot for the allocation.
		 */
		EXPECT_EQ(at_point(OUR_POINTS, i), at_mark(self, i));
	}
	EXPECT_LT(10000, at_mark(self, 2));
	EXPECT_LT(50000, at_mark(self, 3));
	EXPECT_LT(100000, at_mark(self, 6));
	EXPECT_GT(2000, at_mark(self, 7));
}

/*
 * The caller of clone(2) puts two words on the new stack, the function and its argument. Under Valgrind, which
 * has no clone3(2), the thread pops them, and Massif counts the pop but not the push.
 */
#define CLONED_BYTES 16

/*
 * With a second thread, massif-ctl and Massif count the same number of stack bytes except for CLONED_BYTES. Both count
 * the thread's stack plus main's stack; main's depth is that at main's last event.
 */
TEST_F_TIMEOUT(depth, of_a_thread_is_massifs, 120)
{
	NEED_VALGRIND();
	run_theirs(self, "thread", NULL);
	ASSERT_TRUE(run(self, "thread", NULL));
	for (int i = 1; i <= 4; i++) {
		EXPECT_EQ(theirs_at_mark(i) + CLONED_BYTES, at_mark(self, i)) {
			TH_LOG("mark %d", i);
		}
	}
	EXPECT_LT(3000, at_mark(self, 1));
	EXPECT_LT(10000, at_mark(self, 2) - at_mark(self, 1));
	EXPECT_LT(100000, at_mark(self, 3) - at_mark(self, 1));
	/*
	 * When a thread ends, massif-ctl stops counting its stack, while Massif continues to count some of the stack's
	 * bytes.
	 */
	EXPECT_GT(3000, at_mark(self, 5));
	EXPECT_LT(at_mark(self, 5), theirs_at_mark(5));
	EXPECT_GT(at_mark(self, 5) + 1000, theirs_at_mark(5));
}

/*
 * A program that allocates wherever its stack is deep has the same peak as under Massif, except for the frames of
 * Valgrind's malloc and free. (The target is linked with -z now, because lazy binding would use a deep stack once
 * per function.)
 */
TEST_F_TIMEOUT(depth, at_the_peak_is_massifs, 120)
{
	struct snapshot theirs[SNAPSHOTS_MAX], *their_peak = NULL, *peak = NULL;
	size_t n;

	NEED_VALGRIND();
	run_theirs(self, "climb", "--peak-inaccuracy=0");
	n = read_snapshots("d.theirs", theirs);
	for (size_t i = 0; i < n; i++)
		if (theirs[i].is_peak)
			their_peak = &theirs[i];
	ASSERT_TRUE(run(self, "climb", "--peak-inaccuracy=0"));
	for (size_t i = 0; i < self->n; i++)
		if (self->snapshots[i].is_peak)
			peak = &self->snapshots[i];
	ASSERT_TRUE(peak && their_peak);
	EXPECT_EQ(their_peak->heap, peak->heap);
	EXPECT_EQ(their_peak->extra, peak->extra);
	EXPECT_LT(1000000, peak->stacks);
	EXPECT_GE(their_peak->stacks, peak->stacks);
	EXPECT_GT(peak->stacks + 256, their_peak->stacks) {
		TH_LOG("theirs %lu, ours %lu", their_peak->stacks, peak->stacks);
	}
}

/* Massif sees stack changes between two events; massif-ctl does not measure them. */
TEST_F_TIMEOUT(depth, between_events_is_not_seen, 120)
{
	struct snapshot theirs[SNAPSHOTS_MAX];
	uint64_t most = 0, their_most = 0;
	size_t n;

	NEED_VALGRIND();
	run_theirs(self, "unseen", "--peak-inaccuracy=0");
	n = read_snapshots("d.theirs", theirs);
	for (size_t i = 0; i < n; i++)
		if (theirs[i].stacks > their_most)
			their_most = theirs[i].stacks;
	ASSERT_TRUE(run(self, "unseen", NULL));
	for (size_t i = 0; i < self->n; i++)
		if (self->snapshots[i].stacks > most)
			most = self->snapshots[i].stacks;
	EXPECT_LT(200000, their_most);
	EXPECT_GT(FRAMES_BYTES, most);
	EXPECT_LT(0, most);
}

TEST_F(depth, is_the_sum_of_all_stacks)
{
	uint64_t alone, together;
	struct snapshot children[SNAPSHOTS_MAX];
	char name[256];
	size_t n;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--stacks=yes", "--time-unit=B",
		"--max-snapshots=1000", "--massif-out-file=d.of.%p", "--peak-inaccuracy=1000000",
		ctl_target("heap_depth"), "many");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	snprintf(name, sizeof(name), "d.of.%d", (int)self->result.pid);
	/*
	 * Two profiles are written: the parent's and its child's. Only the parent makes mark 3, a block of a unique
	 * size, so only the parent's profile contains it.
	 */
	ASSERT_EQ(2, ctl_find_files("d.of.", name));
	self->n = read_snapshots(name, self->snapshots);
	unlink(name);
	ASSERT_EQ(1, ctl_find_files("d.of.", name));
	n = read_snapshots(name, children);
	if (at_mark(self, 3) == UNKNOWN) {
		struct snapshot swap[SNAPSHOTS_MAX];

		memcpy(swap, children, sizeof(swap));
		memcpy(children, self->snapshots, sizeof(swap));
		memcpy(self->snapshots, swap, sizeof(swap));
		alone = self->n;
		self->n = n;
		n = alone;
	}
	together = at_mark(self, 1);
	alone = at_mark(self, 3);
	ASSERT_NE(UNKNOWN, together);
	ASSERT_NE(UNKNOWN, alone);
	EXPECT_GT(FRAMES_BYTES, alone);
	EXPECT_LE(STAYING * STAY_BYTES, together);
	EXPECT_GT(STAYING * (STAY_BYTES + FRAMES_BYTES), together);

	/* Only the thread that forked exists in a forked child. */
	memcpy(self->snapshots, children, sizeof(children));
	self->n = n;
	ASSERT_NE(UNKNOWN, at_mark(self, 2));
	EXPECT_GT(FRAMES_BYTES, at_mark(self, 2));
	EXPECT_LT(0, at_mark(self, 2));
}

/* If a thread other than the main thread forks, only that thread's stack counts in the child. */
TEST_F(depth, of_a_thread_that_forks)
{
	struct snapshot *last;
	char name[256];
	bool found = false;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--stacks=yes", "--time-unit=B",
		"--max-snapshots=1000", "--massif-out-file=d.of.%p", "--peak-inaccuracy=1000000",
		ctl_target("heap_depth"), "fork_in_thread");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	while (ctl_find_files("d.of.", name)) {
		self->n = read_snapshots(name, self->snapshots);
		unlink(name);
		ASSERT_LT(1, self->n);
		last = &self->snapshots[self->n - 1];
		/* The profiles of both the parent and the child begin before the fork. */
		EXPECT_LT(200000 + STAY_BYTES, at_mark(self, 1));
		if (at_mark(self, 2) == UNKNOWN)
			continue;
		found = true;
		EXPECT_EQ(at_mark(self, 2), last->stacks);
		EXPECT_GT(FRAMES_BYTES, at_mark(self, 2));
		EXPECT_LT(0, at_mark(self, 2));
	}
	EXPECT_TRUE(found);
}

/* While a thread runs on the stack of a coroutine instead of its own, its measured stack depth does not change. */
TEST_F(depth, of_coroutines_does_not_count)
{
	static const char *const ways[] = { "main_coroutine", "small_coroutine" };

	for (size_t i = 0; i < 2; i++) {
		ASSERT_TRUE(run(self, ways[i], NULL));
		ctl_result_free(&self->result);
		ASSERT_NE(UNKNOWN, at_mark(self, 1));
		EXPECT_LT(0, at_mark(self, 1));
		EXPECT_GT(3 * FRAMES_BYTES, at_mark(self, 1));
		EXPECT_EQ(at_mark(self, 1), at_mark(self, 2));
		EXPECT_EQ(at_mark(self, 1), at_mark(self, 3));
		EXPECT_EQ(at_mark(self, 1), at_mark(self, 4));
		/*
		 * In the second run, after the coroutine has ended, the thread that started it makes one more mark (5)
		 * by allocating a block in a frame of more than SMALL_STACK / 2 bytes on its own stack. This frame adds
		 * to the thread's measured stack depth.
		 */
		if (i == 1)
			EXPECT_LE(at_mark(self, 1) + SMALL_STACK / 2, at_mark(self, 5));
	}
	memset(&self->result, 0, sizeof(self->result));
}

TEST_F(depth, of_a_signal_stack_does_not_count)
{
	ASSERT_TRUE(run(self, "alternate", NULL));
	ASSERT_NE(UNKNOWN, at_mark(self, 1));
	EXPECT_EQ(at_mark(self, 1), at_mark(self, 2));
	EXPECT_EQ(at_mark(self, 1), at_mark(self, 3));
}

static void raise_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_STACK, &limit);
}

/* Tests a main stack that is larger than the gap that the kernel keeps free below main stacks. */
TEST_F(depth, of_a_stack_that_may_be_large)
{
	const char *const words[] = { "massif-ctl", "-q", "--stacks=yes", "--time-unit=B",
				      "--max-snapshots=1000", "--massif-out-file=d.ours",
				      ctl_target("heap_depth"), "huge", NULL };
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 2 * HUGE_BYTES)
		SKIP(return, "the stack may not be as large (ulimit -H -s)");
	ctl_run(&self->result, NULL, raise_limit, words);
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	self->n = read_snapshots("d.ours", self->snapshots);
	EXPECT_LE(HUGE_BYTES, at_mark(self, 2));
	EXPECT_GT(HUGE_BYTES + FRAMES_BYTES, at_mark(self, 2));
}

/*
 * Frames of nearly 64 MiB each. Addresses more than 1 GiB apart are taken to be on different stacks: 16 of these frames
 * just fit into 1 GiB, 17 do not.
 */
TEST_F_TIMEOUT(depth, of_a_gibibyte_and_more, 60)
{
	static const unsigned int depths[] = { 16, 17, 160 };
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	if (limit.rlim_max != RLIM_INFINITY)
		SKIP(return, "the stack may not be as large (ulimit -H -s)");
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		char n[16], *text;
		unsigned int frames = 0;
		const char *words[] = { "massif-ctl", "-q", "--depth=200", "--max-snapshots=10", "--massif-out-file=d.ours",
					ctl_target("heap_far_stack"), n, NULL };

		snprintf(n, sizeof(n), "%u", depths[i]);
		ctl_run(&self->result, NULL, raise_limit, words);
		ASSERT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.err);
		ctl_result_free(&self->result);
		text = ctl_read_file("d.ours");
		ASSERT_NE(NULL, text);
		/*
		 * Only one tree of the file contains the block of 1,000,000 bytes, and the block's stack reaches main.
		 */
		for (const char *at = strstr(text, ": 1000000 "); at; at = strstr(at + 1, "go_down (heap_far_stack.c"))
			frames++;
		EXPECT_EQ(depths[i] + 1, frames);
		EXPECT_NE(NULL, strstr(text, "main (heap_far_stack.c"));
		free(text);
	}
}

/* With --stacks=yes, the stacks' bytes determine when the peak occurs. */
TEST_F(depth, decides_on_the_peak)
{
	const struct snapshot *peak[2] = { NULL };
	static const char *const stacks[] = { "--stacks=no", "--stacks=yes" };

	for (size_t side = 0; side < 2; side++) {
		static struct snapshot snapshots[2][SNAPSHOTS_MAX];
		size_t n;

		CTL_RUN(&self->result, "massif-ctl", "-q", stacks[side], "--time-unit=B",
			"--massif-out-file=d.ours", ctl_target("heap_depth"), "peaks");
		ASSERT_EQ(0, ctl_exit_code(&self->result));
		ctl_result_free(&self->result);
		n = read_snapshots("d.ours", snapshots[side]);
		for (size_t i = 0; i < n; i++) {
			if (snapshots[side][i].is_peak)
				peak[side] = &snapshots[side][i];
			if (!side)
				EXPECT_EQ(0, snapshots[side][i].stacks);
		}
	}
	ASSERT_TRUE(peak[0] && peak[1]);
	EXPECT_EQ(300000, peak[0]->heap);
	EXPECT_EQ(10000, peak[1]->heap);
	EXPECT_LE(1000000, peak[1]->stacks);
	memset(&self->result, 0, sizeof(self->result));
}

/* With --time-unit=B, stack changes advance the time. */
TEST_F(depth, moves_the_clock)
{
	uint64_t before = 0;

	ASSERT_TRUE(run(self, "points", NULL));
	for (size_t i = 1; i < self->n; i++) {
		const struct snapshot *s = &self->snapshots[i], *last = s - 1;
		int64_t heap = (int64_t)(s->heap + s->extra - last->heap - last->extra);
		int64_t stacks = (int64_t)(s->stacks - last->stacks);

		/*
		 * Either the heap or the stacks differ from the previous snapshot, but never both: an event measures
		 * the stack before it counts the block, and these are two changes.
		 */
		EXPECT_TRUE(!heap || !stacks);
		EXPECT_EQ(before + (uint64_t)llabs(heap + stacks), s->time);
		before = s->time;
	}
}

/* ms_print has a column for stacks, and its total is the sum of the other columns. */
TEST_F(depth, has_a_column)
{
	char program[4096], *slash;
	size_t rows = 0, with = 0;

	ASSERT_TRUE(run(self, "points", NULL));
	ctl_result_free(&self->result);
	snprintf(program, sizeof(program), "%s", ctl_path());
	slash = strrchr(program, '/');
	strcpy(slash + 1, "ms_print");
	CTL_RUN(&self->result, program, "d.ours");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	/* Remove the thousands separators. */
	for (char *from = self->result.out, *to = from;; from++) {
		if (*from != ',')
			*to++ = *from;
		if (!*from)
			break;
	}
	for (char *line = self->result.out; line; line = strchr(line + 1, '\n')) {
		unsigned long long n, time, total, useful, extra, stacks;
		int end = 0;

		if (sscanf(line, " %llu %llu %llu %llu %llu %llu%n", &n, &time, &total, &useful,
			   &extra, &stacks, &end) != 6 || line[end] != '\n')
			continue;
		ASSERT_LT(n, self->n);
		EXPECT_EQ(total, useful + extra + stacks);
		EXPECT_EQ(self->snapshots[n].stacks, stacks);
		with += stacks > 0;
		rows++;
	}
	EXPECT_EQ(self->n, rows);
	EXPECT_LT(rows / 2, with);
}

/* With --heap=no, only stacks are measured. As in Massif, no snapshot has a tree, not even the peak. */
TEST_F(depth, without_the_heap)
{
	ASSERT_TRUE(run(self, "climb", "--heap=no"));
	ctl_result_free(&self->result);
	ASSERT_LT(10, self->n);
	for (size_t i = 0; i < self->n; i++) {
		EXPECT_EQ(0, self->snapshots[i].heap);
		EXPECT_EQ(0, self->snapshots[i].extra);
		EXPECT_FALSE(self->snapshots[i].has_tree);
	}
	EXPECT_LT(1000000, self->snapshots[201].stacks);
}

TEST_F(depth, is_told_of)
{
	CTL_RUN(&self->result, "massif-ctl", "-v", "-v", "-v", "-v", "--stats=yes", "--stacks=yes",
		"--time-unit=B", "--massif-out-file=d.ours", ctl_target("heap_depth"), "points");
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "-- Massif: <<< new_mem_stack ("));
	EXPECT_NE(NULL, strstr(self->result.err, "-- Massif: stk-new S"));
	EXPECT_NE(NULL, strstr(self->result.err, "-- Massif: <<< die_mem_stack (-"));
	EXPECT_NE(NULL, strstr(self->result.err, "-- Massif: stk-die S"));
	EXPECT_NE(NULL, strstr(self->result.err, "-- Massif: stkPEAK Sp"));
	EXPECT_LE(6, number_after(self->result.err, "-- Massif: stack allocs: "));
	EXPECT_GT(50, number_after(self->result.err, "-- Massif: stack allocs: "));
}

TEST_F(depth, not_together_with_pages)
{
	static const char *const pages[] = { "--pages-as-heap=yes", "--pages=resident" };

	for (size_t i = 0; i < 2; i++) {
		CTL_RUN(&self->result, "massif-ctl", pages[i], "--stacks=yes", "/bin/true");
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_STREQ("massif-ctl: Bad option: --pages-as-heap=yes\n"
			     "massif-ctl: Cannot be used together with --stacks=yes\n"
			     "massif-ctl: Use --help for more information or consult the user "
			     "manual.\n",
			     self->result.err);
		ctl_result_free(&self->result);
	}
	/* --heap=no overrides --pages-as-heap=yes. */
	CTL_RUN(&self->result, "massif-ctl", "-q", "--heap=no", "--pages-as-heap=yes",
		"--stacks=yes", "--massif-out-file=d.ours", "/bin/true");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
}

TEST_HARNESS_MAIN
