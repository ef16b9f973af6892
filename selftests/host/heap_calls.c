// SPDX-License-Identifier: GPL-2.0
// Every way to allocate and to free is seen, with the size that was asked for.

#include <string.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

#define FIRST_SIZE 70001
#define N_CALLS	   23

FIXTURE(calls) {
	struct heap_session session;
};

FIXTURE_SETUP(calls)
{
}

FIXTURE_TEARDOWN(calls)
{
	heap_session_end(&self->session);
}

TEST_F(calls, each_allocates)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "keep", NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->events_lost);
	for (uint64_t size = FIRST_SIZE; size < FIRST_SIZE + N_CALLS; size++) {
		EXPECT_EQ(1, heap_session_count(&self->session, size)) {
			TH_LOG("size %lu", size);
		}
	}
	/* What was resized is there once. */
	EXPECT_EQ(0, heap_session_count(&self->session, 80000));
	EXPECT_EQ(0, heap_session_count(&self->session, 10));
}

TEST_F(calls, each_frees)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "free", NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_LT(2 * N_CALLS, self->session.store.header->events);
	for (uint64_t size = FIRST_SIZE; size < FIRST_SIZE + N_CALLS; size++) {
		EXPECT_EQ(0, heap_session_count(&self->session, size)) {
			TH_LOG("size %lu", size);
		}
	}
}

/* The C++ library's pool of 72704 bytes is allocated by a constructor that runs before ours. */
TEST_F(calls, before_our_constructor)
{
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_calls"), "keep", NULL }));
	EXPECT_EQ(1, heap_session_count(&self->session, 72704));
}

TEST_HARNESS_MAIN
