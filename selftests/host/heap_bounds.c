// SPDX-License-Identifier: GPL-2.0
// Programs with unusually many stacks, live blocks and addresses. Other tests check how much of a profile survives when
// the session's memory is full.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"
#include "selftests/lib/massif_text.h"

#define BYTES 24 /* size of each block that the target program allocates */

FIXTURE(limits) {
	struct heap_session session;
};

FIXTURE_SETUP(limits)
{
}

FIXTURE_TEARDOWN(limits)
{
	heap_session_end(&self->session);
}

FIXTURE_VARIANT(limits) {
	const char *way, *n;
	const char *variable; /* environment variable whose value, if set, replaces @n; meant for larger machines */
	uint64_t live;	      /* percentage of the @n blocks that stay live */
	uint64_t contexts;    /* minimum number of contexts in the profile */
};

FIXTURE_VARIANT_ADD(limits, stacks) {
	.way = "stacks", .n = "1100000", .variable = "MASSIF_STACKS", .live = 100, .contexts = 1100000,
};
FIXTURE_VARIANT_ADD(limits, blocks) {
	.way = "blocks", .n = "5000000", .variable = "MASSIF_BLOCKS", .live = 50,
};
FIXTURE_VARIANT_ADD(limits, places) {
	.way = "places", .n = "200", .variable = "MASSIF_PLACES", .live = 50,
};

static void hear_requests(struct mf_store *store)
{
	store->header->takes_requests = true;
}

/* Every block is counted in three places: the model's total, the contexts, and the table of blocks. */
TEST_F_TIMEOUT(limits, nothing_is_lost, 300)
{
	const char *n = getenv(variant->variable) ?: variant->n;
	const struct mf_store_header *header;
	struct heap_session_sums sums;
	uint64_t blocks;

	self->session.prepare = hear_requests;
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_bounds"), variant->way, n,
						       NULL }));
	ASSERT_TRUE(WIFEXITED(self->session.status));
	if (WEXITSTATUS(self->session.status) == 2)
		SKIP(return, "there is not so much memory");
	EXPECT_EQ(0, WEXITSTATUS(self->session.status));
	header = self->session.store.header;
	EXPECT_EQ(0, header->full);
	EXPECT_EQ(0, header->events_lost);
	EXPECT_EQ(0, header->overflow);
	EXPECT_LE(variant->contexts, header->n_contexts);

	/*
	 * The sums may be slightly larger than the program's own blocks, because the C library allocates some blocks,
	 * too.
	 */
	blocks = strtoull(n, NULL, 10) * variant->live / 100;
	EXPECT_EQ(blocks, heap_session_count(&self->session, BYTES));
	sums = heap_session_sum(&self->session);
	EXPECT_EQ(sums.model, sums.contexts);
	EXPECT_EQ(sums.model, sums.blocks);
	EXPECT_LE(blocks * BYTES, sums.model);
	EXPECT_GT(blocks * BYTES + 65536, sums.model);
}

FIXTURE(shortage) {
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(shortage)
{
}

FIXTURE_TEARDOWN(shortage)
{
	ctl_result_free(&self->result);
	free(self->text);
}

static void limit_address_space(void)
{
	const struct rlimit limit = { 1u << 30, 1u << 30 };

	setrlimit(RLIMIT_AS, &limit);
}

static void run_within_limits(struct ctl_result *result, const char *way, const char *n)
{
	ctl_run(result, NULL, limit_address_space,
		(const char *[]){ "massif-ctl", "--time-unit=B", "--threshold=0", "--heap-admin=0",
				  "--massif-out-file=massif.out.shortage", ctl_target("heap_bounds"),
				  way, n, NULL });
}

/*
 * If there is no memory left for more call stacks, all bytes are still counted, but the contexts of new stacks are
 * lost; the program is not affected.
 */
TEST_F_TIMEOUT(shortage, of_call_stacks, 60)
{
	const uint64_t bytes = 100000 * BYTES;

	run_within_limits(&self->result, "stacks", "100000");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "some call stacks are unknown"));
	EXPECT_NE(NULL, strstr(self->result.err, "ulimit -v"));
	EXPECT_EQ(NULL, strstr(self->result.err, "not counted"));

	self->text = ctl_read_file("massif.out.shortage");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	EXPECT_TRUE(massif_text_trees_agree(self->text));
	EXPECT_LE(bytes, massif_text_peak(self->text));
	EXPECT_GT(bytes + 65536, massif_text_peak(self->text));
	EXPECT_NE(NULL, strstr(self->text, "[call stacks that found no room]"));
	EXPECT_NE(NULL, strstr(self->text, ": allocate (heap_bounds.c:"));
}

