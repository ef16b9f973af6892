// SPDX-License-Identifier: GPL-2.0
// Tests --rss with massif.ko: heap mode and the module report to one session, and the report names the code that touched the
// pages first, with exact bytes.

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define SECONDS 120
#define NOBODY	65534u
#define MIB	(1ull << 20)
#define BLOCKS	(64 * 20 * 4096ull)

FIXTURE(touched) {
	struct ctl_result result;
	struct mf_recording recording;
	struct mf_error err;
	unsigned int idle_ms; /* how long the program rests before a sample is requested */
	bool late; /* massif-ctl is stopped while the program runs */
	int exit_code; /* of the program */
};

FIXTURE_SETUP(touched)
{
	ctl_remove_files("massif.");
	unsetenv("MASSIF_RING_KIB");
}

FIXTURE_TEARDOWN(touched)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

/* Returns the bytes of @band that @function touched first; it is the innermost function of their stacks. */
static uint64_t touched_by(const struct mf_recorded *process, const struct mf_residency_detail *detail, enum mf_band band,
			   const char *function)
{
	const struct mf_first_touches *touches = process->profile.touches;
	uint64_t sum = 0;

	for (size_t i = 0; touches && i < detail->n_touches; i++) {
		struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
		const struct mf_location *locations;

		if (detail->touches[i].band != band ||
		    !touches->profile->read_context(touches->profile->source, detail->touches[i].context, frames))
			continue;
		mf_symbolizer_resolve(touches->symbolizer, frames[0], &locations);
		if (locations[0].function && !strcmp(locations[0].function, function))
			sum += detail->touches[i].bytes;
	}
	return sum;
}

/* Returns the sample that was taken on request, or NULL. */
static const struct mf_residency_detail *requested(const struct mf_residency *residency)
{
	for (size_t i = 0; residency && i < residency->n_moments; i++)
		if (residency->moments[i].sample.reasons & MF_SAMPLE_REQUEST)
			return &residency->moments[i];
	return NULL;
}

/*
 * Compares the recording of a process that ran the program rss_touched with the sizes that the program touches. @mapped is the
 * number of bytes of the program's mapping that were resident at the sample on request.
 */
static void check(struct __test_metadata *_metadata, const struct mf_recorded *process, uint64_t mapped)
{
	const struct mf_residency_detail *detail = requested(process->profile.residency);
	const struct mf_first_touches *touches = process->profile.touches;
	uint64_t sum = 0;

	ASSERT_NE(NULL, detail);
	ASSERT_NE(NULL, touches);
	EXPECT_EQ(0, touches->lost);
	EXPECT_EQ(mapped, touched_by(process, detail, MF_BAND_ANONYMOUS, "touch_mapping"));
	EXPECT_EQ(16 * MIB, touched_by(process, detail, MF_BAND_ANONYMOUS, "touch_array"));
	EXPECT_EQ(4 * MIB, touched_by(process, detail, MF_BAND_FILES, "touch_file"));
	EXPECT_EQ(BLOCKS, detail->sample.bands[MF_BAND_LIVE]);
	/* The program rests, and has one thread: both counts are of the same pages. */
	EXPECT_EQ(mf_residency_rss(&detail->sample), detail->counted);
	for (size_t i = 0; i < detail->n_touches; i++)
		sum += detail->touches[i].bytes;
	EXPECT_EQ(detail->counted, sum);
	/* The module misses no peak: that before the mapping was given back. The program has touched little since. */
	EXPECT_LE(detail->counted + 64 * MIB - mapped, touches->peak + 2 * MIB);
	EXPECT_GE(detail->counted + 64 * MIB - mapped + 16 * 4096, touches->peak);
	EXPECT_LE(process->profile.residency->peak.counted, touches->peak);
}

static void write_to_file(void)
{
	if (!freopen("massif.said", "w", stdout))
		_exit(1);
}

/* Returns the pid that the @n-th process (from 0) prints when it has touched all, or 0. */
static int await_ready(size_t n)
{
	for (int i = 0; i < SECONDS * 10; i++) {
		char *said = ctl_read_file("massif.said"), *at = said;
		int pid = 0;

		for (size_t k = 0; at && k <= n; k++)
			at = strstr(at + (k > 0), "ready ");
		if (at && strchr(at, '\n'))
			pid = atoi(at + strlen("ready "));
		free(said);
		if (pid)
			return pid;
		usleep(100000);
	}
	return 0;
}

/* Waits until the program has begun, and made the file @name. */
static bool await_file(const char *name)
{
	for (int i = 0; i < SECONDS * 1000 && access(name, F_OK); i++)
		usleep(1000);
	return !access(name, F_OK);
}

