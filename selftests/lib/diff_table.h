/* SPDX-License-Identifier: GPL-2.0 */
/* A table of scenarios for diff_run.h, one test per row. Include this once, after the harness. */
#ifndef MASSIF_SELFTESTS_DIFF_TABLE_H
#define MASSIF_SELFTESTS_DIFF_TABLE_H

#include "selftests/lib/diff_run.h"

FIXTURE(diff) {
	int nothing;
};

FIXTURE_SETUP(diff)
{
}

FIXTURE_TEARDOWN(diff)
{
}

FIXTURE_VARIANT(diff) {
	struct diff_scenario scenario;
};

/*
 * Adds a row to the table: SCENARIO(name, target, ARGS(...), WITH(...), .why = ...). The words in parentheses are
 * members of struct diff_scenario.
 */
#define SCENARIO(name, ...) FIXTURE_VARIANT_ADD(diff, name) { .scenario = { __VA_ARGS__ } }
#define ARGS(...)	    .args = { __VA_ARGS__ }
#define WITH(...)	    .options = { __VA_ARGS__ }

/* Options that give each snapshot a tree, and that keep small entries in all trees. */
#define ALL_TREES "--detailed-freq=1", "--threshold=0"

TEST_F(diff, same)
{
	if (!diff_can_run())
		SKIP(return, "valgrind is not installed");
	EXPECT_TRUE(diff_run(&variant->scenario));
}

#endif
