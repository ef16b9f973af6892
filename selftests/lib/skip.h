/* SPDX-License-Identifier: GPL-2.0 */
/* Skips a test from inside its fixture's setup function. */
#ifndef MASSIF_SELFTESTS_SKIP_H
#define MASSIF_SELFTESTS_SKIP_H

#include <setjmp.h>

/*
 * Ends a FIXTURE_SETUP and skips its test, with a reason. After SKIP(return, ...), the harness would still run the
 * test. So this jumps to where a failed ASSERT goes, and neither the test nor the teardown runs.
 */
#define SKIP_SETUP(...) SKIP(longjmp(_metadata->env, 1), __VA_ARGS__)

#endif