/* Runs @argv, of which @n processes run rss_touched one after the other, and requests a sample of each. Reads the recording. */
static void record(struct __test_metadata *_metadata, FIXTURE_DATA(touched) *self, size_t n, const char *const *argv)
{
	char word[64];
	int status;
	pid_t pid;

	unlink("massif.said"); /* of an earlier run */
	pid = ctl_start(write_to_file, argv);
	if (self->late) {
		ASSERT_TRUE(await_file("massif.file"));
		kill(pid, SIGSTOP);
		ASSERT_NE(0, await_ready(0));
		kill(pid, SIGCONT);
	}
	for (size_t i = 0; i < n; i++) {
		int ready = await_ready(i);

		ASSERT_NE(0, ready);
		usleep(self->idle_ms * 1000);
		snprintf(word, sizeof(word), "--pid=%d", ready);
		ASSERT_EQ(0, RUN("massif-ctl", "snapshot", word)) TH_LOG("%s", self->result.err);
		snprintf(word, sizeof(word), "massif.file.%d", ready);
		ctl_write_file(word, "", 0600);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(self->exit_code << 8, status);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
}

#define RECORD(n, ...) record(_metadata, self, n, (const char *const[]){ "massif-ctl", "record", "-q", "--record=massif.rec", \
									  __VA_ARGS__, NULL })

TEST_F_TIMEOUT(touched, by_the_functions_of_the_program, SECONDS)
{
	RECORD(1, "--rss=yes", ctl_target("rss_touched"), "massif.file");
	ASSERT_EQ(1, self->recording.n_processes);
	check(_metadata, self->recording.processes[0], 64 * MIB);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--at=peak", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "Source: massif.ko and /proc. massif.ko counted at most "));
	EXPECT_NE(NULL, strstr(self->result.out, "  64.00 MB   64.00 MB  79."));
	EXPECT_NE(NULL, strstr(self->result.out, "%  touch_mapping (rss_touched.c:"));
	EXPECT_NE(NULL, strstr(self->result.out, "  16.00 MB   16.00 MB  19."));
	EXPECT_NE(NULL, strstr(self->result.out, "%  touch_array (rss_touched.c:"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--tree", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "  touch_array (rss_touched.c:"));
	EXPECT_NE(NULL, strstr(strstr(self->result.out, "  touch_array (rss_touched.c:") ?: "", "\n  16.00 MB  19.9"));
	ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\"source\":\"module\""));
	EXPECT_NE(NULL, strstr(strstr(self->result.out, "\"at_peak\"") ?: "", "\n[\"anonymous\","));
	EXPECT_NE(NULL, strstr(strstr(self->result.out, "\"at_peak\"") ?: "", ",67108864]"));
}

/* The names of a stripped program are found later, also of the code that touched its pages. */
TEST_F_TIMEOUT(touched, by_functions_that_are_named_later, SECONDS)
{
	char script[2048];

	snprintf(script, sizeof(script),
		 "set -e; full=%s; id=$(readelf -n $full | sed -n 's/.*Build ID: //p'); rm -rf names; "
		 "mkdir -p names/.build-id/${id%%${id#??}}; objcopy -S $full massif.program; "
		 "objcopy --only-keep-debug $full names/.build-id/${id%%${id#??}}/${id#??}.debug", ctl_target("rss_touched"));
	ASSERT_EQ(0, system(script));
	RECORD(1, "--rss=module", "./massif.program", "massif.file");
	EXPECT_EQ(0, touched_by(self->recording.processes[0], requested(self->recording.processes[0]->profile.residency),
				MF_BAND_ANONYMOUS, "touch_array"));
	mf_recording_release(&self->recording);
	ASSERT_EQ(0, RUN("massif-ctl", "symbolize", "--debug-dir=names", "massif.rec")) TH_LOG("%s", self->result.err);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	check(_metadata, self->recording.processes[0], 64 * MIB);
	EXPECT_EQ(0, system("rm -r names"));
}

/* Returns the largest resident set of the samples that were not asked for. */
static uint64_t most_sampled(const struct mf_residency *residency)
{
	uint64_t most = 0;

	for (size_t i = 0; residency && i < residency->n_samples; i++)
		if (residency->samples[i].reasons == MF_SAMPLE_PERIODIC && mf_residency_rss(&residency->samples[i]) > most)
			most = mf_residency_rss(&residency->samples[i]);
	return most;
}

/*
 * A larger resident set is sampled soon, although samples take long here, and then have to wait. On a busy machine, none may
 * be taken while the program rests, or only one while it still touches pages: then it rests for longer.
 */
TEST_F_TIMEOUT(touched, soon_after_they_were, SECONDS)
{
	uint64_t most, peak;

	self->idle_ms = 3000;
	do {
		mf_recording_release(&self->recording);
		RECORD(1, "--rss=module", ctl_target("rss_touched"), "massif.file");
		most = most_sampled(self->recording.processes[0]->profile.residency);
		peak = self->recording.processes[0]->profile.touches->peak;
		self->idle_ms *= 2;
	} while (peak > most + most / 4 + 4 * MIB && self->idle_ms <= 24000);
	EXPECT_LE(peak, most + most / 4 + 4 * MIB);
}

/* A resident set that is there for a moment only. */
TEST_F_TIMEOUT(touched, at_a_peak_between_samples, SECONDS)
{
	RECORD(1, "--rss=module", ctl_target("rss_touched"), "massif.file", "briefly");
	check(_metadata, self->recording.processes[0], 0);
}

/* If massif-ctl falls behind, it says so, and the heap is counted all the same. */
TEST_F_TIMEOUT(touched, although_records_are_lost, SECONDS)
{
	const struct mf_recorded *process;

	setenv("MASSIF_RING_KIB", "256", 1);
	self->late = true;
	RECORD(1, "--rss=yes", ctl_target("rss_touched"), "massif.file");
	process = self->recording.processes[0];
	ASSERT_NE(NULL, process->profile.touches);
	EXPECT_LT(0, process->profile.touches->lost);
	ASSERT_NE(NULL, requested(&process->residency));
	EXPECT_EQ(BLOCKS, requested(&process->residency)->sample.bands[MF_BAND_LIVE]);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\nmassif.ko lost "));
}

/* A process can have one session only: heap mode does without. The recording of the outer massif-ctl is complete. */
TEST_F_TIMEOUT(touched, unless_the_module_refuses_the_process, SECONDS)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--pages=resident", "--trace-children=yes", "--record=massif.outer",
			 ctl_path(), "record", "-q", "--rss=yes", "--record=massif.rec", "sleep", "1"))
	TH_LOG("%s", self->result.err);
	EXPECT_NE(NULL, strstr(self->result.err, "its resident set was sampled from /proc: massif.ko recorded nothing of it"));
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\nSource: /proc, sampled."));
	EXPECT_EQ(1, RUN("massif-ctl", "-q", "--pages=resident", "--trace-children=yes", ctl_path(), "record", "-q",
			 "--rss=module", "--record=massif.rec", "sleep", "1"));
	EXPECT_NE(NULL, strstr(self->result.err, "already being profiled by another massif-ctl"));
}

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(126);
}

