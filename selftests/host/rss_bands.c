// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set (--rss): programs that use memory in a known way. The bands must add up to what the kernel
// says, and name the right site with the right bytes.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "residency/sampler.h"
#include "selftests/lib/ctl_run.h"

#define PAGE	4096ul
#define NOBODY	65534u
#define MIB	(1ul << 20)
/* How long the program sleeps; the larger its mappings, the longer the time between two samples. */
#define REST_MS	     "1500"
#define LONG_REST_MS "5000"

FIXTURE(bands) {
	struct ctl_result result;
	char *said; /* what the program printed */
	struct mf_recording recording;
};

FIXTURE_SETUP(bands)
{
	ctl_remove_files("massif.");
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("COLUMNS");
}

FIXTURE_TEARDOWN(bands)
{
	mf_recording_release(&self->recording);
	free(self->said);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

/* Returns the number that the program has printed after @word. */
static uint64_t told(const char *said, const char *word)
{
	const char *at = strstr(said, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : UINT64_MAX;
}

/* Runs a shape of rss_shapes, and reads the recording. Returns what was found, or NULL. */
static const struct mf_residency *record_resting(FIXTURE_DATA(bands) *self, const char *shape, const char *rest,
						 const char *bytes)
{
	struct mf_error err;

	if (RUN("massif-ctl", "record", "-q", "--rss=yes", "--time-unit=B", "--detailed-freq=2", "--record=massif.rec",
		ctl_target("rss_shapes"), shape, rest, bytes))
		return NULL;
	self->said = strdup(self->result.out);
	if (mf_recording_read("massif.rec", &self->recording, &err) || self->recording.n_processes != 1)
		return NULL;
	return self->recording.processes[0]->profile.residency;
}

/*
 * Likewise, for tests that need the sample at the end. The program does not wait for it for ever, so on a busy machine more
 * than one run may be necessary.
 */
static const struct mf_residency *record_to_the_end(FIXTURE_DATA(bands) *self, const char *shape, const char *rest)
{
	const struct mf_residency *residency = NULL;

	for (int i = 0; i < 5; i++) {
		free(self->said);
		self->said = NULL;
		mf_recording_release(&self->recording);
		residency = record_resting(self, shape, rest, "0");
		if (!residency || residency->last.sample.reasons & MF_SAMPLE_END)
			break;
	}
	return residency;
}

static const struct mf_residency *record_with(FIXTURE_DATA(bands) *self, const char *shape, const char *bytes)
{
	return record_resting(self, shape, *bytes == '0' ? REST_MS : LONG_REST_MS, bytes);
}

static const struct mf_residency *record(FIXTURE_DATA(bands) *self, const char *shape)
{
	return record_with(self, shape, "0");
}

/* Returns the sum of number @number (an offset) of the sites whose stacks call @function innermost but one: malloc's caller. */
static uint64_t sum_of(const struct mf_recorded *process, const struct mf_residency_detail *detail, const char *function,
		       size_t number)
{
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	uint64_t sum = 0;

	for (size_t i = 0; i < detail->n_sites; i++) {
		uint32_t n = process->profile.read_context(process->profile.source, detail->sites[i].context, frames);
		bool calls = false;

		for (uint32_t k = 0; k < n && k < 2; k++) {
			const struct mf_location *locations;
			size_t m = mf_symbolizer_resolve(process->symbolizer, frames[k], &locations);

			for (size_t l = 0; l < m; l++)
				calls |= locations[l].function && !strcmp(locations[l].function, function);
		}
		sum += calls ? *(const uint64_t *)((const char *)&detail->sites[i] + number) : 0;
	}
	return sum;
}

#define SUM(function, member) \
	sum_of(self->recording.processes[0], &residency->last, function, offsetof(struct mf_residency_site, member))

/* All areas of a band add up to the band. */
static void check_areas(struct __test_metadata *_metadata, const struct mf_residency_detail *detail)
{
	uint64_t sums[MF_BANDS] = { 0 }, bands[MF_BANDS];

	memcpy(bands, detail->sample.bands, sizeof(bands));
	bands[MF_BAND_LIVE] += bands[MF_BAND_OVERHEAD] + bands[MF_BAND_FREE_PARTS] + bands[MF_BAND_FREE_PAGES];
	bands[MF_BAND_OVERHEAD] = bands[MF_BAND_FREE_PARTS] = bands[MF_BAND_FREE_PAGES] = 0;
	for (size_t i = 0; i < detail->n_areas; i++)
		sums[detail->areas[i].band] += detail->areas[i].rss;
	for (int band = 0; band < MF_BANDS; band++) {
		EXPECT_EQ(bands[band], sums[band]) TH_LOG("%s", mf_band_names[band].words);
	}
}

/* What is true of every profile. */
static void check(struct __test_metadata *_metadata, const struct mf_residency *residency, const char *said)
{
	uint64_t pinned = 0, untouched = 0, rss = told(said, "\nrss "), found;

	ASSERT_NE(NULL, residency);
	ASSERT_LT(2, residency->n_samples);
	found = mf_residency_rss(&residency->last.sample);
	/* The program touches some more pages of code and stack before it sleeps. */
	EXPECT_LE(rss, found + 16 * PAGE) TH_LOG("rss %lu, found %lu", rss, found);
	EXPECT_LE(found, rss + 16 * PAGE) TH_LOG("rss %lu, found %lu", rss, found);
	check_areas(_metadata, &residency->last);
	check_areas(_metadata, &residency->peak);
	for (size_t i = 1; i < residency->n_samples; i++) {
		EXPECT_LE(residency->samples[i - 1].time_ms, residency->samples[i].time_ms);
		EXPECT_LE(residency->samples[i - 1].time, residency->samples[i].time);
	}
	for (size_t i = 0; i < residency->last.n_sites; i++) {
		pinned += residency->last.sites[i].pinned;
		untouched += residency->last.sites[i].untouched;
	}
	EXPECT_EQ(residency->last.sample.bands[MF_BAND_FREE_PARTS], pinned);
	EXPECT_EQ(residency->last.sample.untouched, untouched);
	EXPECT_LE(mf_residency_rss(&residency->peak.sample), residency->peak_rss + 16 * PAGE);
}

TEST_F_TIMEOUT(bands, of_every_hundredth_block, 60)
{
	const struct mf_residency *residency = record(self, "fragments");
	const uint64_t *bands;

	check(_metadata, residency, self->said);
	bands = residency->last.sample.bands;
	EXPECT_EQ(told(self->said, "\nlive "), SUM("keep", live));
	EXPECT_EQ(told(self->said, "\nfree "), SUM("keep", pinned));
	EXPECT_EQ(0, SUM("drop", live));
	/* The rest of the 20,000 blocks, less the pages at both ends, which hold something else, too. */
	EXPECT_LE(20000 * 2016 - told(self->said, "pages ") * PAGE - 8 * PAGE, bands[MF_BAND_FREE_PAGES]);
	EXPECT_GE(20000 * 2016 - told(self->said, "pages ") * PAGE + 64 * PAGE, bands[MF_BAND_FREE_PAGES]);
	EXPECT_EQ(residency->last.fillings[MF_FILLING_NONE], bands[MF_BAND_FREE_PAGES]);
}

TEST_F_TIMEOUT(bands, of_a_large_block_that_is_not_touched, 60)
{
	const struct mf_residency *residency = record(self, "untouched");

	check(_metadata, residency, self->said);
	EXPECT_EQ(told(self->said, "untouched "), SUM("keep", untouched));
	EXPECT_EQ(256 * MIB, SUM("keep", live));
}

/* The shim counts such a free only with the next event. */
TEST_F_TIMEOUT(bands, of_a_block_that_was_freed_last, 60)
{
	const struct mf_residency *residency = record(self, "freed");

	check(_metadata, residency, self->said);
	EXPECT_EQ(0, SUM("keep", live));
}

TEST_F_TIMEOUT(bands, of_mappings, 60)
{
	const struct mf_residency *residency = record(self, "mappings");
	const uint64_t *bands;

	check(_metadata, residency, self->said);
	bands = residency->last.sample.bands;
	EXPECT_EQ(told(self->said, "\nshared "), bands[MF_BAND_SHARED]);
	/* Besides the program's, there are writable data of the libraries. */
	EXPECT_LE(told(self->said, "anonymous "), bands[MF_BAND_ANONYMOUS]);
	EXPECT_GE(told(self->said, "anonymous ") + MIB, bands[MF_BAND_ANONYMOUS]);
	EXPECT_LT(0, bands[MF_BAND_FILES]);
	EXPECT_LT(0, bands[MF_BAND_MASSIF]);
}

static int count_areas(const struct mf_residency_detail *detail, enum mf_band band, const char *beginning)
{
	int n = 0;

	for (size_t i = 0; i < detail->n_areas; i++)
		n += detail->areas[i].band == band && !strncmp(detail->areas[i].name, beginning, strlen(beginning));
	return n;
}

TEST_F_TIMEOUT(bands, of_stacks, 60)
{
	const struct mf_residency *residency = record(self, "stacks");
	const uint64_t *bands;

	check(_metadata, residency, self->said);
	bands = residency->last.sample.bands;
	EXPECT_EQ(4, count_areas(&residency->last, MF_BAND_STACKS, "thread "));
	EXPECT_LE(told(self->said, "stacks "), bands[MF_BAND_STACKS]);
	EXPECT_GE(told(self->said, "stacks ") + MIB / 2, bands[MF_BAND_STACKS]);
}

TEST_F_TIMEOUT(bands, of_arenas_that_threads_have_left, 60)
{
	const struct mf_residency *residency = record(self, "arenas");
	const uint64_t *bands;

	check(_metadata, residency, self->said);
	bands = residency->last.sample.bands;
	EXPECT_LE(told(self->said, "free ") - 4 * PAGE, bands[MF_BAND_FREE_PAGES]);
	EXPECT_EQ(3 * 2000, SUM("keep", live));
}

/* Pages of mappings of up to 16 GiB are told apart (ANONYMOUS_MAX); larger ones are added as a whole. */
static void reserve(struct __test_metadata *_metadata, FIXTURE_DATA(bands) *self, const char *bytes)
{
	const struct mf_residency *residency = record_with(self, "reserve", bytes);

	check(_metadata, residency, self->said);
	EXPECT_LE(MIB, residency->last.sample.bands[MF_BAND_ANONYMOUS]);
	EXPECT_GE(2 * MIB, residency->last.sample.bands[MF_BAND_ANONYMOUS]);
	EXPECT_LE(told(self->said, "reserved "), residency->last.sample.mapped);
}

TEST_F_TIMEOUT(bands, of_a_mapping_at_the_limit, 60)
{
	reserve(_metadata, self, "17179869184");
}

TEST_F_TIMEOUT(bands, of_a_mapping_above_the_limit, 60)
{
	reserve(_metadata, self, "17179873280");
}

TEST_F_TIMEOUT(bands, of_a_mapping_of_ten_times_the_limit, 60)
{
	reserve(_metadata, self, "171798691840");
}

/* The same with a block in the mapping: it is found if the mapping is not larger than the limit. */
static uint64_t live_in_reserve(struct __test_metadata *_metadata, FIXTURE_DATA(bands) *self, const char *bytes)
{
	const struct mf_residency *residency = record_with(self, "reserve_block", bytes);

	check(_metadata, residency, self->said);
	return residency->last.sample.bands[MF_BAND_LIVE];
}

TEST_F_TIMEOUT(bands, of_a_block_at_the_limit, 60)
{
	EXPECT_LE(MIB, live_in_reserve(_metadata, self, "17179869184"));
}

TEST_F_TIMEOUT(bands, of_a_block_above_the_limit, 60)
{
	EXPECT_GT(MIB, live_in_reserve(_metadata, self, "17179873280"));
}

TEST_F_TIMEOUT(bands, of_a_block_at_ten_times_the_limit, 60)
{
	EXPECT_GT(MIB, live_in_reserve(_metadata, self, "171798691840"));
}

/* The shim's memory is massif's: the program has as much anonymous memory as it has without massif. */
TEST_F_TIMEOUT(bands, of_the_shim, 60)
{
	const struct mf_residency *residency = record(self, "unnamed");
	uint64_t found, without;

	check(_metadata, residency, self->said);
	found = residency->last.sample.bands[MF_BAND_ANONYMOUS];
	ASSERT_EQ(0, RUN(ctl_target("rss_shapes"), "unnamed", "0"));
	without = told(self->result.out, "unnamed ");
	EXPECT_LE(found, without + 4 * PAGE) TH_LOG("found %lu, without massif %lu", found, without);
	EXPECT_GE(found + 4 * PAGE, without) TH_LOG("found %lu, without massif %lu", found, without);
}

/* While it is read, a mapping that grows is listed twice. */
TEST_F_TIMEOUT(bands, of_a_heap_that_grows, 60)
{
	const struct mf_residency *residency = record_with(self, "grow", "1");

	check(_metadata, residency, self->said);
	EXPECT_EQ(told(self->said, "live "), SUM("keep", live));
	for (size_t i = 0; i < residency->n_samples; i++)
		EXPECT_LE(mf_residency_rss(&residency->samples[i]), residency->peak_rss + 16 * PAGE);
}

/* A program that ends at once: the last sample is taken at its end, while it still has its memory. */
TEST_F_TIMEOUT(bands, of_the_end, 60)
{
	const struct mf_residency *residency = record_to_the_end(self, "fragments", "0");
	uint64_t rss = told(self->said, "\nrss "), found;

	ASSERT_NE(NULL, residency);
	EXPECT_NE(0, residency->last.sample.reasons & MF_SAMPLE_END);
	found = mf_residency_rss(&residency->last.sample);
	EXPECT_LE(rss, found + 16 * PAGE) TH_LOG("rss %lu, found %lu", rss, found);
	EXPECT_LE(found, rss + 16 * PAGE) TH_LOG("rss %lu, found %lu", rss, found);
	EXPECT_EQ(told(self->said, "\nlive "), SUM("keep", live));
	EXPECT_EQ(told(self->said, "\nfree "), SUM("keep", pinned));
	/* In time, nothing is later; the unit is bytes. */
	EXPECT_EQ(self->recording.processes[0]->end->time, residency->last.sample.time);
}

/* Near each detailed snapshot and peak that the program has time for, there is a sample in detail. */
TEST_F_TIMEOUT(bands, of_snapshots, 60)
{
	const struct mf_residency *residency = record_resting(self, "steps", "0", "0");
	const struct mf_profile *profile;
	size_t n_kept = 0, n_found = 0;

	ASSERT_NE(NULL, residency);
	profile = &self->recording.processes[0]->profile;
	for (size_t i = 0; i < residency->n_moments; i++) {
		const struct mf_residency_detail *moment = &residency->moments[i];

		EXPECT_NE(0, moment->sample.reasons);
		EXPECT_LE(moment->of, moment->sample.time);
		EXPECT_LE(i ? moment[-1].sample.time : 0, moment->sample.time);
	}
	for (size_t i = 0; i < profile->n_snapshots; i++) {
		bool found = false;

		if (profile->snapshots[i].tree == MF_TREE_EMPTY)
			continue;
		n_kept++;
		for (size_t k = 0; k < residency->n_moments; k++)
			found |= residency->moments[k].of == profile->snapshots[i].time &&
				 residency->moments[k].sample.reasons & (MF_SAMPLE_DETAILED | MF_SAMPLE_PEAK);
		n_found += found;
	}
	/* The program takes 200 ms for each of its ten steps, and has a detailed snapshot in every second one. */
	EXPECT_LE(4, n_kept);
	EXPECT_LE(4, n_found) TH_LOG("%zu of %zu", n_found, n_kept);
}

TEST_F_TIMEOUT(bands, of_a_request, 60)
{
	const struct mf_residency *residency = NULL;
	struct mf_error err;
	char script[4096];
	size_t n = 0;

	snprintf(script, sizeof(script),
		 "\"$0\" record -q --rss=yes --record=massif.rec %s freed 3000 >/dev/null & "
		 /* Waits until massif-ctl profiles the program, or has ended. */
		 "until pid=$(pgrep -P $! rss_shapes) && \"$0\" list | grep -q \"^ *$pid \" || ! kill -0 $!; "
		 "do sleep 0.1; done; "
		 "\"$0\" snapshot --pid $pid massif.snapshot; wait", ctl_target("rss_shapes"));
	ASSERT_EQ(0, RUN("sh", "-c", script, ctl_path())) TH_LOG("%s", self->result.err);
	ASSERT_EQ(0, mf_recording_read("massif.rec", &self->recording, &err));
	residency = self->recording.processes[0]->profile.residency;
	ASSERT_NE(NULL, residency);
	for (size_t i = 0; i < residency->n_moments; i++)
		n += !!(residency->moments[i].sample.reasons & MF_SAMPLE_REQUEST);
	EXPECT_EQ(1, n);
}

static void become_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		_exit(99);
}

/* Samples of one's own processes need no privilege. */
TEST_F_TIMEOUT(bands, of_an_ordinary_user, 60)
{
	const struct mf_residency *residency;
	struct mf_error err;

	CTL_NEEDS_USER(NOBODY);
	ctl_remove_files("massif.");
	ASSERT_EQ(0, mkdir("massif.nobody", 0777) || chmod("massif.nobody", 0777));
	ctl_run(&self->result, NULL, become_nobody, (const char *const[]){
		"massif-ctl", "record", "-q", "--rss=yes", "--massif-out-file=massif.nobody/out",
		"--record=massif.nobody/rec", ctl_target("rss_shapes"), "fragments", REST_MS, NULL });
	EXPECT_EQ(0, ctl_exit_code(&self->result)) TH_LOG("%s", self->result.err);
	self->said = strdup(self->result.out);
	EXPECT_EQ(0, mf_recording_read("massif.nobody/rec", &self->recording, &err));
	unlink("massif.nobody/out");
	unlink("massif.nobody/rec");
	rmdir("massif.nobody");
	ASSERT_EQ(1, self->recording.n_processes);
	residency = self->recording.processes[0]->profile.residency;
	check(_metadata, residency, self->said);
	EXPECT_EQ(told(self->said, "\nlive "), SUM("keep", live));
	EXPECT_EQ(told(self->said, "\nfree "), SUM("keep", pinned));
}

/* Without --rss there are no samples, and show says what to do. */
TEST_F(bands, of_a_recording_without)
{
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "true"));
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--rss", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "--rss=yes"));
}

