// SPDX-License-Identifier: GPL-2.0
// The style of the sources: no rule of selftests/tools/style.sh is violated.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

FIXTURE(style) {
	struct ctl_result result;
	char command[4096];
};

FIXTURE_SETUP(style)
{
	const char *source = getenv("MASSIF_SRC") ?: ".";

	snprintf(self->command, sizeof(self->command), "%s/.git", source);
	if (access(self->command, F_OK))
		SKIP_SETUP("without git nothing says which files are sources");
	snprintf(self->command, sizeof(self->command), "%s/selftests/tools/style.sh", source);
}

FIXTURE_TEARDOWN(style)
{
	ctl_result_free(&self->result);
}

FIXTURE_VARIANT(style) {
	const char *rule;
};

FIXTURE_VARIANT_ADD(style, licence) { .rule = "licence" };
FIXTURE_VARIANT_ADD(style, columns) { .rule = "columns" };
FIXTURE_VARIANT_ADD(style, blanks) { .rule = "blanks" };
FIXTURE_VARIANT_ADD(style, length) { .rule = "length" };
FIXTURE_VARIANT_ADD(style, guards) { .rule = "guards" };
FIXTURE_VARIANT_ADD(style, layout) { .rule = "layout" };
FIXTURE_VARIANT_ADD(style, versions) { .rule = "versions" };
FIXTURE_VARIANT_ADD(style, overview) { .rule = "overview" };
FIXTURE_VARIANT_ADD(style, scripts) { .rule = "scripts" };
FIXTURE_VARIANT_ADD(style, spelling) { .rule = "spelling" };

TEST_F_TIMEOUT(style, is_kept, 120)
{
	CTL_RUN(&self->result, self->command, variant->rule);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.out);
	EXPECT_STREQ("", self->result.err);
}

TEST(unknown_rules_are_errors)
{
	struct ctl_result result;
	char command[4096];

	snprintf(command, sizeof(command), "%s/selftests/tools/style.sh", getenv("MASSIF_SRC") ?: ".");
	CTL_RUN(&result, command, "no_such_rule");
	EXPECT_EQ(2, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.err, "there is no rule no_such_rule"));
	ctl_result_free(&result);
}

TEST_HARNESS_MAIN
