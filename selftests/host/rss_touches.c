// SPDX-License-Identifier: GPL-2.0
// Which code touched the pages of samples first (--rss with massif.ko), without the module: the sums of a sample, what a
// recording has of them, and what happens if there is no module. guest/rss_touched tests the rest.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "html/data.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "recording/touches_section.h"
#include "report/json_file.h"
#include "report/pprof.h"
#include "report/touched.h"
#include "residency/pagemap.h"
#include "residency/touched.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/mutant.h"
#include "selftests/lib/touches_recording.h"

#define PAGE	 4096ull
#define CONTEXTS 9u
#define MUTANTS	 2000

/* A process of which each page is resident, and has been touched by the context whose number is that of the page. */
static void each(void *data, uint64_t start, uint64_t end, mf_touch_found *found, void *found_data)
{
	for (uint64_t at = start; at < end; at += PAGE)
		found(found_data, at, (uint32_t)(at / PAGE));
}

static uint64_t resident(void *data)
{
	return 5 * PAGE;
}

static const struct mf_touch_source source = { each, resident, NULL };

TEST(sums_of_a_sample)
{
	static const struct mf_residency_touch wanted[] = {
		{ MF_BAND_LIVE, 2, PAGE }, { MF_BAND_LIVE, 4, PAGE }, { MF_BAND_ANONYMOUS, 5, PAGE },
		{ MF_BAND_FILES, 7, PAGE }, { MF_BAND_FILES, 1000, PAGE }, { MF_BAND_MASSIF, 3, PAGE },
	};
	uint8_t states[] = { 0, MF_PAGE_OWN, 0, 0 };
	uint16_t live[] = { 1, 0, 0, 0 }, used[] = { 1, 1, 8, 0 };
	const struct mf_heap_range range = { .start = 2 * PAGE, .end = 6 * PAGE, .states = states, .live = live, .used = used };
	struct mf_residency_detail detail = { 0 }, copy = { 0 };
	struct mf_touched touched = { .source = &source };

	mf_touched_add_mapping(&touched, MF_BAND_FILES, 7 * PAGE, 8 * PAGE);
	mf_touched_add_mapping(&touched, MF_BAND_FILES, 1000 * PAGE, 1001 * PAGE);
	mf_touched_add_range(&touched, &range, PAGE, MF_BAND_ANONYMOUS);
	ASSERT_EQ(0, mf_touched_finish(&touched, &detail));
	mf_touched_deinit(&touched);
	EXPECT_EQ(5 * PAGE, detail.counted);
	ASSERT_EQ(sizeof(wanted) / sizeof(wanted[0]), detail.n_touches);
	EXPECT_EQ(0, memcmp(wanted, detail.touches, sizeof(wanted)));
	ASSERT_EQ(0, mf_residency_detail_copy(&copy, &detail));
	EXPECT_EQ(detail.n_touches, copy.n_touches);
	EXPECT_NE(detail.touches, copy.touches);
	EXPECT_EQ(0, memcmp(wanted, copy.touches, sizeof(wanted)));
	mf_residency_detail_deinit(&copy);
	mf_residency_detail_deinit(&detail);

	/* Pages without a block are the allocator's, too, if it is its heap. */
	touched = (struct mf_touched){ .source = &source };
	mf_touched_add_range(&touched, &range, PAGE, MF_BAND_FREE_PAGES);
	ASSERT_EQ(0, mf_touched_finish(&touched, &detail));
	mf_touched_deinit(&touched);
	ASSERT_EQ(4, detail.n_touches);
	EXPECT_EQ(MF_BAND_LIVE, detail.touches[2].band);
	EXPECT_EQ(5, detail.touches[2].context);
	mf_residency_detail_deinit(&detail);

	/* Without a source, there is nothing. */
	touched = (struct mf_touched){ 0 };
	mf_touched_add_range(&touched, &range, PAGE, MF_BAND_FREE_PAGES);
	ASSERT_EQ(0, mf_touched_finish(&touched, &detail));
	EXPECT_EQ(NULL, detail.touches);
	EXPECT_EQ(0, detail.counted);
}

