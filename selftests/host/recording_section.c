// SPDX-License-Identifier: GPL-2.0
// The sections of recordings: numbers, texts, checksums, and the limits of their sizes.

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "recording/reader.h"
#include "recording/section.h"
#include "selftests/lib/model_oracle.h"

static struct mf_cursor cursor_of(const struct mf_bytes *bytes)
{
	return (struct mf_cursor){ bytes->data, bytes->data + bytes->size, false };
}

TEST(numbers_and_texts)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX };
	static const int64_t differences[] = { 0, -1, 1, -64, 64, INT64_MAX, INT64_MIN };
	struct mf_bytes bytes = { 0 };
	struct mf_cursor cursor;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		mf_bytes_add_unsigned(&bytes, numbers[i]);
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++)
		mf_bytes_add_signed(&bytes, differences[i]);
	mf_bytes_add_text(&bytes, NULL);
	mf_bytes_add_text(&bytes, "");
	mf_bytes_add_text(&bytes, "text");
	ASSERT_FALSE(bytes.failed);
	cursor = cursor_of(&bytes);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		EXPECT_EQ(numbers[i], mf_cursor_unsigned(&cursor));
	for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++)
		EXPECT_EQ(differences[i], mf_cursor_signed(&cursor));
	EXPECT_EQ(NULL, mf_cursor_text(&cursor));
	EXPECT_STREQ("", mf_cursor_text(&cursor));
	EXPECT_STREQ("text", mf_cursor_text(&cursor));
	EXPECT_FALSE(cursor.bad);
	EXPECT_EQ(cursor.at, cursor.end);
	/* Nothing is left. */
	EXPECT_EQ(0, mf_cursor_unsigned(&cursor));
	EXPECT_TRUE(cursor.bad);
	mf_bytes_deinit(&bytes);
}

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
} mistakes[] = {
	{ "a number that goes on", "\x80\x80", 2 },
	{ "a number of more than 64 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },
	{ "a number of more than ten bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11 },
	{ "a text that is longer than the rest", "\x05" "abc", 4 },
	{ "a text without its end", "\x03" "abc", 4 },
	{ "a text that ends before its end", "\x04" "a\0b", 5 },
};

TEST(mistakes_are_noticed)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		const uint8_t *data = (const uint8_t *)mistakes[i].bytes;
		struct mf_cursor cursor = { data, data + mistakes[i].size, false };

		TH_LOG("%s", mistakes[i].what);
		EXPECT_EQ(NULL, mf_cursor_text(&cursor));
		EXPECT_TRUE(cursor.bad);
		EXPECT_EQ(0, mf_cursor_signed(&cursor));
	}
}

/* A section whose head says that it has @size bytes, with a right checksum, and contents that are not compressed. */
static void add_claim(struct mf_bytes *file, uint32_t type, uint64_t size)
{
	struct {
		uint32_t sum, type;
		uint64_t stored, size;
		uint8_t contents[8];
	} section = { .type = htole32(type), .stored = htole64(8), .size = htole64(size) };

	section.sum = htole32((uint32_t)crc32_z(0, (uint8_t *)&section + 4, sizeof(section) - 4));
	mf_bytes_add(file, &section, sizeof(section));
}

/* What is not read is not written either. The contents are never looked at. */
TEST(too_large_to_be_written)
{
	struct mf_bytes file = { 0 }, contents = { .size = MF_SECTION_MAX + 1 };

	EXPECT_EQ(-E2BIG, mf_section_add(&file, MF_SECTION_NAMES, &contents));
	contents.size = MF_SECTION_MAX * 10;
	EXPECT_EQ(-E2BIG, mf_section_add(&file, MF_SECTION_NAMES, &contents));
	EXPECT_EQ(0, file.size);
}

