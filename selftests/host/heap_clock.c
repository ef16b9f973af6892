// SPDX-License-Identifier: GPL-2.0
// Tests the time unit "i". This machine may lack an instruction counter, so the CPU time of each thread in ns is
// counted instead. The tests check that the threads' times are summed, that time never goes backwards, and that the
// program keeps its descriptors. The substitute is either a kernel perf counter or a counter page provided by a test
// process. That process increases the count in the page until the program can execute rdpmc; from then on, the program
// reads the count with rdpmc.

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "model/model.h"
#include "selftests/lib/counter_broker.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/heap_session.h"
#include "selftests/lib/skip.h"

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

/* The time counted for two busy threads roughly equals the CPU time that the kernel reports for the process. */
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

#define THREADS	 8
#define OUT	 "counted.out."
#define MS_NS	 1000000ull
/* Maximum processor time, in ns, that the program uses after it has printed its processor time. */
#define END_NS	 (400 * MS_NS)

FIXTURE(counted) {
	struct counter_broker *broker;
	struct ctl_result result;
	pid_t pid; /* pid of the program */
	uint64_t cpu_ns;
	unsigned int reads;
	int descriptors;
};

FIXTURE_VARIANT(counted) {
	enum counter_kind kind;
};

FIXTURE_VARIANT_ADD(counted, by_rdpmc) {
	.kind = COUNTER_OF_PAGE,
};

FIXTURE_VARIANT_ADD(counted, by_the_kernel) {
	.kind = COUNTER_OF_TIME,
};

FIXTURE_SETUP(counted)
{
	const char *obstacle = counter_broker_obstacle(variant->kind);

	if (obstacle)
		SKIP_SETUP("%s", obstacle);
	ctl_remove_files(OUT);
	self->broker = counter_broker();
	self->broker->kind = variant->kind;
}

FIXTURE_TEARDOWN(counted)
{
	ctl_result_free(&self->result);
	ctl_remove_files(OUT);
}

/*
 * Runs the target program heap_counted in its mode @way ("threads", "child" or "errno") with the argument @n. No time
 * unit is requested, so massif-ctl chooses it. Returns whether the program succeeded and its output could be read.
 */
static bool run_counted(FIXTURE_DATA(counted) *self, const char *way, const char *n)
{
	self->broker->asked = self->broker->ready = 0;
	ctl_run(&self->result, NULL, counter_broker_begin,
		(const char *const[]){ "massif-ctl", "--massif-out-file=" OUT "%p",
				       ctl_target("heap_counted"), way, n, NULL });
	return ctl_exit_code(&self->result) == 0 &&
	       sscanf(self->result.out, "%d: %lu ns, %u reads, %d descriptors", &self->pid,
		      &self->cpu_ns, &self->reads, &self->descriptors) == 4;
}

/* Returns the time of a file's last snapshot, or 0 if the times decrease or are not in instructions. */
static uint64_t last_time(pid_t process)
{
	uint64_t last = 0, time;
	char name[64], *text;
	const char *line;

	snprintf(name, sizeof(name), OUT "%d", process);
	text = ctl_read_file(name);
	line = text ? strstr(text, "\ntime_unit: i\n") : NULL;
	while (line && (line = strstr(line + 1, "\ntime="))) {
		time = strtoull(line + strlen("\ntime="), NULL, 10);
		if (time < last) {
			last = 0;
			break;
		}
		last = time;
	}
	free(text);
	return last;
}

