/* SPDX-License-Identifier: GPL-2.0 */
/* Skipping from the set-up of a fixture */
#ifndef MASSIF_SELFTESTS_SKIP_H
#define MASSIF_SELFTESTS_SKIP_H

#include <setjmp.h>

/*
 * Ends a FIXTURE_SETUP, skips its test and says why. With SKIP(return, ...) the harness would still run the test, so
 * this jumps to where a failed ASSERT goes, and neither the test nor the teardown runs.
 */
#define SKIP_SETUP(...) SKIP(longjmp(_metadata->env, 1), __VA_ARGS__)

#endif
