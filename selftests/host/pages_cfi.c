// SPDX-License-Identifier: GPL-2.0
// Our index of unwind rules, with tables written by the test, including invalid ones.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "cfi/index.h"

#define ADDRESS 0x100000u /* address of the generated rules */
#define LOADED	0x2000u	  /* address of the section */
#define CODE	0x1000u	  /* address of the code, 100 bytes long */

struct section {
	uint8_t bytes[1024];
	size_t n;
};

static void put(struct section *section, const void *bytes, size_t n)
{
	memcpy(section->bytes + section->n, bytes, n);
	section->n += n;
}

static void put_word(struct section *section, uint32_t word)
{
	put(section, &word, sizeof(word));
}

static void end_entry(struct section *section, size_t start)
{
	uint32_t length = (uint32_t)(section->n - start - 4);

	memcpy(section->bytes + start, &length, sizeof(length));
}

/* Makes a section with one FDE; its CIE has @augmentation and the augmentation data @data. */
static struct section make(const char *augmentation, const void *data, size_t n_data)
{
	static const uint8_t numbers[] = { 1, 0x78, 16 };
	struct section section = { .n = 0 };
	size_t fde;

	put_word(&section, 0);
	put_word(&section, 0);
	put(&section, "\1", 1);
	put(&section, augmentation, strlen(augmentation) + 1);
	put(&section, numbers, sizeof(numbers));
	if (*augmentation) {
		put(&section, &(uint8_t){ (uint8_t)n_data }, 1);
		put(&section, data, n_data);
	}
	end_entry(&section, 0);
	fde = section.n;
	put_word(&section, 0);
	put_word(&section, (uint32_t)section.n);
	put_word(&section, CODE - (LOADED + (uint32_t)section.n));
	put_word(&section, 100);
	put(&section, "\0\0\0\0", 4);
	end_entry(&section, fde);
	return section;
}

/* Returns how many FDEs are found in it. */
static uint64_t entries_of(const struct section *section)
{
	struct mf_cfi_builder *builder = mf_cfi_begin(ADDRESS);
	/* Exactly that size, so that AddressSanitizer notices reads beyond it. */
	uint8_t *exact = malloc(section->n);
	struct mf_cfi cfi;
	uint64_t n = 0;

	if (!builder || !exact)
		abort();
	memcpy(exact, section->bytes, section->n);
	mf_cfi_add_eh_frame(builder, exact, section->n, LOADED);
	mf_cfi_add_debug_frame(builder, exact, section->n);
	free(exact);
	if (mf_cfi_end(builder, &cfi)) {
		n = cfi.n_entries;
		free(cfi.bytes);
	}
	return n;
}

/* Four-byte pointers relative to their position. */
#define PC_RELATIVE 0x1b

TEST(one_description)
{
	struct section section = make("zR", &(uint8_t){ PC_RELATIVE }, 1);

	EXPECT_EQ(1, entries_of(&section));
}

/* The augmentation S marks a signal frame and has no data. A string of them may have any length. */
TEST(augmentations_of_any_length)
{
	static const size_t lengths[] = { 2, 6, 7, 8, 9, 15, 16, 17, 80, 800 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char augmentation[801] = "zR";
		struct section section;

		memset(augmentation + 2, 'S', lengths[i] - 2);
		section = make(augmentation, &(uint8_t){ PC_RELATIVE }, 1);
		EXPECT_EQ(1, entries_of(&section)) {
			TH_LOG("%zu letters", lengths[i]);
		}
	}
}

TEST(augmentations_that_make_no_sense)
{
	static const uint8_t data[] = { PC_RELATIVE, 4, 2, 3 };
	static const char *const without[] = { "R", "zQ", "zRQ", "zRLLLLL", "zRP", "eh" };
	struct section section;

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		section = make(without[i], data, sizeof(data));
		EXPECT_EQ(0, entries_of(&section)) {
			TH_LOG("%s", without[i]);
		}
	}
	/* The announced size of the data is larger than the section. */
	section = make("zR", data, 1);
	section.bytes[4 + 4 + 1 + 3 + 3] = 0x7f;
	EXPECT_EQ(0, entries_of(&section));
	/* The string has no end. */
	section = make("zR", data, 1);
	memset(section.bytes + 9, 'S', section.n - 9);
	EXPECT_EQ(0, entries_of(&section));
}

TEST_HARNESS_MAIN
