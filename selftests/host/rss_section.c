// SPDX-License-Identifier: GPL-2.0
// Samples of the resident set in a recording: what is written is read again, also what older and newer versions have written;
// and the list of mappings that a sample has.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "recording/residency_section.h"
#include "residency/areas.h"
#include "residency/sampler.h"

#define CONTEXTS 5u
#define SAMPLES	 3u
#define SITES	 2u
#define AREAS	 2u
#define MOMENTS	 2u

#define SAMPLES_MOST 16384u /* SAMPLES_MAX in userland/recording/residency_section.c */
#define MOMENTS_MOST 1024u  /* MOMENTS_MAX there */

FIXTURE(section) {
	struct mf_residency written, read;
	struct mf_bytes bytes;
	uint64_t last; /* the number given last; all are different */
};

static void number(FIXTURE_DATA(section) *self, void *at, size_t size)
{
	uint64_t *numbers = at;

	for (size_t i = 0; i < size / sizeof(*numbers); i++)
		numbers[i] = ++self->last * 1000;
}

static void make_sample(FIXTURE_DATA(section) *self, struct mf_residency_sample *sample)
{
	number(self, sample, sizeof(*sample));
	sample->time = -(int64_t)++self->last;
	sample->reasons = MF_SAMPLE_END | MF_SAMPLE_PEAK;
}

static void make_detail(FIXTURE_DATA(section) *self, struct mf_residency_detail *detail)
{
	make_sample(self, &detail->sample);
	detail->of = (int64_t)++self->last;
	number(self, detail->fillings, sizeof(detail->fillings));
	detail->n_sites = SITES;
	detail->sites = calloc(SITES, sizeof(*detail->sites));
	detail->n_areas = AREAS;
	detail->areas = calloc(AREAS, sizeof(*detail->areas));
	for (size_t i = 0; i < SITES; i++) {
		number(self, &detail->sites[i], sizeof(detail->sites[i]));
		detail->sites[i].context = (uint32_t)(2 * i + 1);
	}
	for (size_t i = 0; i < AREAS; i++) {
		number(self, &detail->areas[i], sizeof(detail->areas[i]));
		detail->areas[i].band = MF_BAND_FILES;
		detail->areas[i].name = strdup(i ? "" : "/lib/a file.so");
	}
}

FIXTURE_SETUP(section)
{
	self->written.n_samples = SAMPLES;
	self->written.samples = calloc(SAMPLES, sizeof(*self->written.samples));
	for (size_t i = 0; i < SAMPLES; i++)
		make_sample(self, &self->written.samples[i]);
	make_detail(self, &self->written.peak);
	make_detail(self, &self->written.last);
	self->written.n_moments = MOMENTS;
	self->written.moments = calloc(MOMENTS, sizeof(*self->written.moments));
	for (size_t i = 0; i < MOMENTS; i++)
		make_detail(self, &self->written.moments[i]);
	self->written.peak_rss = 17;
	mf_residency_section_add(&self->bytes, &self->written, CONTEXTS);
}

FIXTURE_TEARDOWN(section)
{
	mf_residency_deinit(&self->written);
	mf_residency_deinit(&self->read);
	mf_bytes_deinit(&self->bytes);
}

static int take(FIXTURE_DATA(section) *self, const void *data, size_t size)
{
	struct mf_cursor cursor = { data, (const uint8_t *)data + size, false };

	mf_residency_deinit(&self->read);
	return mf_residency_section_take(&cursor, CONTEXTS, &self->read);
}

