// SPDX-License-Identifier: GPL-2.0
// The format of recordings: numbers, sections, limits, and files that are damaged.

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "kselftest_harness.h"

#include "base/bytes.h"
#include "recording/facts.h"
#include "recording/section.h"

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
static void add_claim(struct mf_bytes *file, uint64_t size)
{
	struct {
		uint32_t sum, type;
		uint64_t stored, size;
		uint8_t contents[8];
	} section = { .type = htole32(MF_SECTION_NAMES), .stored = htole64(8), .size = htole64(size) };

	section.sum = htole32((uint32_t)crc32_z(0, (uint8_t *)&section + 4, sizeof(section) - 4));
	mf_bytes_add(file, &section, sizeof(section));
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
		struct mf_bytes file = { 0 };
		struct mf_cursor cursor;
		uint8_t *contents;
		uint32_t type;
		size_t size;

		add_claim(&file, cases[i].size);
		cursor = cursor_of(&file);
		EXPECT_EQ(cases[i].code, mf_section_read(&cursor, &type, &contents, &size, NULL));
		mf_bytes_deinit(&file);
	}
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
		struct mf_cursor cursor = cursor_of(&file);

		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		EXPECT_GT(0, mf_section_read(&cursor, &type, &read, &size, NULL));
		file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t end = 1; end < file.size; end++) {
		struct mf_cursor cursor = { file.data, file.data + end, false };

		EXPECT_EQ(-ENODATA, mf_section_read(&cursor, &type, &read, &size, NULL));
	}
	for (struct mf_cursor cursor = cursor_of(&file); cursor.at < cursor.end;) {
		ASSERT_EQ(1, mf_section_read(&cursor, &type, &read, &size, NULL));
		EXPECT_EQ(MF_SECTION_STACKS, type);
		ASSERT_EQ(contents.size, size);
		EXPECT_EQ(0, memcmp(contents.data, read, size));
		free(read);
	}
	mf_bytes_deinit(&contents);
	mf_bytes_deinit(&file);
}

TEST(facts)
{
	const struct mf_facts written = {
		.pid = 4711, .name = "name", .cmd = "name with words", .pages = 1, .end_time = -5, .end_heap = UINT64_MAX,
	};
	struct mf_bytes bytes = { 0 };
	struct mf_facts facts;
	struct mf_cursor cursor;

	mf_facts_add(&bytes, &written);
	cursor = cursor_of(&bytes);
	mf_facts_take(&cursor, &facts);
	EXPECT_FALSE(cursor.bad);
	EXPECT_EQ(4711, facts.pid);
	EXPECT_EQ(0, facts.parent);
	EXPECT_STREQ("name", facts.name);
	EXPECT_STREQ("name with words", facts.cmd);
	EXPECT_EQ(NULL, facts.desc);
	EXPECT_EQ(-5, facts.end_time);
	EXPECT_EQ(UINT64_MAX, facts.end_heap);
	mf_bytes_deinit(&bytes);

	/* A later version knows more, and one fact has become a text. */
	mf_bytes_add_unsigned(&bytes, 4);
	mf_bytes_add_unsigned(&bytes, 3 * 1000 + 2);
	mf_bytes_add_text(&bytes, "new");
	mf_bytes_add_unsigned(&bytes, 3 * 1001 + 1);
	mf_bytes_add_signed(&bytes, -1);
	mf_bytes_add_unsigned(&bytes, 3 * 1 + 2);
	mf_bytes_add_text(&bytes, "parent");
	mf_bytes_add_unsigned(&bytes, 3 * 0 + 0);
	mf_bytes_add_unsigned(&bytes, 12);
	cursor = cursor_of(&bytes);
	mf_facts_take(&cursor, &facts);
	EXPECT_FALSE(cursor.bad);
	EXPECT_EQ(12, facts.pid);
	EXPECT_EQ(0, facts.parent);
	mf_bytes_deinit(&bytes);
}

TEST_HARNESS_MAIN
