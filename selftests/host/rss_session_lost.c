// SPDX-License-Identifier: GPL-2.0
// The session with massif.ko fails in the middle of a run, or what it has recorded does not fit into memory at the end:
// massif-ctl says so, and nothing of the heap is lost. The functions of the session are replaced: the first calls find no
// records, a later one fails.

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "ctl/cmd/command.h"
#include "ctl/launch/launch.h"
#include "ctl/launch/main_stack.h"
#include "ctl/output/first_touches.h"
#include "pages/pages.h"
#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define DRAINS 40 /* calls that succeed */

static int device = -1, drains, most_drains = DRAINS;

/* The session's record of any process that the run asks for, or NULL if it has none. */
static const struct mf_pages_process *recorded;

int __wrap_mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages, struct mf_error *err);
int __wrap_mf_pages_fd(const struct mf_pages *pages);
int __wrap_mf_pages_enrol(const struct mf_pages *pages);
int __wrap_mf_pages_forked(struct mf_pages *pages, struct mf_error *err);
int __wrap_mf_pages_drain(struct mf_pages *pages, struct mf_error *err);
void __wrap_mf_pages_close(struct mf_pages *pages);
struct mf_pages_process *__wrap_mf_pages_next_ended(struct mf_pages *pages);
const struct mf_pages_process *__wrap_mf_pages_find(const struct mf_pages *pages, pid_t pid);
struct mf_pages_resident __wrap_mf_pages_resident(const struct mf_pages_process *process);
void __wrap_mf_pages_each_resident(const struct mf_pages_process *process, uint64_t start, uint64_t end,
				   mf_pages_found *found, void *data);
int __wrap_mf_touches_output_make(struct mf_touches_output *output, const struct mf_options *options,
				  const struct mf_pages_process *process, uint64_t from_ns, struct mf_error *err);

/* The descriptor becomes readable again and again, as that of the module does. */
int __wrap_mf_pages_open(const struct mf_pages_options *options, struct mf_pages **pages, struct mf_error *err)
{
	const struct itimerspec often = { { .tv_nsec = 5000000 }, { .tv_nsec = 5000000 } };

	device = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (device < 0 || timerfd_settime(device, 0, &often, NULL))
		return mf_error_set(err, -errno, "no timer");
	*pages = (struct mf_pages *)&device;
	return 0;
}

int __wrap_mf_pages_fd(const struct mf_pages *pages)
{
	return device;
}

int __wrap_mf_pages_enrol(const struct mf_pages *pages)
{
	return 0;
}

int __wrap_mf_pages_forked(struct mf_pages *pages, struct mf_error *err)
{
	return 0;
}

int __wrap_mf_pages_drain(struct mf_pages *pages, struct mf_error *err)
{
	uint64_t times;

	if (read(device, &times, sizeof(times)) < 0 && errno != EAGAIN)
		return mf_error_set(err, -errno, "the descriptor was used after it was closed");
	return drains++ < most_drains ? 0 : mf_error_set(err, -EPROTO, "the ring has no record where one should be");
}

void __wrap_mf_pages_close(struct mf_pages *pages)
{
	if (pages)
		close(device);
	device = -1;
}

struct mf_pages_process *__wrap_mf_pages_next_ended(struct mf_pages *pages)
{
	return NULL;
}

const struct mf_pages_process *__wrap_mf_pages_find(const struct mf_pages *pages, pid_t pid)
{
	return recorded;
}

struct mf_pages_resident __wrap_mf_pages_resident(const struct mf_pages_process *process)
{
	return (struct mf_pages_resident){ 0 };
}

void __wrap_mf_pages_each_resident(const struct mf_pages_process *process, uint64_t start, uint64_t end,
				   mf_pages_found *found, void *data)
{
}

