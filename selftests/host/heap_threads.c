// SPDX-License-Identifier: GPL-2.0
// Many threads: alive at the same time, one after the other, with destructors that allocate, and during a fork. Every
// block is counted, with each option that changes how events are handled.

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "model/tally.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"
#include "selftests/targets/heap_threads.h"

#define SMALL_SESSION (400ull << 20) /* address space available to a small session, in bytes */

FIXTURE(threads) {
	struct heap_session session;
};

FIXTURE_SETUP(threads)
{
}

FIXTURE_TEARDOWN(threads)
{
	heap_session_end(&self->session);
}

/*
 * The setting under test. BYTES stands for bytes as the time unit, with prepare()'s usual values for all other
 * settings. Each of the other values either selects another time unit or changes one other setting.
 */
enum wanted {
	BYTES,
	MILLISECONDS,
	STACKS,
	EXACT_PEAK,
	LEDGER,
	MERGED,
	REAL_CAPACITIES,
	/*
	 * uses the program's CPU time as the time of the profile; a software counter replaces the instruction counter,
	 * as in heap_clock.c
	 */
	CPU_TIME,
};

FIXTURE_VARIANT(threads) {
	const char *how;
	unsigned int n;
	enum wanted wanted;
	uint64_t budget; /* address space for the session in bytes; 0: no limit */
};

/*
 * Thread counts: 1, just below, at and just above the number of tallies (MF_SHARDS_MAX), ten times that number, and
 * more.
 */
FIXTURE_VARIANT_ADD(threads, alive_1) { "alive", 1 };
FIXTURE_VARIANT_ADD(threads, alive_62) { "alive", MF_SHARDS_MAX - 2 };
FIXTURE_VARIANT_ADD(threads, alive_63) { "alive", MF_SHARDS_MAX - 1 };
FIXTURE_VARIANT_ADD(threads, alive_64) { "alive", MF_SHARDS_MAX };
FIXTURE_VARIANT_ADD(threads, alive_65) { "alive", MF_SHARDS_MAX + 1 };
FIXTURE_VARIANT_ADD(threads, alive_640) { "alive", 10 * MF_SHARDS_MAX };
FIXTURE_VARIANT_ADD(threads, alive_2000) { "alive", 2000 };
FIXTURE_VARIANT_ADD(threads, alive_10000) { "alive", 10000 };
FIXTURE_VARIANT_ADD(threads, alive_640_milliseconds) { "alive", 640, MILLISECONDS };
FIXTURE_VARIANT_ADD(threads, alive_640_stacks) { "alive", 640, STACKS };
FIXTURE_VARIANT_ADD(threads, alive_640_exact_peak) { "alive", 640, EXACT_PEAK };
FIXTURE_VARIANT_ADD(threads, alive_640_ledger) { "alive", 640, LEDGER };
FIXTURE_VARIANT_ADD(threads, alive_640_merged) { "alive", 640, MERGED };
FIXTURE_VARIANT_ADD(threads, alive_640_real_capacities) { "alive", 640, REAL_CAPACITIES };
FIXTURE_VARIANT_ADD(threads, alive_100_cpu_time) { "alive", 100, CPU_TIME };
FIXTURE_VARIANT_ADD(threads, in_turn_65) { "in_turn", MF_SHARDS_MAX + 1 };
FIXTURE_VARIANT_ADD(threads, in_turn_20000) { "in_turn", 20000 };
FIXTURE_VARIANT_ADD(threads, in_turn_2000_milliseconds) { "in_turn", 2000, MILLISECONDS };
FIXTURE_VARIANT_ADD(threads, in_turn_2000_cpu_time) { "in_turn", 2000, CPU_TIME };
FIXTURE_VARIANT_ADD(threads, in_turn_2000_stacks) { "in_turn", 2000, STACKS };
FIXTURE_VARIANT_ADD(threads, in_turn_2000_ledger) { "in_turn", 2000, LEDGER };
/* As many threads as fit into a small session, including the first one; one more than that; and ten times as many. */
FIXTURE_VARIANT_ADD(threads, alive_65_in_a_small_session) { "alive", 65, .budget = SMALL_SESSION };
FIXTURE_VARIANT_ADD(threads, alive_66_in_a_small_session) { "alive", 66, .budget = SMALL_SESSION };
FIXTURE_VARIANT_ADD(threads, alive_660_in_a_small_session) { "alive", 660, .budget = SMALL_SESSION };

static enum wanted wanted;

static void prepare(struct mf_store *store)
{
	const struct mf_model_options options = {
		.peak_inaccuracy = wanted == EXACT_PEAK ? 0 : 1,
		.max_snapshots = 100,
		.detailed_freq = 10,
		.time_unit = wanted == MILLISECONDS ? MF_TIME_MS :
			     wanted == CPU_TIME	    ? MF_TIME_INSTRUCTIONS :
						      MF_TIME_BYTES,
		.least_interval = wanted == MILLISECONDS,
		.heap_admin = 8,
		.alignment = 16,
	};

	mf_model_init(store, &options);
	store->header->counter_type = PERF_TYPE_SOFTWARE;
	store->header->counter_config = PERF_COUNT_SW_TASK_CLOCK;
	store->header->counts_stacks = wanted == STACKS;
	store->header->keeps_ledger = wanted == LEDGER;
	store->header->merge_recursive = wanted == MERGED ? 3 : 0;
	store->header->real_capacities = wanted == REAL_CAPACITIES;
}

static uint32_t users(const struct mf_store *store)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MF_SHARDS_MAX; i++)
		n += mf_tally_of(store, i)->users;
	return n;
}

