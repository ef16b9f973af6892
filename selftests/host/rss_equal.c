// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set of real programs, each taken while the program is stopped: the bands add up to what the kernel
// counts. Prints the distribution of the differences. MASSIF_RSS_SAMPLES in the environment says how many samples there are;
// make check-rss takes 1,000.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "residency/sample.h"
#include "selftests/lib/rss_programs.h"

#define SAMPLES 100
#define PAGE	4096ll

/*
 * Since Linux 6.2, each processor adds its changes to a counter of the process only from time to time: VmRSS is the sum of
 * three counters, of which each can be wrong by so many pages for each processor.
 */
#define COUNTERS 3
#define BATCH	 64

FIXTURE(equal) {
	struct mf_store store;
	pid_t pid;
	struct rss_differences of_rollup, of_status;
};

FIXTURE_SETUP(equal)
{
	struct mf_error err;

	ASSERT_EQ(0, mf_store_create(&self->store, 512ull << 20, NULL, &err));
	rss_programs_prepare();
}

FIXTURE_TEARDOWN(equal)
{
	rss_differences_free(&self->of_rollup);
	rss_differences_free(&self->of_status);
	mf_store_detach(&self->store);
	rss_programs_forget();
}

static void start(FIXTURE_DATA(equal) *self, int program)
{
	self->pid = fork();
	if (!self->pid)
		rss_programs_execute(program);
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(equal) *self, struct mf_sample_memory *earlier)
{
	struct mf_residency_detail detail;
	struct mf_error err;
	long long rss;

	ASSERT_EQ(0, mf_sample_take(self->pid, &self->store, 0, earlier, NULL, &detail, &err)) TH_LOG("%s", err.text);
	rss = (long long)mf_residency_rss(&detail.sample);
	rss_differences_add(&self->of_rollup, rss - rss_programs_read(self->pid, "smaps_rollup", "Rss:"));
	rss_differences_add(&self->of_status, rss - rss_programs_read(self->pid, "status", "VmRSS:"));
	mf_residency_detail_deinit(&detail);
}

TEST_F_TIMEOUT(equal, to_what_the_kernel_counts, 1800)
{
	long long bound = COUNTERS * BATCH * sysconf(_SC_NPROCESSORS_CONF) * PAGE;
	size_t each = (rss_programs_samples(SAMPLES) + RSS_PROGRAMS - 1) / RSS_PROGRAMS;
	unsigned int seed = 1;

	for (int i = 0; i < RSS_PROGRAMS; i++) {
		struct mf_sample_memory earlier = { 0 };
		size_t until = self->of_rollup.n + each;
		int tries = 0;

		start(self, i);
		while (self->of_rollup.n < until && tries < 10000) {
			usleep((useconds_t)(1000 + rand_r(&seed) % 50000));
			tries++;
			if (!rss_programs_stop(self->pid)) {
				start(self, i);
				continue;
			}
			compare(_metadata, self, &earlier);
			kill(self->pid, SIGCONT);
		}
		EXPECT_EQ(until, self->of_rollup.n) TH_LOG("%s", rss_programs_name(i));
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
		mf_sample_memory_deinit(&earlier);
	}
	TH_LOG("sum of bands less Rss of smaps_rollup, %s", rss_differences_print(&self->of_rollup));
	TH_LOG("sum of bands less VmRSS, %s", rss_differences_print(&self->of_status));
	/* smaps counts pages; VmRSS is an estimate. */
	EXPECT_EQ(0, self->of_rollup.values[0]);
	EXPECT_EQ(0, self->of_rollup.values[self->of_rollup.n - 1]);
	EXPECT_LE(-bound, self->of_status.values[0]);
	EXPECT_GE(bound, self->of_status.values[self->of_status.n - 1]);
}

TEST_HARNESS_MAIN