/* Events that are lost are reported, and all other events are still in the profile. */
TEST_F_TIMEOUT(shortage, of_live_blocks, 60)
{
	const char *line;
	uint64_t lost, all;

	run_within_limits(&self->result, "places", "10000");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "too many live blocks"));
	line = strstr(self->result.err, "the profile is incomplete: 1") ?:
	       strstr(self->result.err, "the profile is incomplete: 9");
	ASSERT_NE(NULL, line) {
		TH_LOG("%s", self->result.err);
	}
	ASSERT_EQ(2, sscanf(line, "the profile is incomplete: %lu of %lu allocations", &lost, &all));
	EXPECT_LT(1000, lost);
	EXPECT_LT(lost, all);
	/* The program allocates 10,000 blocks and frees 5,000. The C library adds a few events. */
	EXPECT_GT(15100, all);

	self->text = ctl_read_file("massif.out.shortage");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	EXPECT_TRUE(massif_text_trees_agree(self->text));
}

/*
 * The maximum number of events that can be pending when a signal handler interrupts the shim in the middle of
 * another event.
 */
#define DEFERRED_MAX   32
#define DEFERRED_BYTES 1234 /* size in bytes of each block that the signal handler allocates */

FIXTURE(deferred) {
	struct heap_session session;
};

FIXTURE_SETUP(deferred)
{
}

FIXTURE_TEARDOWN(deferred)
{
	heap_session_end(&self->session);
}

FIXTURE_VARIANT(deferred) {
	uint64_t n;
};

FIXTURE_VARIANT_ADD(deferred, all_that_there_is_room_for) { .n = DEFERRED_MAX };
FIXTURE_VARIANT_ADD(deferred, one_more) { .n = DEFERRED_MAX + 1 };
FIXTURE_VARIANT_ADD(deferred, ten_times_as_many) { .n = 10 * DEFERRED_MAX };

/*
 * All blocks that the signal handler allocates are counted, with one exception: if it interrupts the shim in the middle
 * of an event, only the first DEFERRED_MAX blocks are counted, and the others are reported as lost.
 */
TEST_F_TIMEOUT(deferred, is_counted_or_said, 60)
{
	char n[16];
	const char *argv[] = { ctl_target("heap_deferred"), n, NULL };
	const struct mf_store_header *header;
	uint64_t live, lost, beyond = variant->n - DEFERRED_MAX;
	struct heap_session_sums sums;

	snprintf(n, sizeof(n), "%u", (unsigned int)variant->n);
	ASSERT_TRUE(heap_session_run(&self->session, argv));
	EXPECT_EQ(0, self->session.status);
	header = self->session.store.header;
	lost = header->events_lost;
	live = heap_session_count(&self->session, DEFERRED_BYTES);
	/*
	 * No matter when the signal interrupted the program, either all of the handler's events were counted, or all
	 * except those beyond the maximum number of pending events.
	 */
	EXPECT_EQ(0, (live + lost) % variant->n);
	EXPECT_LT(50 * variant->n, live + lost);
	if (beyond) {
		EXPECT_EQ(0, lost % beyond);
		EXPECT_LT(20 * beyond, lost);
	} else {
		EXPECT_EQ(0, lost);
	}
	sums = heap_session_sum(&self->session);
	EXPECT_EQ(sums.model, sums.contexts);
	EXPECT_EQ(sums.model, sums.blocks);
}

TEST_HARNESS_MAIN