/* What show prints are the sample's bytes. */
TEST_F_TIMEOUT(bands, are_shown, 60)
{
	const struct mf_residency *residency = record(self, "fragments");

	ASSERT_NE(NULL, residency);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", "--at=end", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "free pages of the allocator"));
	EXPECT_NE(NULL, strstr(self->result.out, "keep (rss_shapes.c:")) TH_LOG("%s", self->result.out);
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--rss", "--at=10000", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "no snapshot 10000")) TH_LOG("%s", self->result.err);
	EXPECT_EQ(1, RUN("massif-ctl", "show", "--rss", "--at=1Mi", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.err, "unit of time")) TH_LOG("%s", self->result.err);
	EXPECT_STREQ("", self->result.out);
}

/*
 * A program that rests for five seconds and frees everything as it ends: the last sample has nothing live, but the one
 * before that can still be chosen by its time, and is named. Of the periodic samples, few are kept with their sites.
 */
TEST_F_TIMEOUT(bands, of_the_time_before_the_end, 120)
{
	const struct mf_residency *residency = record_to_the_end(self, "tidy", "5000");
	const struct mf_residency_detail *before = NULL;
	unsigned int n = 0;
	char option[64];

	ASSERT_NE(NULL, residency);
	ASSERT_LT(1, residency->n_moments);
	for (size_t i = 0; i < residency->n_moments; i++) {
		if (residency->moments[i].sample.reasons == MF_SAMPLE_PERIODIC) {
			before = &residency->moments[i];
			n++;
		}
	}
	ASSERT_NE(NULL, before);
	EXPECT_LT(MF_PERIODIC_MOMENTS_KEPT / 2, n);
	EXPECT_GE(2 * MF_PERIODIC_MOMENTS_KEPT + 1, n);
	EXPECT_NE(0, residency->last.sample.reasons & MF_SAMPLE_END);
	EXPECT_GT(told(self->said, "live "), residency->last.sample.bands[MF_BAND_LIVE]);
	EXPECT_LE(told(self->said, "live "), before->sample.bands[MF_BAND_LIVE]);
	snprintf(option, sizeof(option), "--at=%llums", (unsigned long long)before->sample.time_ms);
	ASSERT_EQ(0, RUN("massif-ctl", "show", "--rss", option, "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, option)) TH_LOG("%s", self->result.out);
	EXPECT_NE(NULL, strstr(self->result.out, ", one of ")) TH_LOG("%s", self->result.out);
}

TEST_HARNESS_MAIN
