// SPDX-License-Identifier: GPL-2.0
// The inputs with which the fuzzer of recordings begins: what they do not reach, it hardly finds by itself. They are accepted,
// and together they have every section of a recording.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "recording/reader.h"
#include "selftests/lib/full_recording.h"
#include "selftests/lib/section_list.h"

#define PATH "fuzz_seeds.rec"

FIXTURE(seeds)
{
	struct mf_bytes list;
	struct mf_recording recording;
};

FIXTURE_VARIANT(seeds)
{
	enum full_recording which;
	size_t n_processes, n_sampled, n_touched;
};

FIXTURE_VARIANT_ADD(seeds, heap) { FULL_RECORDING_HEAP, 1, 1, 0 };
FIXTURE_VARIANT_ADD(seeds, touches) { FULL_RECORDING_TOUCHES, 1, 1, 1 };
FIXTURE_VARIANT_ADD(seeds, pages) { FULL_RECORDING_PAGES, 1, 0, 0 };
FIXTURE_VARIANT_ADD(seeds, family) { FULL_RECORDING_FAMILY, 3, 2, 1 };

static struct mf_cursor cursor_of(const struct mf_bytes *bytes)
{
	return (struct mf_cursor){ bytes->data, bytes->data + bytes->size, false };
}

/* Makes the list of the sections, as the seed has it. */
static bool make_list(enum full_recording which, struct mf_bytes *list)
{
	struct mf_bytes file = { 0 };
	bool worked = full_recording_write(which, &file) && section_list_open(&file, list);

	mf_bytes_deinit(&file);
	return worked;
}

static bool write_file(const struct mf_bytes *bytes)
{
	FILE *out = fopen(PATH, "w");
	bool worked = out && fwrite(bytes->data, 1, bytes->size, out) == bytes->size;

	return out && !fclose(out) && worked;
}

FIXTURE_SETUP(seeds)
{
	struct mf_bytes file = { 0 };

	ASSERT_TRUE(make_list(variant->which, &self->list));
	/* The fuzzer makes a file of the list in the same way. */
	ASSERT_TRUE(section_list_seal(cursor_of(&self->list), &file));
	ASSERT_TRUE(write_file(&file));
	mf_bytes_deinit(&file);
}

FIXTURE_TEARDOWN(seeds)
{
	mf_recording_release(&self->recording);
	mf_bytes_deinit(&self->list);
	remove(PATH);
}

static bool has_sites(const struct mf_residency_detail *detail)
{
	return detail->n_sites && detail->n_areas && mf_residency_rss(&detail->sample);
}

static bool has_touches(const struct mf_residency_detail *detail)
{
	return detail->n_touches && detail->counted;
}

TEST_F(seeds, are_accepted)
{
	struct mf_error err = { 0 };
	size_t n_sampled = 0, n_touched = 0;

	ASSERT_EQ(0, mf_recording_read(PATH, &self->recording, &err)) TH_LOG("%s", err.text);
	EXPECT_EQ(NULL, self->recording.damage) TH_LOG("%s", self->recording.damage);
	EXPECT_EQ(variant->n_processes, self->recording.n_processes);
	for (size_t i = 0; i < self->recording.n_processes; i++) {
		const struct mf_recorded *process = self->recording.processes[i];
		const struct mf_residency *residency = process->profile.residency;

		EXPECT_LT(2, process->profile.n_snapshots);
		n_sampled += residency && residency->n_samples;
		n_touched += process->profile.touches != NULL;
		if (residency) {
			EXPECT_TRUE(has_sites(&residency->peak) && has_sites(&residency->last));
			EXPECT_LT(1, residency->n_moments);
		}
		if (process->profile.touches) {
			EXPECT_TRUE(has_touches(&residency->peak) && has_touches(&residency->moments[0]));
			EXPECT_LT(0, process->touched->profile.n_contexts);
		}
	}
	EXPECT_EQ(variant->n_sampled, n_sampled);
	EXPECT_EQ(variant->n_touched, n_touched);
}

/* If recordings get another section, a seed must have it, too. */
TEST(every_section_is_in_a_seed)
{
	bool has[MF_SECTION_TYPES] = { 0 };

	for (enum full_recording which = 0; which < FULL_RECORDINGS; which++) {
		struct mf_bytes list = { 0 };
		struct section_list_part part;
		struct mf_cursor cursor;

		ASSERT_TRUE(make_list(which, &list));
		for (cursor = cursor_of(&list); section_list_take(&cursor, &part);) {
			ASSERT_LT(part.type, MF_SECTION_TYPES);
			has[part.type] |= part.size || part.type == MF_SECTION_END;
		}
		mf_bytes_deinit(&list);
	}
	for (uint32_t type = MF_SECTION_PROCESS; type < MF_SECTION_TYPES; type++) {
		/* This is the number from which the types of a profile of touches are counted, but not a type. */
		if (type == MF_SECTION_TOUCHED)
			continue;
		EXPECT_TRUE(has[type]) TH_LOG("no seed has section %u", type);
	}
}

TEST_HARNESS_MAIN
