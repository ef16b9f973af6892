// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set (--rss) with other allocators than glibc's, and of memory that is given back, moved, mapped from
// files, shared since a fork, or in huge pages. The programs say what must be found.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/ctl_run.h"

#define PAGE	4096ul
#define MIB	(1ul << 20)
#define REST_MS "1000"

FIXTURE(shape) {
	struct ctl_result result;
	struct mf_recording recording;
	const struct mf_recorded *process;
	const struct mf_residency_detail *last;
};

FIXTURE_SETUP(shape)
{
	ctl_remove_files("massif.");
	setenv("LC_ALL", "C.UTF-8", 1);
}

FIXTURE_TEARDOWN(shape)
{
	mf_recording_release(&self->recording);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

static uint64_t told(const FIXTURE_DATA(shape) *self, const char *word)
{
	const char *at = strstr(self->result.out, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;
}

/* Returns the process that was recorded or, if the program has told that of a child, the child. */
static const struct mf_recorded *find_process(const FIXTURE_DATA(shape) *self)
{
	uint64_t child = told(self, "child ");

	for (size_t i = 0; i < self->recording.n_processes; i++)
		if (child == UINT64_MAX || self->recording.processes[i]->facts.pid == child)
			return self->recording.processes[i];
	return NULL;
}

/* Runs a shape of program @name, and reads what was recorded. */
static void record(struct __test_metadata *_metadata, FIXTURE_DATA(shape) *self, const char *name, const char *shape)
{
	uint64_t areas = 0;
	struct mf_error err;

	CTL_RUN(&self->result, "massif-ctl", "record", "-q", "--rss=yes", "--record=massif.rec", ctl_target(name), shape,
		REST_MS);
	ASSERT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &err));
	self->process = find_process(self);
	ASSERT_NE(NULL, self->process);
	ASSERT_NE(NULL, self->process->profile.residency);
	self->last = &self->process->profile.residency->last;
	for (size_t i = 0; i < self->last->n_areas; i++)
		areas += self->last->areas[i].rss;
	EXPECT_EQ(mf_residency_rss(&self->last->sample), areas);
	EXPECT_LE(told(self, "\nrss "), areas + 64 * PAGE);
	EXPECT_LE(areas, told(self, "\nrss ") + 64 * PAGE);
}

/* Returns the sum of number @number (an offset) of the sites in function @function. */
static uint64_t sum_of(const FIXTURE_DATA(shape) *self, const char *function, size_t number)
{
	const struct mf_profile *profile = &self->process->profile;
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	uint64_t sum = 0;

	for (size_t i = 0; i < self->last->n_sites; i++) {
		uint32_t n = profile->read_context(profile->source, self->last->sites[i].context, frames);
		bool calls = false;

		for (uint32_t k = 0; k < n && k < 2; k++) {
			const struct mf_location *locations;
			size_t m = mf_symbolizer_resolve(self->process->symbolizer, frames[k], &locations);

			for (size_t l = 0; l < m; l++)
				calls |= locations[l].function && !strcmp(locations[l].function, function);
		}
		sum += calls ? *(const uint64_t *)((const char *)&self->last->sites[i] + number) : 0;
	}
	return sum;
}

#define SUM(function, member) sum_of(self, function, offsetof(struct mf_residency_site, member))
#define BAND(name)	      (self->last->sample.bands[MF_BAND_##name])

/* Blocks of 2,000 bytes, of which every hundredth is kept: all else is free memory, whatever allocator it is. */
static void fragments(struct __test_metadata *_metadata, FIXTURE_DATA(shape) *self, const char *name)
{
	record(_metadata, self, name, "fragments");
	EXPECT_EQ(told(self, "\nlive "), SUM("keep", live));
	EXPECT_EQ(0, SUM("drop", live));
	EXPECT_LE(20000 * 2000ul / 10 * 9, BAND(FREE_PARTS) + BAND(FREE_PAGES));
	EXPECT_GE(20000 * 2200ul + 4 * MIB, BAND(FREE_PARTS) + BAND(FREE_PAGES));
	/* The kept blocks are in 200 to 400 pages, and nearly all that is in these is free. */
	EXPECT_LE(200 * (PAGE - 2200), SUM("keep", pinned));
	EXPECT_GE(400 * (PAGE - 1000), SUM("keep", pinned));
}

TEST_F_TIMEOUT(shape, of_jemalloc, 60)
{
	fragments(_metadata, self, "rss_shapes_jemalloc");
}

TEST_F_TIMEOUT(shape, of_tcmalloc, 60)
{
	fragments(_metadata, self, "rss_shapes_tcmalloc");
}

TEST_F_TIMEOUT(shape, of_mimalloc, 60)
{
	fragments(_metadata, self, "rss_shapes_mimalloc");
}

TEST_F_TIMEOUT(shape, of_glibc, 60)
{
	fragments(_metadata, self, "rss_shapes");
}

