// SPDX-License-Identifier: GPL-2.0
// If reading the names takes more than a second, progress is reported, and so is completion.

#include <dlfcn.h>
#include <gelf.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "symbols/symbolizer.h"

static unsigned int delay_s;

/* Replaces libelf's elf_begin(), to simulate a slow disk. */
Elf *elf_begin(int fd, Elf_Cmd command, Elf *of)
{
	Elf *(*begin)(int, Elf_Cmd, Elf *) =
		(Elf * (*)(int, Elf_Cmd, Elf *))dlsym(RTLD_NEXT, "elf_begin");
	struct timespec now;
	time_t end;

	/* The confined process may not sleep, so loop instead. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + delay_s;
	while (delay_s && now.tv_sec < end)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return begin(fd, command, of);
}

static size_t calls, last_done, last_total;
static bool went_back, told_the_end;

static void hear(size_t done, size_t total)
{
	went_back |= calls && done < last_done;
	told_the_end |= done == total;
	calls++;
	last_done = done;
	last_total = total;
}

/* Looks up two addresses of this program. */
static void look_up(struct __test_metadata *_metadata)
{
	const struct mf_symbolizer_options options = { .progress = hear };
	const struct mf_object objects[] = {
		{ 0 },
		{ .kind = MF_OBJECT_FILE, .path = "/proc/self/exe", .end = UINT64_MAX },
	};
	struct mf_symbolizer *symbolizer;

	calls = 0;
	told_the_end = went_back = false;
	ASSERT_EQ(0, mf_symbolizer_create(objects, 2, &options, &symbolizer, NULL));
	mf_symbolizer_want(symbolizer, (struct mf_frame){ 0x1000, 1 });
	mf_symbolizer_want(symbolizer, (struct mf_frame){ 0x2000, 1 });
	mf_symbolizer_prepare(symbolizer);
	mf_symbolizer_destroy(symbolizer);
}

TEST(fast)
{
	look_up(_metadata);
	EXPECT_EQ(0, calls);
}

TEST(slow)
{
	time_t begun = time(NULL), seconds;

	delay_s = 3;
	look_up(_metadata);
	seconds = time(NULL) - begun + 1;
	/* Progress is reported five times a second, but less often on a busy machine. */
	EXPECT_LE(2, calls);
	EXPECT_GE(5 * (size_t)seconds, calls) TH_LOG("%zu calls in %ld s", calls, (long)seconds);
	EXPECT_TRUE(told_the_end);
	EXPECT_EQ(2, last_done);
	EXPECT_EQ(2, last_total);
	EXPECT_FALSE(went_back);
}

TEST_HARNESS_MAIN