/* A user who may not use the module gets samples of /proc, without a word on standard error. */
TEST_F_TIMEOUT(touched, unless_the_user_may_not_use_the_module, SECONDS)
{
	CTL_NEEDS_USER(NOBODY);
	ctl_run(&self->result, NULL, become_nobody, (const char *const[]){ "massif-ctl", "record", "-q", "--rss=yes",
		"--record=/tmp/massif.rec.nobody", "--massif-out-file=/tmp/massif.out.nobody", "sleep", "1", NULL });
	ASSERT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
	EXPECT_STREQ("", self->result.err);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "/tmp/massif.rec.nobody"));
	EXPECT_NE(NULL, strstr(self->result.out, "\nSource: /proc, sampled."));
	ctl_result_free(&self->result);
	ctl_run(&self->result, NULL, become_nobody, (const char *const[]){ "massif-ctl", "record", "-q", "--rss=module",
		"--record=/tmp/massif.rec.module", "--massif-out-file=/tmp/massif.out.nobody", "true", NULL });
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "--rss=module: ")) TH_LOG("%s", self->result.err);
}

/* Without the module, the report says so. */
TEST_F_TIMEOUT(touched, unless_only_proc_is_wanted, SECONDS)
{
	RECORD(1, "--rss=sampled", ctl_target("rss_touched"), "massif.file");
	EXPECT_EQ(NULL, self->recording.processes[0]->profile.touches);
	ASSERT_NE(NULL, requested(self->recording.processes[0]->profile.residency));
	EXPECT_EQ(0, requested(self->recording.processes[0]->profile.residency)->counted);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "\nSource: /proc, sampled."));
}

/* Each process has its own accounting, also after exec. */
TEST_F_TIMEOUT(touched, in_each_process, SECONDS)
{
	size_t n = 0;

	RECORD(2, "--rss=module", "--trace-children=yes", "sh", "-c", "$0 massif.file && $0 massif.file; true",
	       ctl_target("rss_touched"));
	ASSERT_EQ(3, self->recording.n_processes);
	for (size_t i = 0; i < 3; i++) {
		const struct mf_recorded *process = self->recording.processes[i];

		if (strncmp(process->facts.cmd, "sh ", 3) != 0) {
			check(_metadata, process, 64 * MIB);
			n++;
		} else {
			ASSERT_NE(NULL, process->profile.touches);
			EXPECT_EQ(0, touched_by(process, &process->profile.residency->last, MF_BAND_ANONYMOUS,
						"touch_mapping"));
		}
	}
	EXPECT_EQ(2, n);
}