static bool is_same(const struct mf_residency_detail *one, const struct mf_residency_detail *other)
{
	bool same = !memcmp(&one->sample, &other->sample, sizeof(one->sample)) && one->of == other->of &&
		    !memcmp(one->fillings, other->fillings, sizeof(one->fillings)) && one->n_sites == other->n_sites &&
		    one->n_areas == other->n_areas;

	for (size_t i = 0; same && i < one->n_sites; i++)
		same = one->sites[i].context == other->sites[i].context && one->sites[i].live == other->sites[i].live &&
		       one->sites[i].untouched == other->sites[i].untouched &&
		       one->sites[i].pinned == other->sites[i].pinned && one->sites[i].shared == other->sites[i].shared &&
		       one->sites[i].huge == other->sites[i].huge && one->sites[i].huge_zeros == other->sites[i].huge_zeros;
	for (size_t i = 0; same && i < one->n_areas; i++) {
		struct mf_residency_area a = one->areas[i], b = other->areas[i];

		same = !strcmp(a.name, b.name);
		a.name = b.name = NULL;
		same = same && a.band == b.band && a.start == b.start && a.n == b.n && a.mapped == b.mapped && a.rss == b.rss &&
		       a.pss == b.pss && a.swapped == b.swapped && a.copied == b.copied && a.huge == b.huge &&
		       a.areas == b.areas && a.threads == b.threads;
	}
	return same;
}

TEST_F(section, is_read_as_written)
{
	ASSERT_EQ(0, take(self, self->bytes.data, self->bytes.size));
	EXPECT_EQ(17, self->read.peak_rss);
	ASSERT_EQ(SAMPLES, self->read.n_samples);
	EXPECT_EQ(0, memcmp(self->written.samples, self->read.samples, SAMPLES * sizeof(*self->read.samples)));
	EXPECT_TRUE(is_same(&self->written.peak, &self->read.peak));
	EXPECT_TRUE(is_same(&self->written.last, &self->read.last));
	ASSERT_EQ(MOMENTS, self->read.n_moments);
	for (size_t i = 0; i < MOMENTS; i++)
		EXPECT_TRUE(is_same(&self->written.moments[i], &self->read.moments[i]));
}

/* A section that ends early is refused, but for one that ends where the first format ended. */
TEST_F(section, that_is_cut)
{
	size_t n_read = 0;

	for (size_t size = 0; size < self->bytes.size; size++) {
		if (take(self, self->bytes.data, size))
			continue;
		n_read++;
		EXPECT_EQ(SAMPLES, self->read.n_samples);
		EXPECT_EQ(SITES, self->read.last.n_sites);
		EXPECT_EQ(self->written.last.sites[1].pinned, self->read.last.sites[1].pinned);
		EXPECT_EQ(0, self->read.last.n_areas);
		EXPECT_EQ(0, self->read.n_moments);
	}
	EXPECT_EQ(1, n_read);
}

/* A later version may have more numbers for samples, sites and areas. */
TEST_F(section, of_a_later_version)
{
	static const char more[] = "\x07\x05\x0d" /* of samples, sites, areas */
				   /* of the sample of the peak, and the time of its snapshot */
				   "\x02\xff\x01\x00\x00\x00\x63\x63\x00"
				   "\x01" /* areas */
				   "\x02\x61\x00\x06\x01\x01\x09\x08\x07\x00\x00\x00\x05\x04\x63\x63"
				   "\x00\x00\x00\x00\x00\x63\x63\x00\x00" /* of the last one */
				   "\x00"; /* moments */
	struct mf_residency none = { .peak_rss = 1 };
	struct mf_bytes bytes = { 0 };
	struct mf_bytes first = { 0 };

	mf_residency_section_add(&bytes, &none, CONTEXTS);
	/* What the first format has of it. */
	for (size_t size = 0; size <= bytes.size; size++) {
		if (take(self, bytes.data, size))
			continue;
		mf_bytes_add(&first, bytes.data, size);
		break;
	}
	mf_bytes_add(&first, more, sizeof(more) - 1);
	ASSERT_EQ(0, take(self, first.data, first.size));
	EXPECT_EQ(1, self->read.peak.sample.time);
	EXPECT_EQ(MF_SAMPLE_REASONS - 1, self->read.peak.sample.reasons);
	ASSERT_EQ(1, self->read.peak.n_areas);
	EXPECT_STREQ("a", self->read.peak.areas[0].name);
	EXPECT_EQ(MF_BAND_FILES, self->read.peak.areas[0].band);
	EXPECT_EQ(9, self->read.peak.areas[0].mapped);
	EXPECT_EQ(7, self->read.peak.areas[0].pss);
	EXPECT_EQ(5, self->read.peak.areas[0].areas);
	EXPECT_EQ(4, self->read.peak.areas[0].threads);
	EXPECT_EQ(0, self->read.last.n_areas);
	/* Fewer numbers than the second format had. */
	first.data[first.size - sizeof(more) + 1] = 4;
	EXPECT_EQ(-EBADMSG, take(self, first.data, first.size));
	mf_bytes_deinit(&first);
	mf_bytes_deinit(&bytes);
}

