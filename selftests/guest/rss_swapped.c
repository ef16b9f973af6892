// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set (--rss) of a program, half of whose block is swapped out, with massif.ko and without it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"
#include "selftests/lib/guest_swap.h"

#define MIB (1ull << 20)

FIXTURE(swapped) {
	struct ctl_result result;
	struct mf_recording recording;
	bool has_swap;
};

FIXTURE_VARIANT(swapped) {
	const struct guest_swap *swap;
};

FIXTURE_VARIANT_ADD(swapped, to_zram) { &guest_swap_zram };
FIXTURE_VARIANT_ADD(swapped, to_a_file) { &guest_swap_file };

FIXTURE_SETUP(swapped)
{
	ctl_remove_files("massif.");
	self->has_swap = guest_swap_begin(variant->swap);
	if (!self->has_swap)
		SKIP_SETUP("this kernel has no zram, or no ext4");
}

FIXTURE_TEARDOWN(swapped)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	if (self->has_swap)
		EXPECT_TRUE(guest_swap_end(variant->swap));
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

/* Compares what the program says is swapped out with its recording. @option: --rss=.... */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(swapped) *self, const char *option)
{
	const struct mf_residency_detail *last;
	const struct mf_recorded *process;
	uint64_t swapped;
	const char *at;
	struct mf_error err;

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", option, "--record=massif.rec", ctl_target("rss_shapes"), "swapped",
			 "3000"))
	TH_LOG("%s", self->result.err);
	at = strstr(self->result.out, "swapped ");
	ASSERT_NE(NULL, at);
	swapped = strtoull(at + strlen("swapped "), NULL, 10);
	ASSERT_LE(7 * MIB, swapped);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &err)) TH_LOG("%s", err.text);
	process = self->recording.processes[0];
	ASSERT_NE(NULL, process->profile.residency);
	last = &process->profile.residency->last;
	/* The kernel swaps nothing but what the program has given it; the whole of it is in the block. */
	EXPECT_EQ(swapped, last->sample.swapped);
	EXPECT_EQ(swapped, last->sample.heap_swapped);
	EXPECT_EQ(0, last->sample.untouched);
	EXPECT_LE(16 * MIB - swapped, last->sample.bands[MF_BAND_LIVE]);
	EXPECT_GE(16 * MIB - swapped + 64 * 1024, last->sample.bands[MF_BAND_LIVE]);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--at=end", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "  swapped out\n")) TH_LOG("%s", self->result.out);
	/* With the module, its count is that of the resident pages, too. */
	if (process->profile.touches && last->counted) {
		EXPECT_LE(mf_residency_rss(&last->sample), last->counted + MIB);
		EXPECT_LE(last->counted, mf_residency_rss(&last->sample) + MIB);
		EXPECT_LE(mf_residency_rss(&last->sample) + swapped, process->profile.touches->peak + MIB);
	}
}

TEST_F_TIMEOUT(swapped, is_not_resident, 120)
{
	check(_metadata, self, "--rss=sampled");
	EXPECT_EQ(NULL, self->recording.processes[0]->profile.touches);
}

TEST_F_TIMEOUT(swapped, is_not_resident_by_the_modules_count, 120)
{
	check(_metadata, self, "--rss=module");
	EXPECT_NE(NULL, self->recording.processes[0]->profile.touches);
}

TEST_HARNESS_MAIN