/*
 * The process executes a program that heap mode cannot profile, but that the module records. Its stacks are not taken for those
 * of the profiled program.
 */
TEST_F_TIMEOUT(touched, before_another_program, SECONDS)
{
	char program[4096];

	snprintf(program, sizeof(program), "%s", ctl_target("rss_touched"));
	self->exit_code = 9;
	RECORD(1, "--rss=module", "--trace-children=yes", program, "massif.file", "then", ctl_target("ctl_static"));
	ASSERT_EQ(1, self->recording.n_processes);
	EXPECT_EQ(NULL, self->recording.processes[0]->profile.touches);
	ASSERT_NE(NULL, requested(self->recording.processes[0]->profile.residency));
}

/* After an attach to a running process, the report names the code that touches pages from then on. */
TEST_F_TIMEOUT(touched, after_an_attach, SECONDS)
{
	const char *const argv[] = { ctl_target("rss_touched"), "massif.file", "late", NULL };
	pid_t program = ctl_start(write_to_file, argv);
	char number[16], word[64];
	int status, tries = 0;
	pid_t pid;

	ASSERT_EQ(program, await_ready(0));
	snprintf(number, sizeof(number), "%d", (int)program);
	pid = ctl_start(NULL, (const char *const[]){ "massif-ctl", "attach", "--heap", "-q", "--rss=module",
						     "--record=massif.rec", number, NULL });
	while (RUN("massif-ctl", "list") || !strstr(self->result.out, number)) {
		ASSERT_GT(100, tries++);
		usleep(100000);
	}
	snprintf(word, sizeof(word), "massif.file.begin.%s", number);
	ctl_write_file(word, "", 0600);
	ASSERT_EQ(program, await_ready(1));
	snprintf(word, sizeof(word), "--pid=%s", number);
	ASSERT_EQ(0, RUN("massif-ctl", "snapshot", word)) TH_LOG("%s", self->result.err);
	snprintf(word, sizeof(word), "massif.file.%s", number);
	ctl_write_file(word, "", 0600);
	ASSERT_EQ(program, waitpid(program, &status, 0));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	check(_metadata, self->recording.processes[0], 64 * MIB);
}

/* massif-ctl goes on in the background, in another process, and reads the module's records there. */
TEST_F_TIMEOUT(touched, in_a_process_that_outlives_the_program, SECONDS)
{
	char word[64];
	pid_t pid = ctl_start(write_to_file, (const char *const[]){ "massif-ctl", "record", "-q", "--record=massif.rec",
		"--rss=module", "--trace-children=yes", "sh", "-c", "$0 massif.file &", ctl_target("rss_touched"), NULL });
	int status, ready;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	ready = await_ready(0);
	ASSERT_NE(0, ready);
	snprintf(word, sizeof(word), "--pid=%d", ready);
	ASSERT_EQ(0, RUN("massif-ctl", "snapshot", word)) TH_LOG("%s", self->result.err);
	snprintf(word, sizeof(word), "massif.file.%d", ready);
	ctl_write_file(word, "", 0600);
	for (int i = 0; i < SECONDS * 10 && self->recording.n_processes < 2; i++) {
		usleep(100000);
		mf_recording_release(&self->recording);
		ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	}
	ASSERT_EQ(2, self->recording.n_processes);
	check(_metadata, self->recording.processes[1], 64 * MIB);
}

/*
 * massif-ctl has a higher priority while it reads the module's records, because the program copies stacks until it has. Neither
 * the program inherits it, nor what massif-ctl does besides. The program prints its own nice value, that of massif-ctl as soon
 * as it differs, and as soon as it does not.
 */
TEST_F_TIMEOUT(touched, are_read_at_a_higher_priority, SECONDS)
{
	int nice = getpriority(PRIO_PROCESS, 0);
	char wanted[48];

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--rss=module", "--record=massif.rec", "perl", "-e",
		"sub its { open(my $file, '<', \"/proc/$_[0]/stat\"); return (split(' ', <$file>))[18]; }"
		"my ($own, $it) = (its($$), its(getppid()));"
		"for (my $i = 0; $i < 100000 && $it == $own; $i++) { $it = its(getppid()); my $touched = 'x' x 1e6; }"
		"my $after = $it;"
		"for (my $i = 0; $i < 100000 && $after != $own; $i++) { $after = its(getppid()); }"
		"print \"$own $it $after\\n\";"));
	snprintf(wanted, sizeof(wanted), "%d %d %d\n", nice, nice - 5, nice);
	EXPECT_STREQ(wanted, self->result.out);
}

TEST_HARNESS_MAIN