TEST_F_TIMEOUT(threads, every_block_is_accounted, 120)
{
	const struct mf_store *store = &self->session.store;
	struct heap_session_sums sums;
	char number[16];
	uint32_t trees;

	wanted = variant->wanted;
	self->session.prepare = prepare;
	self->session.budget = variant->budget;
	self->session.meanwhile = wanted == MILLISECONDS ? mf_tally_hurry : NULL;
	snprintf(number, sizeof(number), "%u", variant->n);
	ASSERT_TRUE(heap_session_run(&self->session, (const char *[]){ ctl_target("heap_threads"),
								       variant->how, number, NULL }));
	if (self->session.status == W_EXITCODE(HEAP_THREADS_NO_MORE, 0))
		SKIP(return, "this user may not have %u threads here", variant->n);
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, store->header->events_lost);
	EXPECT_EQ(0, store->header->full);
	sums = heap_session_sum(&self->session);
	EXPECT_EQ(sums.model, sums.blocks);
	EXPECT_EQ(sums.contexts, sums.blocks);
	EXPECT_EQ(variant->n * HEAP_THREADS_KEPT,
		  heap_session_count(&self->session, HEAP_THREADS_KEPT_BYTES));
	EXPECT_EQ(variant->n * HEAP_THREADS_ENDING,
		  heap_session_count(&self->session, HEAP_THREADS_ENDING_BYTES));
	EXPECT_EQ(0, heap_session_unequal_trees(&self->session, &trees));
	/* Only the program's first thread is left. Threads that have ended use no tally and have no stack. */
	EXPECT_EQ(1, users(store));
	EXPECT_EQ(wanted == STACKS, mf_model_of(store)->stacks > 0);
	EXPECT_GT(8192, mf_model_of(store)->stacks);
	/*
	 * If perf_event_open(2) is not available or there are no more descriptors, time does not advance, and the
	 * profile says so.
	 */
	EXPECT_TRUE(wanted != CPU_TIME || store->header->counters_missing || store->header->instructions);
}

FIXTURE(ctl) {
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(ctl)
{
	unsetenv("MASSIF_OPTS");
	ctl_remove_files("massif.out");
	ctl_remove_files("xtmemory");
}

FIXTURE_TEARDOWN(ctl)
{
	ctl_result_free(&self->result);
	free(self->text);
	unsetenv("MASSIF_VERIFY");
	ctl_remove_files("massif.out");
	ctl_remove_files("xtmemory");
}

TEST_F_TIMEOUT(ctl, stacks_are_verified, 120)
{
	setenv("MASSIF_VERIFY", "1", 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", ctl_target("heap_threads"), "alive",
		"200");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_LT(20000, ctl_number(self->result.err, "verified "));
	EXPECT_NE(NULL, strstr(self->result.err, " stacks with libunwind, 0 differ\n")) {
		TH_LOG("%s", self->result.err);
	}
}

/* Reads the total numbers of bytes and blocks from the execution tree of process @pid. */
static void read_totals(const char *pid, unsigned long *bytes, unsigned long *blocks)
{
	char name[64], *text;

	*bytes = *blocks = 0;
	snprintf(name, sizeof(name), "xtmemory.%s", pid);
	text = ctl_read_file(name);
	if (text)
		sscanf(ctl_last(text, "totals: "), "%lu %lu", bytes, blocks);
	free(text);
}

/*
 * A process with THREADS threads forks. The child has all of their blocks but none of the threads; both processes
 * continue with new threads.
 */
TEST_F_TIMEOUT(ctl, fork_with_100_threads, 120)
{
	enum { THREADS = 100, KEY_BYTES = 30 };
	const unsigned long kept = THREADS * HEAP_THREADS_KEPT * HEAP_THREADS_KEPT_BYTES;
	const unsigned long ending = THREADS * HEAP_THREADS_ENDING * HEAP_THREADS_ENDING_BYTES;
	unsigned long bytes, blocks, of_libc;
	char name[256], parent[32];

	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--stacks=yes", "--xtree-memory=allocs",
		"--xtree-memory-file=xtmemory.%p", "--massif-out-file=massif.out.%p",
		ctl_target("heap_threads"), "fork", "100");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	ASSERT_EQ(2, ctl_find_files("massif.out", NULL));
	snprintf(parent, sizeof(parent), "%s", ctl_last(self->result.out, "parent "));
	parent[strcspn(parent, "\n")] = '\0';

	/*
	 * In addition to the program's blocks, the C library allocates one block per thread; all of these have the same
	 * size.
	 */
	read_totals(parent, &bytes, &blocks);
	EXPECT_EQ(THREADS * (HEAP_THREADS_KEPT + HEAP_THREADS_ENDING + 2) + 1, blocks);
	of_libc = (bytes - kept - ending - THREADS * KEY_BYTES - HEAP_THREADS_FORKED_BYTES) / THREADS;
	EXPECT_EQ(bytes, kept + ending + THREADS * (KEY_BYTES + of_libc) + HEAP_THREADS_FORKED_BYTES);

	/* The child has the blocks that its parent had at the fork, and as many again from its own threads. */
	snprintf(name, sizeof(name), "massif.out.%s", parent);
	unlink(name);
	ASSERT_EQ(1, ctl_find_files("massif.out", name));
	self->text = ctl_read_file(name);
	EXPECT_TRUE(self->text && ctl_is_massif_file(self->text));
	read_totals(name + strlen("massif.out."), &bytes, &blocks);
	EXPECT_EQ(THREADS * (2 * HEAP_THREADS_KEPT + HEAP_THREADS_ENDING + 3) + 2, blocks);
	EXPECT_EQ(bytes, 2 * kept + ending + THREADS * (2 * KEY_BYTES + of_libc) +
				 THREADS * sizeof(void *) + HEAP_THREADS_FORKED_BYTES);
}

TEST_HARNESS_MAIN
