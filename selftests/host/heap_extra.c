// SPDX-License-Identifier: GPL-2.0
// With --heap-extra=real, the requested bytes and the extra bytes add up to what the allocator used.

#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define FILE_NAME "massif.out.extra"

FIXTURE(extra) {
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(extra)
{
}

FIXTURE_TEARDOWN(extra)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	free(self->text);
}

/* Returns the value after the last occurrence of @name in the file. */
static uint64_t last(const char *text, const char *name)
{
	const char *found = NULL;

	for (; (text = strstr(text, name)); text++)
		found = text;
	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

TEST_F(extra, real)
{
	uint64_t told, heap, bytes;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--heap-extra=real",
		"--max-snapshots=1000", "--massif-out-file=" FILE_NAME,
		ctl_target("heap_real_sizes"));
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file(FILE_NAME);
	ASSERT_NE(NULL, self->text);
	EXPECT_NE(NULL, strstr(self->text, "--heap-extra=real"));
	told = strtoull(self->result.out, NULL, 10);
	heap = last(self->text, "mem_heap_B=");
	bytes = last(self->text, "mem_heap_extra_B=");
	TH_LOG("%lu useful and %lu extra bytes, the program says %lu", heap, bytes, told);
	EXPECT_LT(0, told);
	EXPECT_EQ(told, heap + bytes);
}

TEST_F(extra, wrong_value)
{
	CTL_RUN(&self->result, "massif-ctl", "--heap-extra=none", "true");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "'--heap-extra' can be massif or real"));
}

TEST_HARNESS_MAIN
