// SPDX-License-Identifier: GPL-2.0
// Every test that Documentation/features.rst names exists.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

/* Returns the contents of a file of the sources, which the caller must free, or NULL. */
static char *read_source(const char *path)
{
	char whole[4096];

	snprintf(whole, sizeof(whole), "%s/%s", getenv("MASSIF_SRC") ?: ".", path);
	return ctl_read_file(whole);
}

/* Returns whether the test program @program has the test @name. */
static bool has_test(const char *program, const char *name)
{
	char path[256], text[256];
	char *source;
	bool has = false;

	snprintf(path, sizeof(path), "selftests/%s.c", program);
	source = read_source(path);
	snprintf(text, sizeof(text), "TEST(%s)", name);
	has = source && strstr(source, text);
	for (const char *at = source; at && !has && (at = strstr(at, "TEST_F")); at++) {
		size_t length = strcspn(at, "\n");
		char line[256];

		snprintf(line, sizeof(line), "%.*s", (int)length, at);
		snprintf(text, sizeof(text), ", %s", name);
		for (const char *found = line; !has && (found = strstr(found, text)); found++)
			has = strchr(",)", found[strlen(text)]) && found[strlen(text)];
	}
	free(source);
	return has;
}

TEST(tests_exist)
{
	char *table = read_source("Documentation/features.rst");
	unsigned int n = 0;

	ASSERT_NE(NULL, table);
	for (char *at = table; (at = strstr(at, "``")); at += 2) {
		char program[128], name[128];

		if (sscanf(at, "``%127[a-z_/]:%127[a-z_0-9]``", program, name) != 2)
			continue;
		n++;
		EXPECT_TRUE(has_test(program, name)) {
			TH_LOG("there is no test %s:%s", program, name);
		}
	}
	EXPECT_LT(30, n);
	EXPECT_FALSE(has_test("host/recording_show", "has_other_view"));
	EXPECT_FALSE(has_test("host/no_such_program", "has_other_views"));
	free(table);
}

TEST_HARNESS_MAIN
