// SPDX-License-Identifier: GPL-2.0
// The time unit of a run, and the messages about it, on machines with and without an instruction counter. One of the
// test's processes answers perf_event_open() calls in place of the kernel.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/counter_broker.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define ADVICE	  "massif-ctl: Use --help for more information or consult the user manual.\n"
#define OUT	  "clock.out"
#define INSTEAD	  "; use --time-unit=ms or --time-unit=B\n"
#define NONE_HERE "this machine has no hardware instruction counter (perf_event_open: "
#define FORBIDDEN                                                                              \
	"no permission to use the hardware instruction counter, see "                      \
	"/proc/sys/kernel/perf_event_paranoid (perf_event_open: "

FIXTURE(clock) {
	struct counter_broker *broker;
	struct ctl_result result;
	char *text;
};

FIXTURE_SETUP(clock)
{
	const char *obstacle = counter_broker_obstacle(COUNTER_OF_PAGE);

	if (obstacle)
		SKIP_SETUP("%s", obstacle);
	unsetenv("MASSIF_OPTS");
	setenv("HOME", "/nonexistent", 1);
	ctl_remove_files(OUT);
	self->broker = counter_broker();
	self->broker->kind = COUNTER_OF_PAGE;
}

FIXTURE_TEARDOWN(clock)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files(OUT);
}

/* Runs massif-ctl. @words contains its options, a NULL, and then the program; the name of the output file is added. */
static void run(FIXTURE_DATA(clock) *self, const char *const *words)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files(OUT);
	self->broker->asked = self->broker->ready = 0;
	ctl_run(&self->result, NULL, counter_broker_begin, words);
	self->text = ctl_read_file(OUT);
}

#define RUN(self, ...)                                                                            \
	run(self, (const char *const[]){ "massif-ctl", "--massif-out-file=" OUT, __VA_ARGS__, NULL })

static const struct {
	int error;
	const char *reason; /* beginning of massif-ctl's message, which continues with strerror() and ")" */
} refusals[] = {
	{ ENOENT, NONE_HERE },
	{ ENODEV, NONE_HERE },
	{ EOPNOTSUPP, NONE_HERE },
	{ EACCES, FORBIDDEN },
	{ EPERM, FORBIDDEN },
	{ ENOSYS, "no instruction counter is available (perf_event_open: " },
	{ EMFILE, "no instruction counter is available (perf_event_open: " },
};

#define REFUSALS (sizeof(refusals) / sizeof(*refusals))

TEST_F(clock, of_instructions_is_refused_with_the_reason)
{
	char text[512];

	for (size_t i = 0; i < REFUSALS; i++) {
		self->broker->error = refusals[i].error;
		RUN(self, "--time-unit=i", "echo", "started");
		snprintf(text, sizeof(text),
			 "massif-ctl: Bad option: --time-unit=i\nmassif-ctl: %s%s)" INSTEAD ADVICE,
			 refusals[i].reason, strerror(refusals[i].error));
		EXPECT_STREQ(text, self->result.err);
		EXPECT_STREQ("", self->result.out);
		EXPECT_EQ(1, ctl_exit_code(&self->result));
		EXPECT_EQ(NULL, self->text);
		EXPECT_EQ(1, self->broker->asked);
	}
	EXPECT_EQ(0, self->broker->asked_else);
}

/* Without --time-unit the program runs, and -v explains why the unit is not instructions. */
TEST_F(clock, is_of_milliseconds_where_there_is_no_counter)
{
	char text[512];

	for (size_t i = 0; i < REFUSALS; i++) {
		self->broker->error = refusals[i].error;
		RUN(self, "-v", "sh", "-c", "exit 3");
		snprintf(text, sizeof(text), "massif-ctl: time is in ms, not in instructions: %s%s)\n",
			 refusals[i].reason, strerror(refusals[i].error));
		EXPECT_NE(NULL, strstr(self->result.err, text));
		EXPECT_EQ(3, ctl_exit_code(&self->result));
		ASSERT_NE(NULL, self->text);
		EXPECT_EQ(self->text, strstr(self->text, "desc: --massif-out-file=" OUT "\n"));
		EXPECT_NE(NULL, strstr(self->text, "\ntime_unit: ms\n"));
	}
}

/* Time units other than instructions need no counter, so massif-ctl prints no message about a missing counter. */
TEST_F(clock, of_another_kind_asks_for_none)
{
	self->broker->error = ENOENT;
	RUN(self, "-q", "--time-unit=B", "true");
	EXPECT_STREQ("", self->result.err);
	EXPECT_NE(NULL, strstr(self->text, "\ntime_unit: B\n"));
	EXPECT_EQ(0, self->broker->asked);
	RUN(self, "-q", "--time-unit=ms", "true");
	EXPECT_STREQ("", self->result.err);
	EXPECT_NE(NULL, strstr(self->text, "\ntime_unit: ms\n"));
	EXPECT_EQ(0, self->broker->asked);
	/* If there are several --time-unit options, the last one counts. */
	RUN(self, "-q", "--time-unit=i", "--time-unit=B", "true");
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(0, self->broker->asked);
}

TEST_F(clock, is_of_instructions_where_there_is_a_counter)
{
	RUN(self, "true");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(NULL, strstr(self->result.err, "time"));
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(self->text, strstr(self->text, "desc: --massif-out-file=" OUT "\n"
						 "cmd: true\ntime_unit: i\n"));
	RUN(self, "--time-unit=ms", "--time-unit=i", "true");
	EXPECT_EQ(NULL, strstr(self->result.err, "time"));
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(self->text,
		  strstr(self->text, "desc: --massif-out-file=" OUT " --time-unit=ms "
				     "--time-unit=i\ncmd: true\ntime_unit: i\n"));
	EXPECT_EQ(0, self->broker->asked_else);
}

/* The kernel module does not count instructions, even on a machine that has a counter. */
TEST_F(clock, of_instructions_is_refused_to_pages)
{
	RUN(self, "--pages-as-heap=yes", "--time-unit=i", "echo", "started");
	EXPECT_STREQ("massif-ctl: Bad option: --time-unit=i\nmassif-ctl: pages mode does not count "
		     "instructions" INSTEAD ADVICE,
		     self->result.err);
	EXPECT_STREQ("", self->result.out);
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_EQ(0, self->broker->asked);
}

TEST_F(clock, is_told_of_by_the_doctor)
{
	ctl_run(&self->result, NULL, counter_broker_begin,
		(const char *const[]){ "massif-ctl", "doctor", "--mode=heap", NULL });
	EXPECT_NE(NULL, strstr(self->result.out, "--time-unit=i is available"));
	ctl_result_free(&self->result);
	self->broker->error = EACCES;
	ctl_run(&self->result, NULL, counter_broker_begin,
		(const char *const[]){ "massif-ctl", "doctor", "--mode=heap", NULL });
	EXPECT_EQ(NULL, strstr(self->result.out, "--time-unit=i is available"));
	EXPECT_NE(NULL, strstr(self->result.out, "/proc/sys/kernel/perf_event_paranoid"));
}

TEST_HARNESS_MAIN