int __wrap_mf_touches_output_make(struct mf_touches_output *output, const struct mf_options *options,
				  const struct mf_pages_process *process, uint64_t from_ns, struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

FIXTURE(lost) {
	struct ctl_result result;
	struct mf_recording recording;
	struct mf_error err;
};

FIXTURE_SETUP(lost)
{
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(lost)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

/* Runs massif-ctl, as its main() does, in a child. Returns its exit status. */
static int run(const char *rss)
{
	char *const words[] = { (char *)ctl_path(), "record", (char *)rss, "--record=massif.rec",
				"--massif-out-file=massif.out", strdup(ctl_target("rss_shapes")), "fragments", "1500", NULL };
	char shim[PATH_MAX];
	pid_t pid;
	int status;

	/* It lies beside massif-ctl, not beside the test. */
	snprintf(shim, sizeof(shim), "%s", ctl_path());
	strcpy(strrchr(shim, '/'), "/libmassif-preload.so");
	setenv("MASSIF_PRELOAD", shim, 1);
	pid = fork();
	if (!pid) {
		if (!freopen("massif.said", "w", stdout) || !freopen("massif.err", "w", stderr))
			_exit(99);
		mf_launch_reserve_standard();
		status = mf_main_stack_run(mf_command_dispatch, 8, (char **)words);
		exit(status);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t told(const char *word)
{
	char *said = ctl_read_file("massif.said"), *at = said ? strstr(said, word) : NULL;
	uint64_t value = at ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;

	free(said);
	return value;
}

TEST_F_TIMEOUT(lost, in_the_middle_of_a_run, 60)
{
	const struct mf_residency *residency;
	const struct mf_recorded *process;
	uint64_t pinned = 0, live = 0;
	char *said;
	int status;

	status = run("--rss=yes");
	said = ctl_read_file("massif.err");
	ASSERT_EQ(0, status) TH_LOG("%s", said);
	ASSERT_NE(NULL, strstr(said, "the resident set is sampled from /proc from now on, without massif.ko: the ring has no "
				     "record where one should be\n")) TH_LOG("%s", said);
	/* Once. */
	EXPECT_EQ(NULL, strstr(strstr(said, "from now on") + 1, "from now on"));
	EXPECT_EQ(NULL, strstr(said, "after it was closed"));
	EXPECT_EQ(NULL, strstr(said, "recorded nothing"));
	free(said);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	ASSERT_EQ(1, self->recording.n_processes);
	process = self->recording.processes[0];
	EXPECT_EQ(0, process->facts.lost);
	EXPECT_EQ(NULL, process->profile.touches);
	residency = process->profile.residency;
	ASSERT_NE(NULL, residency);
	/* Samples were taken afterwards, too: those at the end have what the program counted. */
	for (size_t i = 0; i < residency->last.n_sites; i++) {
		pinned += residency->last.sites[i].pinned;
		live += residency->last.sites[i].live;
	}
	EXPECT_LE(told("\nfree "), pinned);
	EXPECT_LE(told("\nlive "), live);
	EXPECT_LE(1000, residency->last.sample.time_ms);
	CTL_RUN(&self->result, "massif-ctl", "show", "--rss", "massif.rec");
	EXPECT_NE(NULL, strstr(self->result.out, "\nSource: /proc, sampled.")) TH_LOG("%s", self->result.out);
	EXPECT_NE(NULL, strstr(self->result.out, " keep (rss_shapes.c:"));
}

TEST_F_TIMEOUT(lost, for_lack_of_memory_at_the_end, 60)
{
	const struct mf_pages_process of_all = { .state = MF_PAGES_RUNNING, .start_ns = 1 };
	const struct mf_recorded *process;
	char *said;
	int status;

	recorded = &of_all;
	most_drains = INT_MAX;
	status = run("--rss=module");
	said = ctl_read_file("massif.err");
	ASSERT_EQ(0, status) TH_LOG("%s", said);
	EXPECT_NE(NULL, strstr(said, " is recorded without the code that touched its pages first: out of memory\n"))
		TH_LOG("%s", said);
	free(said);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	ASSERT_EQ(1, self->recording.n_processes);
	process = self->recording.processes[0];
	EXPECT_EQ(NULL, process->profile.touches);
	EXPECT_NE(0, process->facts.allocations);
	ASSERT_NE(NULL, process->profile.residency);
	EXPECT_NE(0, process->profile.residency->n_samples);
	CTL_RUN(&self->result, "massif-ctl", "show", "massif.rec");
	EXPECT_NE(NULL, strstr(self->result.out, " keep (rss_shapes.c:"));
}

TEST_HARNESS_MAIN