/* massif 0.2 had nine numbers for an area. */
TEST_F(section, of_an_earlier_version)
{
	static const char more[] = "\x05\x03\x09" /* of samples, sites, areas */
				   "\x02\x01\x00\x00\x00\x00" /* of the sample of the peak, and the time of its snapshot */
				   "\x02" /* areas */
				   "\x02\x61\x00\x06\x01\x01\x09\x08\x07\x00\x00\x00"
				   "\x02\x62\x00\x06\x00\x00\x03\x02\x01\x00\x00\x00"
				   "\x00\x00\x00\x00\x00\x00\x00" /* of the last one */
				   "\x00"; /* moments */
	struct mf_residency none = { .peak_rss = 1 };
	struct mf_bytes bytes = { 0 };

	mf_residency_section_add(&bytes, &none, CONTEXTS);
	while (bytes.size && take(self, bytes.data, bytes.size - 1))
		bytes.size--;
	ASSERT_LT(0, bytes.size);
	bytes.size--;
	mf_bytes_add(&bytes, more, sizeof(more) - 1);
	ASSERT_EQ(0, take(self, bytes.data, bytes.size));
	ASSERT_EQ(2, self->read.peak.n_areas);
	EXPECT_STREQ("b", self->read.peak.areas[1].name);
	EXPECT_EQ(2, self->read.peak.areas[1].rss);
	EXPECT_EQ(0, self->read.peak.areas[0].areas);
	EXPECT_EQ(0, self->read.peak.areas[0].threads);
	mf_bytes_deinit(&bytes);
}

/* Writes and reads that many samples and moments. Returns what reading them returns. */
static int take_many(size_t n_samples, size_t n_moments)
{
	struct mf_residency written = {
		.n_samples = n_samples, .samples = calloc(n_samples + 1, sizeof(*written.samples)),
		.n_moments = n_moments, .moments = calloc(n_moments + 1, sizeof(*written.moments)),
	}, read = { 0 };
	struct mf_bytes bytes = { 0 };
	struct mf_cursor cursor;
	int ret;

	mf_residency_section_add(&bytes, &written, CONTEXTS);
	cursor = (struct mf_cursor){ bytes.data, bytes.data + bytes.size, false };
	ret = mf_residency_section_take(&cursor, CONTEXTS, &read);
	if (!ret && (read.n_samples != n_samples || read.n_moments != n_moments))
		ret = -EINVAL;
	mf_residency_deinit(&read);
	mf_residency_deinit(&written);
	mf_bytes_deinit(&bytes);
	return ret;
}

/* Only a file that is made to be slow to read has more samples than any version keeps. */
TEST(more_than_any_version_keeps)
{
	EXPECT_EQ(0, take_many(SAMPLES_MOST, MOMENTS_MOST));
	EXPECT_EQ(-EBADMSG, take_many(SAMPLES_MOST + 1, 0));
	EXPECT_EQ(-EBADMSG, take_many(10 * SAMPLES_MOST, 0));
	EXPECT_EQ(-EBADMSG, take_many(1, MOMENTS_MOST + 1));
	EXPECT_EQ(-EBADMSG, take_many(1, 10 * MOMENTS_MOST));
}

