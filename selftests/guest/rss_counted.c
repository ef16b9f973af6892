// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set of real programs, each taken while the program is stopped, without and with the module's help:
// the bands add up to what massif.ko has counted, the first touches do, too, and all of that is what the kernel counts. Prints
// the distributions of the differences. MASSIF_RSS_SAMPLES in the environment says how many samples there are; make
// check-rss-kernel takes 500 on each kernel.

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "pages/pages.h"
#include "residency/sample.h"
#include "selftests/lib/pages_truth.h"
#include "selftests/lib/rss_programs.h"
#include "selftests/lib/skip.h"

#define SAMPLES 40

/* Two figures that are compared. All are 0 in a stopped program whose records have been read, except for VmRSS. */
enum {
	BANDS_AND_ROLLUP,    /* the bands without the module, and Rss of /proc/PID/smaps_rollup */
	BANDS_AND_STATUS,    /* the bands without the module, and VmRSS, which is an estimate of the kernel before 6.16 */
	COUNTED_AND_ROLLUP,  /* what the module has counted, and Rss of /proc/PID/smaps_rollup */
	COUNTED_AND_BANDS,   /* what the module has counted, and the bands of the sample with it */
	COUNTED_AND_TOUCHES, /* what the module has counted, and the first touches */
	PAIRS,
};

static const char *const pair_names[PAIRS] = {
	[BANDS_AND_ROLLUP] = "bands without the module less Rss of smaps_rollup",
	[BANDS_AND_STATUS] = "bands without the module less VmRSS",
	[COUNTED_AND_ROLLUP] = "the module's count less Rss of smaps_rollup",
	[COUNTED_AND_BANDS] = "the module's count less the bands",
	[COUNTED_AND_TOUCHES] = "the module's count less the first touches",
};

FIXTURE(counted) {
	struct mf_pages *pages;
	struct mf_store store; /* has no blocks */
	struct mf_error err;
	pid_t pid;
	struct rss_differences pairs[PAIRS];
};

static void end(FIXTURE_DATA(counted) *self)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
	self->pid = 0;
	mf_pages_close(self->pages);
	self->pages = NULL;
}

FIXTURE_SETUP(counted)
{
	if (!mf_truth_has_resident())
		SKIP_SETUP("this kernel has no CONFIG_MMU_NOTIFIER");
	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &self->err));
	rss_programs_prepare();
}

FIXTURE_TEARDOWN(counted)
{
	end(self);
	mf_store_detach(&self->store);
	for (int i = 0; i < PAIRS; i++)
		rss_differences_free(&self->pairs[i]);
	rss_programs_forget();
}

/* Starts a session of the module with @program. */
static void start(struct __test_metadata *_metadata, FIXTURE_DATA(counted) *self, int program)
{
	struct mf_pages_options options = mf_truth_options(MF_PAGES_RESIDENT);

	options.traces_children = true; /* the shell executes the program */
	ASSERT_EQ(0, mf_pages_open(&options, &self->pages, &self->err)) {
		TH_LOG("%s", self->err.text);
	}
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (self->pid)
		return;
	if (mf_pages_enrol(self->pages))
		_exit(126);
	rss_programs_execute(program);
}

static void each(void *data, uint64_t start, uint64_t end, mf_touch_found *found, void *found_data)
{
	mf_pages_each_resident(data, start, end, found, found_data);
}

static uint64_t resident(void *data)
{
	return mf_pages_resident(data).bytes;
}

/* Takes two samples of the stopped program, one without what the module knows. */
static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(counted) *self, struct mf_sample_memory *earlier)
{
	const struct mf_pages_process *process = mf_pages_find(self->pages, self->pid);
	const struct mf_touch_source source = { each, resident, (void *)process };
	long long rollup = rss_programs_read(self->pid, "smaps_rollup", "Rss:"), bands, counted, touched = 0;
	struct mf_residency_detail detail;

	ASSERT_EQ(0, mf_sample_take(self->pid, &self->store, 0, earlier, NULL, &detail, &self->err)) {
		TH_LOG("%s", self->err.text);
	}
	bands = (long long)mf_residency_rss(&detail.sample);
	rss_differences_add(&self->pairs[BANDS_AND_ROLLUP], bands - rollup);
	rss_differences_add(&self->pairs[BANDS_AND_STATUS], bands - rss_programs_read(self->pid, "status", "VmRSS:"));
	mf_residency_detail_deinit(&detail);

	ASSERT_EQ(0, mf_sample_take(self->pid, &self->store, 0, earlier, &source, &detail, &self->err)) {
		TH_LOG("%s", self->err.text);
	}
	for (size_t i = 0; i < detail.n_touches; i++)
		touched += (long long)detail.touches[i].bytes;
	counted = (long long)detail.counted;
	rss_differences_add(&self->pairs[COUNTED_AND_ROLLUP], counted - rollup);
	rss_differences_add(&self->pairs[COUNTED_AND_BANDS], counted - (long long)mf_residency_rss(&detail.sample));
	rss_differences_add(&self->pairs[COUNTED_AND_TOUCHES], counted - touched);
	mf_residency_detail_deinit(&detail);
}

/* Lets the program run for @ms milliseconds, and reads the module's records meanwhile. */
static void run_for(struct __test_metadata *_metadata, FIXTURE_DATA(counted) *self, int ms)
{
	struct pollfd device = { .fd = mf_pages_fd(self->pages), .events = POLLIN };

	for (; ms > 0; ms -= 5) {
		poll(&device, 1, 5);
		ASSERT_EQ(0, mf_pages_drain(self->pages, &self->err));
	}
}

static void sample_program(struct __test_metadata *_metadata, FIXTURE_DATA(counted) *self, int program, size_t samples)
{
	struct mf_sample_memory earlier = { 0 };
	size_t until = self->pairs[0].n + samples;
	unsigned int seed = 1;

	start(_metadata, self, program);
	for (size_t tries = 0; self->pairs[0].n < until && tries < 20 * samples; tries++) {
		run_for(_metadata, self, 5 + rand_r(&seed) % 300);
		if (!rss_programs_stop(self->pid)) {
			self->pid = 0;
			end(self);
			start(_metadata, self, program);
			continue;
		}
		/* The module's count is that of the kernel once all records have been read. */
		ASSERT_TRUE(mf_truth_is_told(self->pages, self->pid, MF_PAGES_RESIDENT, &self->err)) {
			TH_LOG("%s: %s", rss_programs_name(program), self->err.text);
		}
		if (mf_pages_find(self->pages, self->pid))
			compare(_metadata, self, &earlier);
		kill(self->pid, SIGCONT);
	}
	EXPECT_EQ(until, self->pairs[0].n) TH_LOG("%s", rss_programs_name(program));
	end(self);
	mf_sample_memory_deinit(&earlier);
}

TEST_F_TIMEOUT(counted, is_the_sum_of_the_bands, 7000)
{
	size_t samples = (rss_programs_samples(SAMPLES) + RSS_PROGRAMS - 1) / RSS_PROGRAMS;

	for (int i = 0; i < RSS_PROGRAMS; i++)
		sample_program(_metadata, self, i, samples);
	for (int i = 0; i < PAIRS; i++) {
		struct rss_differences *pair = &self->pairs[i];

		ASSERT_LT(0, pair->n);
		TH_LOG("%s, %s", pair_names[i], rss_differences_print(pair));
		if (i == BANDS_AND_STATUS)
			continue;
		EXPECT_EQ(0, pair->values[0]);
		EXPECT_EQ(0, pair->values[pair->n - 1]);
	}
}

TEST_HARNESS_MAIN