TEST(largest_section)
{
	static const struct {
		uint64_t size;
		int code;
	} cases[] = {
		{ MF_SECTION_MAX, -EBADMSG }, /* it is tried, but these are no compressed bytes */
		{ MF_SECTION_MAX + 1, -E2BIG },
		{ MF_SECTION_MAX * 10, -E2BIG },
		{ UINT64_MAX, -E2BIG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mf_section_reader reader;
		struct mf_bytes file = { 0 };
		uint8_t *contents;
		uint32_t type;
		size_t size;

		add_claim(&file, MF_SECTION_NAMES, cases[i].size);
		reader = mf_section_reader(file.data, file.size);
		reader.room = UINT64_MAX / 2;
		EXPECT_EQ(cases[i].code, mf_section_read(&reader, &type, &contents, &size, NULL));
		mf_bytes_deinit(&file);
	}
}

/* Reads a file of one section, of 8 bytes that claim to become @size. Keeps in @reader how much room that leaves. */
static int read_claim(uint64_t size, struct mf_section_reader *reader, struct mf_error *err)
{
	struct mf_bytes file = { 0 };
	uint8_t *contents;
	uint32_t type;
	size_t got;
	int code;

	add_claim(&file, MF_SECTION_NAMES, size);
	*reader = mf_section_reader(file.data, file.size);
	code = mf_section_read(reader, &type, &contents, &got, err);
	mf_bytes_deinit(&file);
	return code;
}

/* A few bytes do not become many megabytes, and the message says where they are. */
TEST(expansion_of_small_files)
{
	const uint64_t most = MF_SECTION_ALLOWANCE_MAX + 32 * MF_SECTION_EXPANSION_MAX;
	struct mf_section_reader reader;
	struct mf_error err;

	EXPECT_EQ(-EBADMSG, read_claim(most, &reader, &err));
	EXPECT_STREQ("the section at byte 0 cannot be decompressed", err.text);
	EXPECT_EQ(0, reader.room);
	EXPECT_EQ(-E2BIG, read_claim(most + 1, &reader, &err));
	EXPECT_STREQ("the section at byte 0 would have 1052673 bytes after decompression, too many for the first 32 bytes "
		     "of a file", err.text);
	EXPECT_EQ(-E2BIG, read_claim(10 * most, &reader, &err));
}

/* Sections that compress better, such as a profile whose snapshots are all alike, are padded, however many there are. */
TEST(expansion_of_our_own_files)
{
	static const size_t sizes[] = { 0, 24 * MF_SECTION_EXPANSION_MAX, 1 << 16, 10000001, 1 << 26 };
	struct mf_section_reader reader;
	struct mf_bytes file = { 0 };
	uint8_t *contents;
	uint32_t type;
	size_t size;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mf_bytes alike = { .data = calloc(1, sizes[i] + 1), .size = sizes[i], .room = sizes[i] + 1 };
		size_t before = file.size, stored;

		ASSERT_NE(NULL, alike.data);
		ASSERT_EQ(0, mf_section_add(&file, MF_SECTION_SNAPSHOTS, &alike));
		stored = file.size - before;
		EXPECT_LE(sizes[i], stored * MF_SECTION_EXPANSION_MAX);
		EXPECT_GT(sizes[i] + 100 * MF_SECTION_EXPANSION_MAX, stored * MF_SECTION_EXPANSION_MAX);
		mf_bytes_deinit(&alike);
	}
	reader = mf_section_reader(file.data, file.size);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ASSERT_EQ(1, mf_section_read(&reader, &type, &contents, &size, NULL));
		EXPECT_EQ(sizes[i], size);
		EXPECT_LE(MF_SECTION_ALLOWANCE_MAX, reader.room);
		free(contents);
	}
	EXPECT_EQ(0, mf_section_read(&reader, &type, &contents, &size, NULL));
	mf_bytes_deinit(&file);
}

/* A section of a type from a later version can be of any size, and of any form. */
TEST(unknown_sections_are_skipped)
{
	struct mf_section_reader reader;
	struct mf_bytes file = { 0 };
	uint8_t *contents;
	uint32_t type;
	size_t size;

	add_claim(&file, MF_SECTION_TYPES, UINT64_MAX);
	reader = mf_section_reader(file.data, file.size);
	EXPECT_EQ(1, mf_section_read(&reader, &type, &contents, &size, NULL));
	EXPECT_EQ(MF_SECTION_TYPES, type);
	EXPECT_EQ(NULL, contents);
	EXPECT_EQ(0, mf_section_read(&reader, &type, &contents, &size, NULL));
	mf_bytes_deinit(&file);
}

/* Whatever bit of a section is wrong, or wherever it ends, it is refused. */
TEST(every_bit_of_a_section_counts)
{
	struct mf_bytes contents = { 0 }, file = { 0 };
	uint8_t *read;
	uint32_t type;
	size_t size;

	mf_bytes_add_text(&contents, "some contents, some contents, some contents");
	ASSERT_EQ(0, mf_section_add(&file, MF_SECTION_STACKS, &contents));
	for (size_t bit = 0; bit < 8 * file.size; bit++) {
		struct mf_section_reader reader = mf_section_reader(file.data, file.size);

		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		EXPECT_GT(0, mf_section_read(&reader, &type, &read, &size, NULL));
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t end = 1; end < file.size; end++) {
		struct mf_section_reader reader = mf_section_reader(file.data, end);

		EXPECT_EQ(-ENODATA, mf_section_read(&reader, &type, &read, &size, NULL));
	}
	for (struct mf_section_reader reader = mf_section_reader(file.data, file.size); reader.cursor.at < reader.cursor.end;) {
		ASSERT_EQ(1, mf_section_read(&reader, &type, &read, &size, NULL));
		EXPECT_EQ(MF_SECTION_STACKS, type);
		ASSERT_EQ(contents.size, size);
		EXPECT_EQ(0, memcmp(contents.data, read, size));
		free(read);
	}
	mf_bytes_deinit(&contents);
	mf_bytes_deinit(&file);
}

TEST_HARNESS_MAIN