/* Adds @n mappings without a name and two of a file; returns how many areas there are. Of all, the sums must be right. */
static size_t make_areas(struct __test_metadata *_metadata, size_t n)
{
	struct mf_residency_detail detail = { 0 };
	struct mf_areas areas = { 0 };
	uint64_t sum = 0, n_areas, n_resident = 1, n_threads = 0;

	for (size_t i = 0; i < n; i++) {
		const struct mf_residency_area area = {
			.band = i % 2 ? MF_BAND_STACKS : MF_BAND_LIVE, .start = i + 1, .n = 1, .rss = (i * 7919) % 1009,
			.threads = i % 2 ? i % 3 : 0,
		};

		n_resident += area.rss != 0;
		/* At least one: of a thread that was never seen waiting, the stack pointer is not known. */
		n_threads += area.threads || i % 2 == 0 ? area.threads : 1;

		/* The file's mappings are no neighbours. */
		ASSERT_EQ(0, mf_areas_add(&areas, "", &area));
		if (i == 0 || i == n - 1) {
			const struct mf_residency_area of_file = { .band = MF_BAND_FILES, .start = 5, .n = 1, .rss = 10000 };

			ASSERT_EQ(0, mf_areas_add(&areas, "file", &of_file));
			sum += 10000;
		}
		sum += area.rss;
	}
	mf_areas_finish(&areas, &detail);
	n_areas = detail.n_areas;
	for (size_t i = 0; i < n_areas; i++) {
		const struct mf_residency_area *area = &detail.areas[i], *before = i ? area - 1 : NULL;

		sum -= area->rss;
		n_resident -= area->rss ? area->areas : 0;
		n_threads -= area->threads;
		EXPECT_TRUE(area->areas == 1 || !area->n);
		EXPECT_TRUE(!before || before->band < area->band || (before->band == area->band && before->rss >= area->rss) ||
			    !area->n || !before->n);
		if (area->band == MF_BAND_FILES) {
			EXPECT_EQ(2, area->n);
			EXPECT_EQ(20000, area->rss);
			EXPECT_EQ(0, area->start);
		}
	}
	EXPECT_EQ(0, sum);
	EXPECT_EQ(0, n_resident);
	EXPECT_EQ(0, n_threads);
	mf_residency_detail_deinit(&detail);
	mf_areas_deinit(&areas);
	return n_areas;
}

/* Samples at snapshots: of more than twice those that are kept, every second one goes. */
TEST(of_moments)
{
	struct mf_residency residency = { 0 };
	struct mf_residency_detail detail = { 0 };

	for (int i = 1; i <= 20 * (int)MF_MOMENTS_KEPT; i++) {
		detail.of = i;
		detail.sample.reasons = i % 3 ? MF_SAMPLE_PEAK : MF_SAMPLE_DETAILED;
		ASSERT_EQ(0, mf_sampler_keep_moment(&residency, &detail));
		/* A second sample of the same snapshot is farther from it. */
		ASSERT_EQ(0, mf_sampler_keep_moment(&residency, &detail));
		EXPECT_EQ(i, residency.moments[residency.n_moments - 1].of);
		if (i <= 2 * (int)MF_MOMENTS_KEPT) {
			EXPECT_EQ((size_t)i, residency.n_moments);
		} else {
			EXPECT_LT(MF_MOMENTS_KEPT, residency.n_moments);
			EXPECT_GE(2 * MF_MOMENTS_KEPT, residency.n_moments);
		}
	}
	mf_residency_deinit(&residency);
}

TEST(of_areas)
{
	EXPECT_EQ(256, make_areas(_metadata, 255));
	/* One too many: 246 remain, and the rest of two bands. */
	EXPECT_EQ(248, make_areas(_metadata, 256));
	EXPECT_EQ(248, make_areas(_metadata, 2550));
}

TEST_HARNESS_MAIN
