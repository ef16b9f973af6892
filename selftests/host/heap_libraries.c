// SPDX-License-Identifier: GPL-2.0
// However many libraries are loaded, whether at the same time or one after another, all bytes are attributed to the
// right functions.

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(libraries) {
	struct ctl_result result;
	char *text;
	char directory[4096];
};

FIXTURE_SETUP(libraries)
{
	snprintf(self->directory, sizeof(self->directory), "%s", ctl_target(""));
}

FIXTURE_TEARDOWN(libraries)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	free(self->text);
}

/* Runs @target and returns its peak, or NULL if the run failed or the file is invalid. @before: see ctl_run(). */
static const char *profile(struct _test_data_libraries *self, void (*before)(void), const char *target,
			   const char *const *arguments)
{
	const char *argv[16] = {
		"massif-ctl", "-q", "--time-unit=B", "--threshold=0", "--peak-inaccuracy=0",
		"--massif-out-file=massif.out.libraries", target,
	};

	for (int i = 0; arguments[i]; i++)
		argv[7 + i] = arguments[i];
	ctl_run(&self->result, NULL, before, argv);
	free(self->text);
	self->text = ctl_read_file("massif.out.libraries");
	if (ctl_exit_code(&self->result) || self->result.err[0] || !self->text)
		return NULL;
	return strstr(self->text, "heap_tree=peak");
}

/* Returns the sum of the bytes on the lines of @text for function @name; *@lines is the number of these lines. */
static unsigned long bytes_of(const char *text, const char *name, unsigned int *lines)
{
	unsigned long bytes = 0;
	char label[64];

	snprintf(label, sizeof(label), ": %s (", name);
	*lines = 0;
	for (const char *at = text; (at = strstr(at, label)); at++) {
		const char *line = at;

		while (*line != '\n')
			line--;
		bytes += strtoul(strchr(line, ':') + 1, NULL, 10);
		++*lines;
	}
	return bytes;
}

/*
 * There is no limit to how often a library is loaded. Formerly, at most 16,384 objects were known, and a library that was
 * loaded again counted again. Ten times as often takes minutes, most of them in the dynamic linker.
 */
TEST_F_TIMEOUT(libraries, one_after_another, 600)
{
	static const char *const times[] = { "1", "16384", "16385" };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const char *peak = profile(self, NULL, ctl_target("heap_reload"),
					   (const char *const[]){ times[i], self->directory, "libheap_plugin_a.so",
								  "libheap_plugin_b.so", NULL });
		unsigned int lines;

		ASSERT_NE(NULL, peak) {
			TH_LOG("%s: %s", times[i], self->result.err);
		}
		EXPECT_EQ(100 * strtoul(times[i], NULL, 10), bytes_of(peak, "allocate_in_a", &lines));
		EXPECT_EQ(1, lines);
		EXPECT_EQ(600000, bytes_of(peak, "allocate_in_b", &lines));
		EXPECT_EQ(1, lines);
		EXPECT_EQ(NULL, strstr(peak, "???"));
	}
}

static void limit_address_space(void)
{
	const struct rlimit limit = { 1u << 30, 1u << 30 };

	setrlimit(RLIMIT_AS, &limit);
}

/*
 * A library that is loaded again at the same address gets the same object number. So even the smallest table of
 * objects, which is what a session with little memory has, does not fill up.
 */
TEST_F(libraries, the_same_again)
{
	const char *peak = profile(self, limit_address_space, ctl_target("heap_reload"),
				   (const char *const[]){ "once", self->directory, "libheap_plugin_a.so",
							  "libheap_plugin_b.so", NULL });
	unsigned int lines;

	ASSERT_NE(NULL, peak);
	EXPECT_EQ(500000, bytes_of(peak, "allocate_in_a", &lines));
	EXPECT_EQ(600000, bytes_of(peak, "allocate_in_b", &lines));
	EXPECT_EQ(NULL, strstr(peak, "???"));
}

/*
 * The code of each library is searched for client requests. massif keeps unwind rules for up to 256 libraries. It also
 * remembers up to 512 libraries that contain requests, and recognises them when they are loaded again. Beyond these
 * limits, the profile must still be correct.
 */
TEST_F_TIMEOUT(libraries, at_once, 600)
{
	static const char *const times[] = { "256", "257", "512", "513", "5120" };
	char library[4200];

	snprintf(library, sizeof(library), "%slibheap_requests.so", self->directory);

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const char *peak = profile(self, NULL, ctl_target("heap_load_many"),
					   (const char *const[]){ library, times[i], NULL });
		unsigned int lines;

		ASSERT_NE(NULL, peak) {
			TH_LOG("%s: %s", times[i], self->result.err);
		}
		EXPECT_EQ(1000 * strtoul(times[i], NULL, 10), bytes_of(peak, "heap_requests_make", &lines));
		EXPECT_EQ(strtoul(times[i], NULL, 10), lines);
		ctl_remove_files("massif.out");
	}
}

/* Returns how many lines of @text name the function @name and are directly followed by one for @caller. */
static unsigned long lines_below(const char *text, const char *name, const char *caller)
{
	unsigned long lines = 0;

	for (const char *at = text; (at = strstr(at, name)); at++) {
		const char *end = strchr(at, '\n'), *below = end ? strstr(end, caller) : NULL;

		lines += below && below < strchr(end + 1, '\n');
	}
	return lines;
}

/*
 * If a library has no index of its unwind rules, its file is searched; there used to be a limit of 64 such
 * libraries.
 */
TEST_F_TIMEOUT(libraries, without_an_index, 600)
{
	static const char *const times[] = { "64", "65", "640" };
	char library[4200];

	snprintf(library, sizeof(library), "%slibheap_no_index.so", self->directory);

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const char *peak = profile(self, NULL, ctl_target("heap_load_many"),
					   (const char *const[]){ library, times[i], NULL });

		ASSERT_NE(NULL, peak) {
			TH_LOG("%s: %s", times[i], self->result.err);
		}
		EXPECT_EQ(strtoul(times[i], NULL, 10), lines_below(peak, ": heap_requests_make (", ": main ("));
		ctl_remove_files("massif.out");
	}
}

TEST_HARNESS_MAIN