/* A table or tree has each stack once, whatever the bands of its pages. */
TEST(leaves_of_several_bands)
{
	struct mf_residency_touch touches[] = {
		{ MF_BAND_LIVE, 1, 10 }, { MF_BAND_ANONYMOUS, 1, 5 }, { MF_BAND_ANONYMOUS, 4, 7 }, { MF_BAND_FILES, 0, 3 },
		{ MF_BAND_MASSIF, 4, 100 },
	};
	const struct mf_residency_detail detail = { .touches = touches, .n_touches = 5 };
	struct mf_touched_leaves leaves;
	struct mf_error err;

	ASSERT_EQ(0, mf_touched_leaves_make(&leaves, &detail, MF_TOUCHED_ALL, &err));
	ASSERT_EQ(3, leaves.snapshot.n_leaves);
	EXPECT_EQ(25, leaves.snapshot.heap_bytes);
	EXPECT_EQ(0, leaves.leaves[0].context);
	EXPECT_EQ(3, leaves.leaves[0].bytes);
	EXPECT_EQ(1, leaves.leaves[1].context);
	EXPECT_EQ(15, leaves.leaves[1].bytes);
	EXPECT_EQ(7, leaves.leaves[2].bytes);
	mf_touched_leaves_deinit(&leaves);
	ASSERT_EQ(0, mf_touched_leaves_make(&leaves, &detail, 1u << MF_BAND_STACKS, &err));
	EXPECT_EQ(0, leaves.snapshot.n_leaves);
	mf_touched_leaves_deinit(&leaves);
}

/* Stack 0 has a kind of page and two calls, stack 1 nothing but a kind. */
static uint32_t read_stack(const void *data, uint32_t number, struct mf_frame *frames)
{
	for (uint32_t i = 0; i < 3; i++)
		frames[i] = (struct mf_frame){ .pc = 10 * number + i };
	return number ? 1 : 3;
}

/* While a process is still being profiled, the stacks begin with the kind of page, which says nothing about the code. */
TEST(stacks_without_the_kind_of_page)
{
	const struct mf_profile recorded = { .read_context = read_stack, .n_contexts = 2 };
	struct mf_first_touches touches = { .profile = &recorded, .with_kinds = true };
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	struct mf_profile profile;

	mf_touched_profile(&touches, &profile);
	ASSERT_EQ(2, profile.read_context(profile.source, 0, frames));
	EXPECT_EQ(1, frames[0].pc);
	EXPECT_EQ(2, frames[1].pc);
	ASSERT_EQ(1, profile.read_context(profile.source, 1, frames));
	EXPECT_EQ(10, frames[0].pc);
	/* Those of a recording are as they are. */
	touches.with_kinds = false;
	mf_touched_profile(&touches, &profile);
	ASSERT_EQ(3, profile.read_context(profile.source, 0, frames));
	EXPECT_EQ(0, frames[0].pc);
}

FIXTURE(section) {
	struct mf_residency written, read;
	struct mf_first_touches touches;
	struct mf_bytes bytes;
};

static void make_detail(struct mf_residency_detail *detail, uint64_t salt)
{
	detail->counted = salt * 4096;
	detail->touches = calloc(3, sizeof(*detail->touches));
	detail->touches[0] = (struct mf_residency_touch){ MF_BAND_ANONYMOUS, CONTEXTS - 1, salt };
	detail->touches[1] = (struct mf_residency_touch){ MF_BAND_FILES, 0, salt + 1 };
	detail->touches[2] = (struct mf_residency_touch){ MF_BAND_FILES, 3, UINT64_MAX / 8 };
	detail->n_touches = 3;
}

FIXTURE_SETUP(section)
{
	const struct mf_first_touches touches = { .peak = 1ull << 40, .peak_ms = 12, .lost = 3 };

	self->written.moments = calloc(1, sizeof(*self->written.moments));
	self->written.n_moments = 1;
	make_detail(&self->written.peak, 1);
	make_detail(&self->written.last, 10);
	make_detail(&self->written.moments[0], 20);
	mf_touches_section_add(&self->bytes, &touches, &self->written);
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
	self->read.moments = calloc(1, sizeof(*self->read.moments));
	self->read.n_moments = 1;
	return mf_touches_section_take(&cursor, CONTEXTS, &self->touches, &self->read);
}