TEST_F(counted, threads_begin_and_end)
{
	uint64_t last;

	ASSERT_TRUE(run_counted(self, "threads", "8")) TH_LOG("%s%s", self->result.out, self->result.err);
	EXPECT_EQ(NULL, strstr(self->result.err, "time"));
	/* massif-ctl opens one counter to check that this works, and each thread opens one, including the first. */
	EXPECT_EQ(1 + 1 + THREADS, self->broker->asked);
	EXPECT_EQ(0, self->broker->asked_else);
	EXPECT_EQ(0, self->descriptors);
	last = last_time(self->pid);
	TH_LOG("%u reads, %lu ns used, the last snapshot at %lu", self->reads, self->cpu_ns, last);
	EXPECT_LT(self->cpu_ns / 2, last);
	/* Until the program can execute rdpmc, its counter advances with wall-clock time. */
	EXPECT_GT(self->broker->before_ready + self->cpu_ns + END_NS, last);
	/* Depending on the kind of counter, rdpmc is executed either at every event or not at all. */
	EXPECT_EQ(variant->kind == COUNTER_OF_PAGE, self->reads > 1000);
	EXPECT_EQ(variant->kind == COUNTER_OF_TIME, self->reads == 0);
}

/* A forked child continues from its parent's time, but with its own counter. */
TEST_F(counted, child_goes_on)
{
	uint64_t parent, child = 0;
	char name[256];

	ASSERT_TRUE(run_counted(self, "child", NULL)) TH_LOG("%s%s", self->result.out, self->result.err);
	EXPECT_EQ(1 + 2, self->broker->asked);
	EXPECT_EQ(0, self->broker->asked_else);
	parent = last_time(self->pid);
	EXPECT_LT(self->cpu_ns / 2, parent);
	snprintf(name, sizeof(name), OUT "%d", self->pid);
	ASSERT_EQ(0, unlink(name));
	ASSERT_EQ(1, ctl_find_files(OUT, name));
	child = last_time(atoi(name + strlen(OUT)));
	TH_LOG("the parent's last snapshot at %lu, its child's at %lu", parent, child);
	/*
	 * Parent and child use 100 ms each before and after the fork, and the parent 20 ms more. The 80 ms between
	 * them are for a last snapshot before the end: massif-ctl may not run for a while on a busy machine.
	 */
	EXPECT_LT(self->cpu_ns, child);
}

TEST_F(counted, executed_program_begins_anew)
{
	char name[256];

	ctl_run(&self->result, NULL, counter_broker_begin,
		(const char *const[]){ "massif-ctl", "--trace-children=yes", "--massif-out-file=" OUT "%p",
				       ctl_target("heap_children"), "spawn",
				       ctl_target("heap_children"), "leaf", NULL });
	EXPECT_EQ(7, ctl_exit_code(&self->result));
	EXPECT_EQ(2, ctl_find_files(OUT, name));
	EXPECT_EQ(1 + 2, self->broker->asked);
	EXPECT_EQ(0, self->broker->asked_else);
	while (ctl_find_files(OUT, name)) {
		char *text = ctl_read_file(name);

		EXPECT_TRUE(ctl_is_massif_file(text));
		EXPECT_NE(NULL, strstr(text, "\ntime_unit: i\n"));
		EXPECT_NE(NULL, strstr(text, "\ntime=0\n"));
		free(text);
		ASSERT_EQ(0, unlink(name));
	}
}

/*
 * perf_event_open() fails as if no descriptors were left: threads without a counter are reported, and time
 * advances only with the counters of the other threads.
 */
TEST_F(counted, threads_without_a_counter_are_told_of)
{
	self->broker->error = EMFILE;
	self->broker->spared = 1 + 1 + 3;
	ASSERT_TRUE(run_counted(self, "threads", "8")) TH_LOG("%s%s", self->result.out, self->result.err);
	EXPECT_NE(NULL, strstr(self->result.err, "massif-ctl: times are too low: 5 threads have no "
						 "instruction counter\n"));
	EXPECT_LT(self->cpu_ns / 4, last_time(self->pid));
}

TEST_F(counted, errno_is_the_programs)
{
	ASSERT_TRUE(run_counted(self, "errno", "3")) TH_LOG("%d", ctl_exit_code(&self->result));
	ctl_result_free(&self->result);
	self->broker->error = EMFILE;
	self->broker->spared = 1 + 1;
	ASSERT_TRUE(run_counted(self, "errno", "3")) TH_LOG("%d", ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "times are too low: 3 threads"));
}

TEST_HARNESS_MAIN
