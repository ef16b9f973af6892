// SPDX-License-Identifier: GPL-2.0
// The time unit "i", with another of perf's counters in the place of instructions, which this
// machine may not have: the CPU time of each thread in ns, which is as good to see that threads are
// added up, that time never goes back, and that the program keeps its descriptors.

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"

FIXTURE(heap_clock) {
	struct heap_session session;
	struct mf_snapshot_view views[MF_SNAPSHOTS_MAX];
};

FIXTURE_SETUP(heap_clock)
{
}

FIXTURE_TEARDOWN(heap_clock)
{
	heap_session_end(&self->session);
}

static bool have_counter(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void time_by_cpu(struct mf_store *store)
{
	struct mf_model_options options = mf_model_of(store)->options;

	options.time_unit = MF_TIME_INSTRUCTIONS;
	mf_model_init(store, &options);
	store->header->counter_type = PERF_TYPE_SOFTWARE;
	store->header->counter_config = PERF_COUNT_SW_TASK_CLOCK;
}

/* Two threads in a storm use about as much time as the kernel says of the process. */
TEST_F(heap_clock, threads_add_up)
{
	uint64_t counted, least;
	uint32_t n;

	if (!have_counter())
		SKIP(return, "perf_event_open is not to be had here");
	self->session.prepare = time_by_cpu;
	ASSERT_TRUE(heap_session_run(&self->session,
				     (const char *[]){ ctl_target("heap_storm"), "3", "100000",
						       NULL }));
	EXPECT_EQ(0, self->session.status);
	EXPECT_EQ(0, self->session.store.header->counters_missing);
	counted = self->session.store.header->instructions;
	least = self->session.cpu_ns / 2;
	TH_LOG("counted %lu ns, the process used %lu ns", counted, self->session.cpu_ns);
	EXPECT_LT(least, counted);
	EXPECT_GT(self->session.cpu_ns + self->session.cpu_ns / 4, counted);

	n = mf_model_view(&self->session.store, self->views);
	ASSERT_LT(10, n);
	EXPECT_EQ(0, self->views[0].snapshot.time / 100000000);
	for (uint32_t i = 1; i < n; i++)
		EXPECT_LE(self->views[i - 1].snapshot.time, self->views[i].snapshot.time);
	EXPECT_LT(self->views[n - 1].snapshot.time / 2, (int64_t)counted);
}

TEST_HARNESS_MAIN