static bool is_same(const struct mf_residency_detail *one, const struct mf_residency_detail *other)
{
	return one->counted == other->counted && one->n_touches == other->n_touches &&
	       !memcmp(one->touches, other->touches, one->n_touches * sizeof(*one->touches));
}

TEST_F(section, is_read_as_written)
{
	ASSERT_EQ(0, take(self, self->bytes.data, self->bytes.size));
	EXPECT_EQ(1ull << 40, self->touches.peak);
	EXPECT_EQ(12, self->touches.peak_ms);
	EXPECT_EQ(3, self->touches.lost);
	EXPECT_TRUE(is_same(&self->written.peak, &self->read.peak));
	EXPECT_TRUE(is_same(&self->written.last, &self->read.last));
	EXPECT_TRUE(is_same(&self->written.moments[0], &self->read.moments[0]));
}

TEST_F(section, that_is_cut_is_refused)
{
	for (size_t size = 0; size < self->bytes.size; size++) {
		EXPECT_EQ(-EBADMSG, take(self, self->bytes.data, size)) {
			TH_LOG("%zu bytes", size);
		}
	}
}

/* A later version may have more numbers at the beginning and for each sample. */
TEST_F(section, of_a_later_version)
{
	static const char later[] = "\x05\x03" "\x07\x08\x09\x63\x63" "\x01\x63\x63" "\x00"
				    "\x02\x63\x63" "\x00" "\x03\x63\x63" "\x00";
	char earlier[sizeof(later)];

	ASSERT_EQ(0, take(self, later, sizeof(later) - 1));
	EXPECT_EQ(7, self->touches.peak);
	EXPECT_EQ(9, self->touches.lost);
	EXPECT_EQ(1, self->read.peak.counted);
	EXPECT_EQ(2, self->read.last.counted);
	EXPECT_EQ(3, self->read.moments[0].counted);
	memcpy(earlier, later, sizeof(later));
	earlier[0] = 2;
	EXPECT_EQ(-EBADMSG, take(self, earlier, sizeof(later) - 1));
	memcpy(earlier, later, sizeof(later));
	earlier[1] = 0;
	EXPECT_EQ(-EBADMSG, take(self, earlier, sizeof(later) - 1));
}

