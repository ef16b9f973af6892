// SPDX-License-Identifier: GPL-2.0
// Percentages are parsed and printed the same way as in Massif.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "report/percent.h"
#include "selftests/lib/symbols_oracle.h"

static const struct {
	const char *given, *printed;
} cases[] = {
	{ "1", "1.00" }, { "0", "0.00" }, { "100", "100.00" },
	{ "0.995", "0.99" }, { "33.335", "33.34" }, { "0.996", "1.00" },
	{ "1.005", "1.00" }, { "2.675", "2.68" }, { "99.995", "100.00" },
	{ "99.996", "100.00" }, { "0.125", "0.12" }, { "12.5", "12.50" },
	{ "0.015", "0.01" }, { "50.505", "50.51" }, { "7.77777", "7.78" },
	{ ".5", "0.50" }, { "5.", "5.00" }, { "", "0.00" },
	{ "007.5", "7.50" }, { "1.235", "1.24" }, { "8.575", "8.57" },
	{ "4.355", "4.36" }, { "1.115", "1.11" },
};

static const char *const bad[] = {
	"1e2", "-1", "+1", " 1", "1 ", "1,5", "1.5.", "x", "0x10", "1%",
};

static char *printed(double value)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	mf_percent_print(out, value);
	fclose(out);
	return text;
}

TEST(numbers_are_printed)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		mf_auto_free char *text = NULL;
		double value;

		EXPECT_TRUE(mf_percent_parse(cases[i].given, &value));
		text = printed(value);
		EXPECT_STREQ(cases[i].printed, text) {
			TH_LOG("given %s", cases[i].given);
		}
	}
}

TEST(other_texts_are_refused)
{
	double value;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_FALSE(mf_percent_parse(bad[i], &value)) {
			TH_LOG("given '%s'", bad[i]);
		}
	}
}

/* Copies the first "(P%)" of valgrind's tree to @percent. */
static bool find_percent(char percent[32])
{
	mf_auto_fclose FILE *file = fopen("oracle.out", "re");
	mf_auto_free char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		const char *at = strstr(line, "massif's threshold (");

		if (at && sscanf(at, "massif's threshold (%31[0-9.]%%)", percent) == 1)
			return true;
	}
	return false;
}

FIXTURE(oracle) {
	int nothing;
};

FIXTURE_SETUP(oracle)
{
}

FIXTURE_TEARDOWN(oracle)
{
}

/*
 * Percentages are printed as in the reports of Valgrind's Massif when it is run with --threshold=0, so that small
 * entries are not merged into one line.
 */
TEST_F_TIMEOUT(oracle, agrees, 600)
{
	char program[PATH_MAX], option[64], percent[32];

	if (!oracle_present())
		SKIP(return, "no valgrind to compare with");
	snprintf(program, sizeof(program), "%s/selftests/targets/symbols_names",
		 getenv("MASSIF_BUILD"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *options[] = { "--time-unit=B", "--detailed-freq=1", option, NULL };

		if (strcmp(cases[i].printed, "0.00") == 0)
			continue;
		snprintf(option, sizeof(option), "--threshold=%s", cases[i].given);
		ASSERT_EQ(0, oracle_run(options, program, "oracle.maps"));
		ASSERT_TRUE(find_percent(percent)) {
			TH_LOG("%s: nothing merged", option);
		}
		EXPECT_STREQ(percent, cases[i].printed) {
			TH_LOG("%s", option);
		}
	}
}

TEST_HARNESS_MAIN
