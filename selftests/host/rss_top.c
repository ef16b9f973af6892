// SPDX-License-Identifier: GPL-2.0
// massif-ctl top shows the resident set and its largest part while --rss=yes samples it.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/live/view.h"
#include "model/model.h"
#include "model/tally.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/live_run.h"

#define SECONDS 600

FIXTURE(top) {
	struct ctl_result result;
	struct live_run run;
};

FIXTURE_SETUP(top)
{
	ASSERT_TRUE(live_be_alone());
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

FIXTURE_TEARDOWN(top)
{
	live_stop(&self->run);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("c.");
}

static const char *top(FIXTURE_DATA(top) *self)
{
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "top", "--once");
	return strstr(self->result.out, "\nresident ");
}

/* Returns the resident set of the program according to the kernel, in bytes. */
static uint64_t resident(const struct live_run *run)
{
	char path[64], *text;
	const char *at;
	uint64_t kib;

	snprintf(path, sizeof(path), "/proc/%s/smaps_rollup", run->pid);
	text = ctl_read_file(path);
	at = text ? strstr(text, "\nRss:") : NULL;
	kib = at ? strtoull(at + strlen("\nRss:"), NULL, 10) : 0;
	free(text);
	return kib * 1024;
}

TEST_F_TIMEOUT(top, shows_the_resident_set, SECONDS)
{
	const char *line = NULL;
	uint64_t rss = 0, most = 0, truth = 0;
	char words[64] = "";

	ASSERT_TRUE(live_start(&self->run, NULL, (const char *const[]){ "massif-ctl", "-q", "--rss=yes",
									"--record=massif.rec", ctl_target("ctl_live"),
									NULL }));
	/* The program waits; the next sample is of its memory as it is. */
	for (int i = 0; i < 100 && (!rss || rss + (64 << 12) < truth); i++) {
		usleep(100000);
		truth = resident(&self->run);
		line = top(self);
		if (line)
			sscanf(line, "\nresident     %" SCNu64 " B (%" SCNu64 " %63[^)\n])", &rss, &most, words);
	}
	ASSERT_NE(NULL, line) TH_LOG("%s", self->result.out);
	EXPECT_LE(rss, truth + (64 << 12));
	EXPECT_GE(rss, truth - (64 << 12));
	EXPECT_LT(0, most);
	EXPECT_LE(most, rss);
	EXPECT_LE(rss / MF_BANDS, most);
	EXPECT_TRUE(!strcmp(words, "massif's own memory") || !strcmp(words, "mapped files") || !strcmp(words, "live "
													      "blocks")) {
		TH_LOG("%s", words);
	}
}

TEST_F_TIMEOUT(top, shows_nothing_without_samples, SECONDS)
{
	ASSERT_TRUE(live_start(&self->run, NULL, (const char *const[]){ "massif-ctl", "-q", ctl_target("ctl_live"), NULL }));
	usleep(300000);
	EXPECT_EQ(NULL, top(self));
	EXPECT_NE(NULL, strstr(self->result.out, "\nstate        running\n"));
}

/* The program can write anything into the session memory. */
TEST(numbers_of_the_program)
{
	static const uint32_t bands[] = { MF_BAND_OTHER, MF_BANDS, 10 * MF_BANDS, UINT32_MAX };
	struct mf_live live = { .has_session = true };
	struct mf_store store;
	struct mf_error err;
	char text[256];
	int memory;

	ASSERT_EQ(0, mf_store_create(&store, 0, &memory, &err));
	store.header->n_tallies = 1;
	ASSERT_EQ(0, mf_live_session_open(&live.session, dup(memory), 0, false, &err));
	ASSERT_EQ(0, mf_live_session_read(&live.session, &err));
	live.table.totals = live.session.totals;
	EXPECT_EQ(MF_LIVE_HEADS - 1, mf_live_view_heads(&live));
	for (size_t i = 0; i < 4; i++) {
		store.header->resident = UINT64_MAX;
		store.header->resident_most = UINT64_MAX;
		store.header->resident_band = bands[i];
		ASSERT_EQ(0, mf_live_session_read(&live.session, &err));
		live.table.totals = live.session.totals;
		EXPECT_EQ(MF_LIVE_HEADS, mf_live_view_heads(&live));
		mf_live_view_head(&live, MF_LIVE_HEAD_RESIDENT, text, sizeof(text));
		EXPECT_NE(NULL, strstr(text, " mappings of the kernel)")) TH_LOG("%s", text);
		EXPECT_GE(80, strlen(text));
	}
	mf_live_session_close(&live.session);
	mf_store_detach(&store);
	close(memory);
}

TEST_HARNESS_MAIN