/* Blocks that the program declares (valgrind.h) in a mapping of its own. */
static void declared(struct __test_metadata *_metadata, FIXTURE_DATA(shape) *self, const char *shape)
{
	record(_metadata, self, "rss_shapes", shape);
	EXPECT_EQ(told(self, "live "), SUM("declare", live));
	EXPECT_EQ(told(self, "\nfree "), SUM("declare", pinned));
	EXPECT_LE(told(self, "\nempty "), BAND(FREE_PAGES));
	EXPECT_GE(told(self, "\nempty ") + 64 * PAGE, BAND(FREE_PAGES));
}

TEST_F_TIMEOUT(shape, of_an_allocator_of_ones_own, 60)
{
	declared(_metadata, self, "own");
}

/* Linux 6.7 and later place one of 32 mappings of this size so. */
TEST_F_TIMEOUT(shape, of_an_allocator_of_ones_own_where_an_arena_could_be, 60)
{
	declared(_metadata, self, "own_aligned");
}

TEST_F_TIMEOUT(shape, of_memory_that_is_given_back, 60)
{
	record(_metadata, self, "rss_shapes", "dontneed");
	EXPECT_EQ(told(self, "untouched "), SUM("keep", untouched));
}

/* Until the kernel takes it, it is resident. */
TEST_F_TIMEOUT(shape, of_memory_that_may_be_taken, 60)
{
	record(_metadata, self, "rss_shapes", "lazily");
	EXPECT_EQ(0, SUM("keep", untouched));
	EXPECT_LE(16 * MIB, BAND(LIVE));
}

TEST_F_TIMEOUT(shape, of_a_block_that_was_moved, 60)
{
	record(_metadata, self, "rss_shapes", "moved");
	EXPECT_EQ(told(self, "untouched "), self->last->sample.untouched);
}

TEST_F_TIMEOUT(shape, of_a_memfd, 60)
{
	record(_metadata, self, "rss_shapes", "memfd");
	EXPECT_EQ(told(self, "shared "), BAND(SHARED));
}

TEST_F_TIMEOUT(shape, of_a_cache_in_a_file, 60)
{
	const struct mf_residency_area *area = NULL;

	record(_metadata, self, "rss_shapes", "cache");
	for (size_t i = 0; i < self->last->n_areas; i++)
		if (self->last->areas[i].band == MF_BAND_FILES && strstr(self->last->areas[i].name, "/massif.cache"))
			area = &self->last->areas[i];
	ASSERT_NE(NULL, area);
	EXPECT_EQ(told(self, "file "), area->rss);
	EXPECT_EQ(told(self, "copied "), area->copied);
	EXPECT_EQ(2, area->n);
	EXPECT_EQ(32 * MIB, area->mapped);
}

/* A library that is loaded during the run has its blocks and its pages as any other. */
TEST_F_TIMEOUT(shape, of_a_library_that_is_loaded_later, 60)
{
	const struct mf_residency_area *area = NULL;
	const struct mf_residency *residency;

	record(_metadata, self, "rss_shapes", "loaded");
	residency = self->process->profile.residency;
	EXPECT_EQ(told(self, "live "), SUM("rss_plugin_keep", live));
	for (size_t i = 0; i < self->last->n_areas; i++)
		if (self->last->areas[i].band == MF_BAND_FILES && strstr(self->last->areas[i].name, "/librss_plugin.so"))
			area = &self->last->areas[i];
	ASSERT_NE(NULL, area);
	EXPECT_LE(told(self, "copied "), area->copied);
	EXPECT_GE(told(self, "copied ") + 8 * PAGE, area->copied);
	/* There are samples of before. */
	EXPECT_LE(residency->samples[0].bands[MF_BAND_FILES] + told(self, "copied "), BAND(FILES));
}

/* In the child, nine pages in ten of the block are still those of its parent. */
TEST_F_TIMEOUT(shape, of_a_child, 60)
{
	const struct mf_residency_sample *sample;

	record(_metadata, self, "rss_shapes", "forked");
	sample = &self->last->sample;
	EXPECT_EQ(told(self, "shared "), SUM("keep", shared));
	EXPECT_EQ(16 * MIB, SUM("keep", live));
	EXPECT_LE(told(self, "shared "), sample->shared_heap);
	EXPECT_LE(sample->shared_heap, sample->shared);
	/* Two processes have these pages. */
	EXPECT_LE(told(self, "shared ") / 2, mf_residency_rss(sample) - sample->pss);
}

TEST_F_TIMEOUT(shape, of_huge_pages, 60)
{
	uint64_t in_areas = 0;

	record(_metadata, self, "rss_shapes", "huge");
	if (!told(self, "huge "))
		SKIP(return, "the kernel gives no huge pages");
	EXPECT_EQ(told(self, "huge "), self->last->sample.huge);
	for (size_t i = 0; i < self->last->n_areas; i++)
		in_areas += self->last->areas[i].huge;
	EXPECT_EQ(told(self, "huge "), in_areas);
	EXPECT_EQ(told(self, "huge "), SUM("declare", huge));
	EXPECT_EQ(told(self, "zeros "), SUM("declare", huge_zeros));
	EXPECT_EQ(told(self, "zeros "), self->last->sample.huge_zeros);
}

TEST_HARNESS_MAIN
