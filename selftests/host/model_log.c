// SPDX-License-Identifier: GPL-2.0
// The log of what happened to snapshots: kept only on request, in order, and limited in size.

#include <string.h>

#include "kselftest_harness.h"

#include "model/model.h"

static const struct mf_model_options options = {
	.max_snapshots = 10,
	.detailed_freq = 10,
	.time_unit = MF_TIME_MS,
	.alignment = 16,
};

static void create(struct __test_metadata *_metadata, struct mf_store *store, bool logs)
{
	struct mf_model_options wanted = options;
	struct mf_error err = { "" };

	wanted.logs_steps = logs;
	ASSERT_EQ(0, mf_store_create(store, 0, NULL, &err)) {
		TH_LOG("%s", err.text);
	}
	mf_model_init(store, &wanted);
}

TEST(silent_by_default)
{
	struct mf_store store;
	uint32_t n;

	create(_metadata, &store, false);
	for (int64_t now = 0; now < 50; now++)
		mf_model_attempt(&store, now);
	mf_log_view(&store, &n);
	EXPECT_EQ(0, n);
	EXPECT_EQ(0, store.header->steps_lost);
	mf_store_detach(&store);
}

/*
 * The log has ten snapshots and one culling that removes five of them. Events between two steps of the log (a snapshot
 * or a culling) are reported with the later step.
 */
TEST(order)
{
	const struct mf_step *steps;
	struct mf_store store;
	uint32_t n, at = 0;

	create(_metadata, &store, true);
	for (int64_t now = 0; now < 10; now++)
		mf_model_attempt_on(&store, MF_OCCASION_ALLOC, now);
	mf_model_attempt_on(&store, MF_OCCASION_FREE, 9);
	mf_model_attempt_on(&store, MF_OCCASION_FREE, 10);
	mf_model_attempt_on(&store, MF_OCCASION_REALLOC, 100);
	steps = mf_log_view(&store, &n);
	ASSERT_LT(10, n);
	for (; at < 10; at++) {
		EXPECT_EQ(MF_STEP_SNAPSHOT, steps[at].kind);
		EXPECT_EQ(at, steps[at].number);
		EXPECT_EQ(at, steps[at].time);
		EXPECT_EQ(at == 9 ? 'd' : '.', steps[at].mark);
	}
	EXPECT_EQ(MF_STEP_CULLING, steps[at++].kind);
	for (uint32_t round = 0; round < 5; round++, at++) {
		EXPECT_EQ(MF_STEP_VICTIM, steps[at].kind);
		EXPECT_EQ(round, steps[at].count);
	}
	EXPECT_EQ(MF_STEP_CULLED, steps[at].kind);
	EXPECT_EQ(5, steps[at].number);
	EXPECT_EQ(10, steps[at++].count);
	for (uint32_t i = 0; i < 5; i++, at++) {
		EXPECT_EQ(MF_STEP_SURVIVOR, steps[at].kind);
		EXPECT_EQ(i, steps[at].number);
	}
	EXPECT_EQ(MF_STEP_INTERVAL, steps[at].kind);
	EXPECT_EQ(mf_model_of(&store)->interval, steps[at++].span);
	ASSERT_EQ(at + 1, n);
	EXPECT_EQ(MF_STEP_SNAPSHOT, steps[at].kind);
	EXPECT_EQ(MF_OCCASION_REALLOC, steps[at].occasion);
	EXPECT_EQ(2, steps[at].count);
	mf_store_detach(&store);
}

TEST(room)
{
	struct mf_store store;
	uint32_t n, room;

	create(_metadata, &store, true);
	room = (uint32_t)(store.sizes[MF_REGION_STEPS] / sizeof(struct mf_step));
	store.header->n_steps = room - 1;
	for (int64_t now = 0; now < 4; now++)
		mf_model_attempt(&store, now);
	mf_log_view(&store, &n);
	EXPECT_EQ(room, n);
	EXPECT_EQ(3, store.header->steps_lost);
	/*
	 * A faulty program may overwrite the number of logged steps. mf_log_view() never returns more steps than the
	 * log has room for.
	 */
	store.header->n_steps = UINT32_MAX;
	mf_log_view(&store, &n);
	EXPECT_EQ(room, n);
	mf_store_detach(&store);
}

TEST_HARNESS_MAIN
