// SPDX-License-Identifier: GPL-2.0
// Programs compiled with a sanitizer. The sanitizer's run-time library defines functions with the names of most of the
// C library's, has its own allocator, and may have to be the first library. The programs behave as they do without
// massif, and their profile is that of the same program without the sanitizer.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define OUT "massif.out.sanitizers"

FIXTURE(sanitizers) {
	struct ctl_result alone, profiled;
};

FIXTURE_VARIANT(sanitizers) {
	const char *name;
	bool finds_errors; /* true if the sanitizer finds memory errors and then ends the program */
};

#define VARIANT(id, program, finds)                      \
	FIXTURE_VARIANT_ADD(sanitizers, id) {            \
		.name = program, .finds_errors = finds, \
	}

VARIANT(gcc_address, "sanitizers-gcc-address", true);
VARIANT(gcc_address_static, "sanitizers-gcc-address-static", true);
VARIANT(gcc_thread, "sanitizers-gcc-thread", false);
VARIANT(gcc_undefined, "sanitizers-gcc-undefined", false);
VARIANT(gcc_leak, "sanitizers-gcc-leak", false);
VARIANT(clang_address, "sanitizers-clang-address", true);
VARIANT(clang_address_shared, "sanitizers-clang-address-shared", true);
VARIANT(clang_thread, "sanitizers-clang-thread", false);
VARIANT(clang_leak, "sanitizers-clang-leak", false);

FIXTURE_SETUP(sanitizers)
{
}

FIXTURE_TEARDOWN(sanitizers)
{
	ctl_result_free(&self->alone);
	ctl_result_free(&self->profiled);
	ctl_remove_files("massif.out");
}

/* Returns the highest total of the profile in the file OUT. */
static unsigned long peak(void)
{
	char *text = ctl_read_file(OUT);
	unsigned long highest = 0, bytes;

	for (char *at = text; at && (at = strstr(at, "mem_heap_B=")); at++) {
		bytes = strtoul(at + strlen("mem_heap_B="), NULL, 10);
		if (bytes > highest)
			highest = bytes;
	}
	free(text);
	return highest;
}

static void run(FIXTURE_DATA(sanitizers) *self, const char *name, const char *what)
{
	const char *program = ctl_target(name);

	ctl_result_free(&self->alone);
	ctl_result_free(&self->profiled);
	CTL_RUN(&self->alone, program, what);
	CTL_RUN(&self->profiled, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=" OUT, program, what);
}

TEST_F_TIMEOUT(sanitizers, profiled_as_without, 120)
{
	unsigned long with, without;

	if (strstr(variant->name, "clang") && access(ctl_target(variant->name), X_OK))
		SKIP(return, "clang++ is not installed");
	run(self, variant->name, "fine");
	EXPECT_EQ(0, ctl_exit_code(&self->alone));
	EXPECT_EQ(self->alone.status, self->profiled.status);
	EXPECT_STREQ(self->alone.out, self->profiled.out);
	EXPECT_STREQ(self->alone.err, self->profiled.err);
	with = peak();
	ctl_remove_files("massif.out");
	run(self, "sanitizers", "fine");
	without = peak();
	/*
	 * The highest totals with and without the sanitizer are equal, except for what its library allocates at the
	 * start.
	 */
	EXPECT_LT(10000000, without);
	EXPECT_LE(without - without / 100, with) {
		TH_LOG("%lu bytes, %lu without a sanitizer", with, without);
	}
	EXPECT_GE(without + without / 100, with);
}

/*
 * If the shim called MemorySanitizer's functions, reports of uninitialised memory would include reports about the
 * shim.
 */
TEST(memory_sanitizer)
{
	unsigned long with, without;
	struct ctl_result result;

	if (access(ctl_target("sanitizers-memory"), X_OK))
		SKIP(return, "clang is not installed");
	CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=" OUT,
		ctl_target("sanitizers-memory"));
	EXPECT_EQ(0, result.status);
	EXPECT_STREQ("", result.err);
	ctl_result_free(&result);
	with = peak();
	EXPECT_LT(0, with);
	ctl_remove_files("massif.out");
	CTL_RUN(&result, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=" OUT, ctl_target("heap_example"));
	without = peak();
	EXPECT_EQ(without, with);
	ctl_result_free(&result);
	ctl_remove_files("massif.out");
}

/* Returns the summary line of a report, which gives the kind of error and its location. */
static const char *summary(const char *text)
{
	const char *at = strstr(text, "SUMMARY: ");

	return at ? at : "no summary";
}

TEST_F_TIMEOUT(sanitizers, errors_are_found, 120)
{
	/*
	 * The first @same characters of the sanitizer's summary line must be the same with and without massif. They do
	 * not include the size of leaks: the sanitizer considers a leaked block to be in use if a stale word on the
	 * stack points to it, and the shim's calls leave different stale words on the stack.
	 */
	static const struct {
		const char *what;
		size_t same;
	} errors[] = { { "freed", 60 }, { "beyond", 60 }, { "mismatch", 60 }, { "leak", 27 } };

	if (strstr(variant->name, "clang") && access(ctl_target(variant->name), X_OK))
		SKIP(return, "clang++ is not installed");
	if (!variant->finds_errors)
		SKIP(return, "it finds errors of another kind");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		run(self, variant->name, errors[i].what);
		EXPECT_NE(0, ctl_exit_code(&self->alone));
		EXPECT_NE(NULL, strstr(self->alone.err, "SUMMARY: "));
		EXPECT_EQ(self->alone.status, self->profiled.status);
		EXPECT_EQ(0, strncmp(summary(self->alone.err), summary(self->profiled.err),
				     errors[i].same)) {
			TH_LOG("%s: %s %s", errors[i].what, summary(self->alone.err), summary(self->profiled.err));
		}
	}
}

/*
 * With a library that fakes the time, the program sees the same fake time as without massif, while the profile uses the
 * real time.
 */
TEST(a_made_up_time)
{
	struct ctl_result alone, profiled;

	if (access("/usr/bin/faketime", X_OK))
		SKIP(return, "faketime is not installed");
	CTL_RUN(&alone, "faketime", "2001-02-03 04:05:06", "date", "+%Y-%m-%d");
	CTL_RUN(&profiled, "massif-ctl", "-q", "--trace-children=yes", "--time-unit=ms",
		"--massif-out-file=/dev/null", "faketime", "2001-02-03 04:05:06", "date", "+%Y-%m-%d");
	EXPECT_STREQ("2001-02-03\n", alone.out);
	EXPECT_STREQ(alone.out, profiled.out);
	EXPECT_EQ(0, profiled.status);
	EXPECT_EQ(NULL, strstr(profiled.err, "incomplete"));
	ctl_result_free(&alone);
	ctl_result_free(&profiled);
}

TEST_HARNESS_MAIN
