// SPDX-License-Identifier: GPL-2.0
// Situations in which a shim could do harm: small stacks, libraries that come and go, a small address space.

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/massif_text.h"

FIXTURE(hazards) {
	struct ctl_result result;
	char *text;
	char paths[3][4096];
};

FIXTURE_SETUP(hazards)
{
	static const char *const names[] = { "heap_dlclose", "libheap_plugin_a.so",
					     "libheap_plugin_b.so" };

	for (int i = 0; i < 3; i++)
		snprintf(self->paths[i], sizeof(self->paths[i]), "%s", ctl_target(names[i]));
}

FIXTURE_TEARDOWN(hazards)
{
	ctl_remove_files("massif.out");
	ctl_result_free(&self->result);
	free(self->text);
}

#define RUN(self, before, ...)                                                                   \
	ctl_run(&(self)->result, NULL, before,                                                   \
		(const char *const[]){ "massif-ctl", "-q", "--time-unit=B", "--threshold=0",      \
				       "--massif-out-file=massif.out.hazards", __VA_ARGS__, NULL })

static int number_of_profiles(void)
{
	int number = 0;
	glob_t found;

	if (!glob("massif.out.*", 0, NULL, &found)) {
		number = (int)found.gl_pathc;
		globfree(&found);
	}
	return number;
}

