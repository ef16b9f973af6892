// SPDX-License-Identifier: GPL-2.0
// Threads that free each other's blocks, signals and forks: no block is lost or counted twice.

#include <sys/wait.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

FIXTURE(storm) {
	struct heap_session session;
};

FIXTURE_SETUP(storm)
{
}

FIXTURE_TEARDOWN(storm)
{
	heap_session_end(&self->session);
}

FIXTURE_VARIANT(storm) {
	const char *threads, *rounds;
};

FIXTURE_VARIANT_ADD(storm, one_thread) { "1", "400000" };
FIXTURE_VARIANT_ADD(storm, two_threads) { "2", "200000" };
FIXTURE_VARIANT_ADD(storm, eight_threads) { "8", "100000" };

TEST_F_TIMEOUT(storm, sums, 120)
{
	struct heap_session_sums sums;
	uint32_t trees;

	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_storm"), variant->threads,
						       variant->rounds, NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->events_lost);
	EXPECT_EQ(0, self->session.store.header->full);
	EXPECT_LT(400000, self->session.store.header->events);

	sums = heap_session_sum(&self->session);
	EXPECT_EQ(sums.model, sums.blocks);
	EXPECT_EQ(sums.contexts, sums.blocks);
	/* Also at each moment that was kept. */
	EXPECT_EQ(0, heap_session_unequal_trees(&self->session, &trees));
	EXPECT_LT(10, trees);
	/* All of its own is freed; the C library's threads leave some blocks. */
	EXPECT_GT(40, sums.n_blocks);
	/* A child's blocks are not its parent's. */
	EXPECT_EQ(0, heap_session_count(&self->session, 12345));
}

TEST_HARNESS_MAIN