/* Sums with a band or context that there is not, or that are not in order, are refused. */
TEST_F(section, with_wrong_sums)
{
	/* of two sums: band, step of the context (2 n), bytes */
	static const struct {
		char sums[6];
		int code;
	} cases[] = {
		{ { 4, 0, 1, 4, 2, 1 }, 0 },
		{ { 4, 2 * (CONTEXTS - 1), 1, 5, 2 * (CONTEXTS - 1) - 1, 1 }, 0 }, /* from the last context to the first */
		{ { 4, 2 * CONTEXTS, 1, 5, 0, 1 }, -EBADMSG },
		{ { 4, 1, 1, 5, 0, 1 }, -EBADMSG },
		{ { 4, 2, 1, 5, 3, 1 }, -EBADMSG }, /* below context 0 */
		{ { 4, 2, 1, 4, 0, 1 }, -EBADMSG }, /* the same twice */
		{ { 4, 2, 1, 4, 1, 1 }, -EBADMSG },
		{ { 4, 2, 1, 3, 2, 1 }, -EBADMSG },
		{ { MF_BANDS, 2, 1, MF_BANDS, 2, 1 }, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char bytes[64] = "\x03\x01" "\x07\x08\x09" "\x01\x02";

		memcpy(bytes + 7, cases[i].sums, sizeof(cases[i].sums));
		EXPECT_EQ(cases[i].code, take(self, bytes, 7 + sizeof(cases[i].sums) + 4)) {
			TH_LOG("case %zu", i);
		}
	}
}

FIXTURE(recording) {
	struct mf_recording recording;
	struct mf_error err;
	char path[64];
};

FIXTURE_SETUP(recording)
{
	snprintf(self->path, sizeof(self->path), "massif.touches.%d", (int)getpid());
}

FIXTURE_TEARDOWN(recording)
{
	mf_recording_release(&self->recording);
	unlink(self->path);
}

/* Writes a recording, but for the sections of type @without. The module has counted @counted at the only sample. */
static void write_recording(struct __test_metadata *_metadata, FIXTURE_DATA(recording) *self, uint32_t without,
			    uint64_t counted)
{
	struct mf_residency_sample sample = { .bands = { [MF_BAND_ANONYMOUS] = 4096 } };
	struct mf_residency_touch touch = { MF_BAND_ANONYMOUS, TOUCHES_UNKNOWN, 4096 };
	const struct mf_residency residency = {
		.samples = &sample, .n_samples = 1,
		.peak = { .sample = sample, .touches = &touch, .n_touches = 1, .counted = counted },
	};

	ASSERT_TRUE(touches_recording_write(self->path, &residency, 1, without));
}

TEST_F(recording, has_a_profile_of_touches)
{
	const struct mf_recorded *process;
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];

	write_recording(_metadata, self, 0, 4096);
	ASSERT_EQ(0, mf_recording_read(self->path, &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	process = self->recording.processes[0];
	ASSERT_NE(NULL, process->profile.touches);
	EXPECT_EQ(8192, process->profile.touches->peak);
	EXPECT_EQ(1, process->profile.touches->lost);
	ASSERT_EQ(1, process->residency.peak.n_touches);
	EXPECT_EQ(4096, process->residency.peak.touches[0].bytes);
	/* Its stacks begin with the code: the kind of page is left out. */
	ASSERT_EQ(TOUCHES_CONTEXTS, process->touched->profile.n_contexts);
	ASSERT_EQ(1, process->touched->profile.read_context(process->touched, 0, frames));
	EXPECT_EQ(0x1234, frames[0].pc);
}

/* The profile must be complete, and without it or the samples the sums mean nothing. */
TEST_F(recording, that_lacks_a_section)
{
	static const uint32_t needed[] = {
		MF_SECTION_RESIDENCY, MF_SECTION_TOUCHED + MF_SECTION_PROCESS, MF_SECTION_TOUCHED + MF_SECTION_OBJECTS,
		MF_SECTION_TOUCHED + MF_SECTION_STACKS, MF_SECTION_TOUCHED + MF_SECTION_NAMES,
		MF_SECTION_TOUCHED + MF_SECTION_SNAPSHOTS,
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		write_recording(_metadata, self, needed[i], 4096);
		EXPECT_EQ(-EBADMSG, mf_recording_read(self->path, &self->recording, &self->err));
		EXPECT_NE(NULL, strstr(self->err.text, "the first touches of process 1 are invalid"));
		mf_recording_release(&self->recording);
	}
	/* Only the sums are missing: the rest can be read. */
	write_recording(_metadata, self, MF_SECTION_TOUCHES, 4096);
	ASSERT_EQ(0, mf_recording_read(self->path, &self->recording, &self->err)) TH_LOG("%s", self->err.text);
	EXPECT_EQ(NULL, self->recording.processes[0]->profile.touches);
}

/* If the module has seen a larger resident set than the samples, it says who had touched that. */
TEST_F(recording, has_a_peak_between_samples)
{
	struct ctl_result result;

	write_recording(_metadata, self, 0, 4096);
	CTL_RUN(&result, "massif-ctl", "show", "--rss", self->path);
	EXPECT_EQ(0, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.out, "\nThe peak was between samples: 8.000 KB then, by")) {
		TH_LOG("%s", result.out);
	}
	EXPECT_NE(NULL, strstr(result.out, "\n  8.000 KB   4.000 KB 100.00%  0x1234"));
	ctl_result_free(&result);
	CTL_RUN(&result, "massif-ctl", "show", "--rss", "--tree", self->path);
	EXPECT_NE(NULL, strstr(result.out, "\n  8.000 KB 100.00%  0x1234"));
	ctl_result_free(&result);
	/* Not if a sample has it all. */
	write_recording(_metadata, self, 0, 8192);
	CTL_RUN(&result, "massif-ctl", "show", "--rss", self->path);
	EXPECT_EQ(NULL, strstr(result.out, "between samples: 8"));
	EXPECT_NE(NULL, strstr(result.out, "\nOther anonymous mappings, by the code that touched their pages first\n"));
	ctl_result_free(&result);
}

/* Reads all that there is of the first touches. */
static void use(struct __test_metadata *_metadata, const struct mf_recorded *process)
{
	const struct mf_first_touches *touches = process->profile.touches;
	const struct mf_residency_detail *detail = &process->residency.peak;
	static const struct mf_report_options options = { .depth = 30 };
	const struct mf_moment moment = { &process->profile, process->end, &options, process->symbolizer };
	const struct mf_html_source page = {
		.sides[MF_HTML_NEW] = { "massif.rec", (struct mf_recorded *const *)&process, 1, NULL }, .options = &options,
	};
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	FILE *null = fopen("/dev/null", "w");
	struct mf_error err;
	size_t size;
	char *text;

	ASSERT_NE(NULL, null);
	for (size_t i = 0; touches && i < detail->n_touches; i++) {
		ASSERT_GT(touches->profile->n_contexts, detail->touches[i].context);
		touches->profile->read_context(touches->profile->source, detail->touches[i].context, frames);
	}
	mf_json_file_write(null, &process->profile, &options, process->symbolizer, &err);
	mf_pprof_write(null, &moment, &err);
	if (!mf_html_data_make(&page, SIZE_MAX / 2, &text, &size, &err))
		free(text);
	fclose(null);
}

/* Whatever a section contains, it is refused, or what it has can be used. */
TEST_F_TIMEOUT(recording, with_any_contents, 120)
{
	struct mf_bytes file = { 0 };
	uint64_t seed = 1;
	size_t n_read = 0;
	char *text;
	long size;
	FILE *in;

	write_recording(_metadata, self, 0, 4096);
	in = fopen(self->path, "r");
	ASSERT_NE(NULL, in);
	fseek(in, 0, SEEK_END);
	size = ftell(in);
	rewind(in);
	text = malloc((size_t)size);
	ASSERT_EQ((size_t)size, fread(text, 1, (size_t)size, in));
	fclose(in);
	for (int i = 0; i < MUTANTS; i++) {
		mf_bytes_add(&file, text, (size_t)size);
		mutant_change_section(&file, &seed);
		in = fopen(self->path, "w");
		ASSERT_EQ(file.size, fwrite(file.data, 1, file.size, in));
		fclose(in);
		if (!mf_recording_read(self->path, &self->recording, &self->err)) {
			use(_metadata, self->recording.processes[0]);
			n_read++;
		}
		mf_recording_release(&self->recording);
		mf_bytes_deinit(&file);
	}
	/* Some are refused, and some are not. */
	EXPECT_LT(MUTANTS / 20, n_read);
	EXPECT_GT(MUTANTS, n_read);
	free(text);
}

FIXTURE(without_module) {
	struct ctl_result result;
};

FIXTURE_SETUP(without_module)
{
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(without_module)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

/* If the user wants the module and nothing else, the program is not started. */
TEST_F(without_module, it_is_an_error_if_it_was_asked_for)
{
	if (!access("/dev/massif", F_OK))
		SKIP(return, "massif.ko is loaded");
	CTL_RUN(&self->result, "massif-ctl", "record", "--rss=module", "--record=massif.rec", "touch", "massif.touched");
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "/dev/massif")) TH_LOG("%s", self->result.err);
	EXPECT_NE(NULL, strstr(self->result.err, "--rss=sampled")) TH_LOG("%s", self->result.err);
	EXPECT_EQ(-1, access("massif.touched", F_OK));
}

TEST_F(without_module, samples_are_of_proc)
{
	if (!access("/dev/massif", F_OK))
		SKIP(return, "massif.ko is loaded");
	CTL_RUN(&self->result, "massif-ctl", "record", "--rss=yes", "--record=massif.rec", "sleep", "1");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_EQ(NULL, strstr(self->result.err, "massif.ko"));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "show", "--rss", "massif.rec");
	EXPECT_NE(NULL, strstr(self->result.out, "\nSource: /proc, sampled. It does not say which code")) {
		TH_LOG("%s", self->result.out);
	}
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "record", "--rss=often", "true");
	EXPECT_NE(0, ctl_exit_code(&self->result));
}

TEST_HARNESS_MAIN