TEST_F(hazards, smallest_stacks)
{
	RUN(self, NULL, ctl_target("heap_small_stacks"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
}

TEST_F(hazards, forks_on_small_stacks)
{
	RUN(self, NULL, "--massif-out-file=massif.out.%p", ctl_target("heap_small_stacks"), "forks");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(3, number_of_profiles());
}

/* Threads end in the middle of an event. With 40 others, several threads share a tally. */
TEST_F_TIMEOUT(hazards, threads_that_are_cancelled, 120)
{
	static const char *const others[] = { "0", "3", "40" };

	for (int i = 0; i < 3; i++) {
		ctl_result_free(&self->result);
		RUN(self, NULL, ctl_target("heap_thread_ends"), "cancel", others[i]);
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ("fine\n", self->result.out);
	}
}

/* A thread that waits for another one's event sleeps long enough for a thread with a lower priority to run. */
TEST_F(hazards, real_time_threads_of_one_processor)
{
	RUN(self, NULL, ctl_target("heap_realtime"));
	if (ctl_exit_code(&self->result) == 4)
		SKIP(return, "real-time priorities are not permitted");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
}

/* A large environment is not copied to the stack of the thread that executes a program. */
TEST_F_TIMEOUT(hazards, large_environments, 120)
{
	RUN(self, NULL, "--trace-children=yes", "--massif-out-file=massif.out.%p", ctl_target("heap_environments"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
	EXPECT_EQ(1 + 4 * 5 + 4, number_of_profiles());
}

/* The program is executed, but not profiled. */
TEST_F(hazards, no_memory_for_a_large_environment)
{
	RUN(self, NULL, "--trace-children=yes", ctl_target("heap_environments"), "memory");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_NE(NULL, strstr(self->result.err, "because there is no memory for its environment\n")) {
		TH_LOG("%s", self->result.err);
	}
}

/* The memory below a segment of a split stack does not belong to the thread. */
TEST_F(hazards, little_left_of_a_stack_segment)
{
	RUN(self, NULL, ctl_target("own_segment"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("0\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_NE(NULL, strstr(self->text, ": allocate (own_segment.c"));
}

/* Each library's blocks are shown under its own function, even if both libraries were mapped at the same address. */
TEST_F(hazards, another_library_at_the_same_place)
{
	char first[64] = "", second[64] = "";
	const char *a, *b, *peak;

	RUN(self, NULL, self->paths[0], self->paths[1], self->paths[2]);
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	sscanf(self->result.out, "%63s %63s", first, second);
	/* Both libraries must have been mapped at the same address; otherwise the test proves nothing. */
	EXPECT_STREQ(first, second);

	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	peak = strstr(self->text, "heap_tree=peak");
	ASSERT_NE(NULL, peak);
	a = strstr(peak, "allocate_in_a");
	b = strstr(peak, "allocate_in_b");
	EXPECT_NE(NULL, a);
	EXPECT_NE(NULL, b);
	EXPECT_NE(NULL, strstr(peak, ": 500000 "));
	EXPECT_NE(NULL, strstr(peak, ": 600000 "));
}

/*
 * The program allocates from code that belongs to no object, and then from a library that is mapped in place of that
 * code. massif recognises a known stack by the memory words that were read when the stack was unwound. These words are
 * the same in both cases, although the call stacks differ.
 */
TEST_F(hazards, a_library_in_the_place_of_made_code)
{
	const char *peak;

	RUN(self, NULL, ctl_target("heap_made_code"), self->paths[1]);
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	/*
	 * The program prints "fine" if the library was mapped at exactly the address where the code outside any object
	 * had been. Otherwise the test proves nothing.
	 */
	EXPECT_STREQ("fine\n", self->result.out);

	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	peak = strstr(self->text, "heap_tree=peak");
	ASSERT_NE(NULL, peak);
	EXPECT_NE(NULL, strstr(peak, ": 600000 "));
	EXPECT_NE(NULL, strstr(peak, "allocate_in_a"));
}

/* The dynamic linker holds its lock while the constructor waits for a thread, which gives itself a name. */
TEST_F(hazards, library_that_waits_for_a_thread)
{
	char library[4096];

	snprintf(library, sizeof(library), "%s", ctl_target("libheap_waits.so"));
	RUN(self, NULL, ctl_target("heap_load_waits"), library);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
}

TEST_F(hazards, naming_a_thread_keeps_dlerror)
{
	RUN(self, NULL, ctl_target("heap_load_waits"), "/no/such.so");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.out, "/no/such.so: ")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_STREQ("", self->result.err);
}

/* Without unwind tables, only the frame pointer can be followed, but it may contain any value. */
TEST_F(hazards, frame_pointers_that_are_none)
{
	RUN(self, NULL, ctl_target("heap_guess"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("fine\n", self->result.out);
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
}

/* A stack ends where the unwind tables are wrong, and no unmapped memory is read. */
TEST_F_TIMEOUT(hazards, rules_that_are_wrong, 60)
{
	static const char *const cases[] = {
		"fp", "sp", "stored", "link", "saved", "register", "moved", "value", "other", "loop", "growth",
		"quotient", "nothing", "unknown",
	};
	/*
	 * Only in the first six cases can the stacks be compared with those of libunwind, which crashes or loops in the
	 * other cases.
	 */
	const size_t verifiable = 6;
	char frame[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int verifies = 0; verifies < (i < verifiable ? 2 : 1); verifies++) {
			TH_LOG("by %s%s", cases[i], verifies ? ", verified" : "");
			if (verifies)
				setenv("MASSIF_VERIFY", "1", 1);
			RUN(self, NULL, ctl_target("heap_wild_frames"), cases[i]);
			unsetenv("MASSIF_VERIFY");
			EXPECT_EQ(3, ctl_exit_code(&self->result));
			EXPECT_STREQ("fine\n", self->result.out);
			if (!verifies)
				EXPECT_STREQ("", self->result.err);
			ctl_result_free(&self->result);

			self->text = ctl_read_file("massif.out.hazards");
			ASSERT_NE(NULL, self->text);
			snprintf(frame, sizeof(frame), ": by_%s (", cases[i]);
			EXPECT_NE(NULL, strstr(self->text, frame));
			/* The number of bytes allocated; --peak-inaccuracy may make the peak lower. */
			EXPECT_LE(2574000, massif_text_peak(self->text));
			free(self->text);
			self->text = NULL;
		}
	}
}

/*
 * When a stack is unwound by following frame pointers, the word above a saved frame pointer is not always a return
 * address. In that case, the unwinder skips this frame pointer and goes on.
 */
TEST_F(hazards, links_that_are_no_frames)
{
	const char *peak, *unknown;

	RUN(self, NULL, ctl_target("heap_links"));
	ASSERT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	peak = strstr(self->text, "heap_tree=peak");
	ASSERT_NE(NULL, peak);
	EXPECT_NE(NULL, strstr(peak, "n1: 1000000 0x"));
	/* The frame of the generated code is the only one without a function name. */
	unknown = strstr(peak, ": ???\n");
	ASSERT_NE(NULL, unknown);
	EXPECT_EQ(NULL, strstr(unknown + 1, ": ???\n"));
	EXPECT_NE(NULL, strstr(unknown, "n1: 1000000 0x"));
	EXPECT_NE(NULL, strstr(unknown, ": call_made (heap_links.c:"));
	EXPECT_NE(NULL, strstr(unknown, ": main (heap_links.c:"));
}

/* The program defines functions with the names of system calls; the shim must not call them. */
TEST_F(hazards, system_calls_of_its_own)
{
	for (int i = 0; i < 2; i++) {
		ctl_result_free(&self->result);
		RUN(self, NULL, i ? "--trace-children=yes" : "--trace-children=no",
		    "--massif-out-file=massif.out.hazards.%p", ctl_target("heap_own_calls"));
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_STREQ("", self->result.out);
		EXPECT_STREQ("", self->result.err);
	}
}

/* A block must be freed by the allocator that allocated it. */
TEST_F(hazards, a_malloc_of_its_own)
{
	RUN(self, NULL, ctl_target("heap_own_malloc"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("0 blocks of others\n", self->result.out);
}

static void limit_address_space(void)
{
	const struct rlimit limit = { 1u << 30, 1u << 30 };

	setrlimit(RLIMIT_AS, &limit);
}

TEST_F(hazards, little_address_space)
{
	RUN(self, limit_address_space, ctl_target("heap_example"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(20000, massif_text_peak(self->text));
}

/* Limits the file size. The limit also applies to the session's memory, which the kernel treats as a file. */
static void limit_file_size(void)
{
	const struct rlimit limit = { 1u << 30, 1u << 30 };

	setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(hazards, little_file_size)
{
	RUN(self, limit_file_size, ctl_target("heap_example"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("", self->result.err);
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(20000, massif_text_peak(self->text));
}

/* Forks in a signal handler, at arbitrary points in the program. The children continue, some without a profile. */
TEST_F_TIMEOUT(hazards, fork_in_a_signal_handler, 60)
{
	RUN(self, NULL, ctl_target("heap_fork_handler"));
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "forked it in a signal handler that had interrupted an "
						 "allocation"));
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
}

/* Forks in a signal handler and lets the parent continue, so that both processes change their unwinder's state. */
TEST_F_TIMEOUT(hazards, fork_in_a_signal_handler_at_once, 60)
{
	RUN(self, NULL, ctl_target("heap_fork_handler"), "at_once");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "forked it in a signal handler that had interrupted an "
						 "allocation"));
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
}

/*
 * A child that has no free file descriptor is not profiled, and a message says so. Its blocks are not counted in its
 * parent's profile.
 */
TEST_F(hazards, child_without_descriptors)
{
	char script[4000];

	/* The message quotes the beginning of the command, without its newline and escape sequence. */
	memset(script, 'x', sizeof(script));
	memcpy(script, "\n\033[1m", 5);
	script[sizeof(script) - 1] = '\0';
	RUN(self, NULL, "--detailed-freq=1", ctl_target("heap_poor_child"), script);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "too low to take over its parent's profile"));
	EXPECT_EQ(NULL, strchr(self->result.err, '\033'));
	EXPECT_EQ(strchr(self->result.err, '\n'), strrchr(self->result.err, '\n'));
	self->text = ctl_read_file("massif.out.hazards");
	ASSERT_NE(NULL, self->text);
	EXPECT_EQ(1500, massif_text_peak(self->text));
}

TEST_HARNESS_MAIN
