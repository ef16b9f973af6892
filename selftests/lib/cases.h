/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before each guest test. If MASSIF_CASES is set, runs only the test cases whose names (FIXTURE.CASE) match
 * one of its shell patterns.
 */
#ifndef MASSIF_SELFTESTS_CASES_H
#define MASSIF_SELFTESTS_CASES_H

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

static inline bool case_is_wanted(const struct __test_metadata *test, const char *patterns)
{
	char name[256], all[1024], *rest = all;

	snprintf(name, sizeof(name), "%s.%s", test->fixture->name, test->name);
	snprintf(all, sizeof(all), "%s", patterns);
	for (char *pattern; (pattern = strsep(&rest, " "));)
		if (*pattern && !fnmatch(pattern, name, 0))
			return true;
	return false;
}

/*
 * Removes from the harness's lists the test cases that MASSIF_CASES does not select. If no case is left, the test
 * fails.
 */
static inline void select_cases(void)
{
	const char *patterns = getenv("MASSIF_CASES");
	unsigned int left = 0;

	if (!patterns)
		return;
	for (struct __fixture_metadata *fixture = __fixture_list; fixture; fixture = fixture->next) {
		struct __test_metadata **link = &fixture->tests;

		while (*link) {
			if (case_is_wanted(*link, patterns)) {
				left++;
				link = &(*link)->next;
			} else {
				*link = (*link)->next;
			}
		}
	}
	if (!left) {
		fprintf(stderr, "# no case is called %s\n", patterns);
		exit(1);
	}
}

/* Lets the harness's main() remove the unselected test cases before it runs the rest. */
#define test_harness_run(argc, argv) (select_cases(), test_harness_run(argc, argv))

#endif
