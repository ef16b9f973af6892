// SPDX-License-Identifier: GPL-2.0
// Changes files at random: what damage, or somebody hostile, may make of a recording or a massif.out file.

#include "selftests/lib/mutant.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/section.h"
#include "selftests/lib/model_oracle.h"

#define SECTIONS_MOST 256

static const uint64_t extremes[] = {
	0, 1, 2, 127, 128, 255, UINT16_MAX, 1u << 20, INT32_MAX, UINT32_MAX, 1ull << 32, 1ull << 40, INT64_MAX,
	UINT64_MAX - 1, UINT64_MAX,
};

static uint64_t extreme(uint64_t *seed)
{
	return extremes[oracle_below(seed, sizeof(extremes) / sizeof(extremes[0]))];
}

/* Puts the @size bytes at @data in place of the @n bytes of @file at @at. */
static void replace(struct mf_bytes *file, size_t at, size_t n, const void *data, size_t size)
{
	struct mf_bytes made = { 0 };

	if (n > file->size - at)
		n = file->size - at;
	mf_bytes_add(&made, file->data, at);
	mf_bytes_add(&made, data, size);
	mf_bytes_add(&made, file->data + at + n, file->size - at - n);
	mf_bytes_deinit(file);
	*file = made;
}

/* Returns the beginning of a line, at random. */
static size_t line_at(const struct mf_bytes *file, uint64_t *seed)
{
	size_t at = oracle_below(seed, file->size + 1);

	while (at && file->data[at - 1] != '\n')
		at--;
	return at;
}

static size_t length_of_line(const struct mf_bytes *file, size_t at)
{
	const uint8_t *end = at < file->size ? memchr(file->data + at, '\n', file->size - at) : NULL;

	return end ? (size_t)(end - file->data) + 1 - at : file->size - at;
}

static void copy_part(struct mf_bytes *file, size_t from, size_t size, size_t to)
{
	struct mf_bytes part = { 0 };

	mf_bytes_add(&part, file->data + from, size);
	replace(file, to, 0, part.data, part.size);
	mf_bytes_deinit(&part);
}

static void change_line(struct mf_bytes *file, uint64_t *seed)
{
	size_t at = line_at(file, seed), other = line_at(file, seed);
	size_t length = length_of_line(file, at);

	switch (oracle_below(seed, 4)) {
	case 0:
		replace(file, at, length, "", 0);
		break;
	case 1:
		copy_part(file, at, length, other);
		break;
	case 2:
		/* Deeper, or less deep, in a tree. */
		replace(file, at, oracle_below(seed, 2), "   ", oracle_below(seed, 4));
		break;
	default:
		/* From here on, all is there twice. */
		if (file->size < 1 << 16)
			copy_part(file, at, file->size - at, file->size);
	}
}

/* Puts another number in place of the digits at a place, if there are any. */
static void change_digits(struct mf_bytes *file, uint64_t *seed)
{
	size_t at = oracle_below(seed, file->size + 1), n = 0;
	char text[32];

	while (at < file->size && !isdigit(file->data[at]))
		at++;
	while (at + n < file->size && isdigit(file->data[at + n]))
		n++;
	snprintf(text, sizeof(text), "%s%" PRIu64, oracle_below(seed, 8) ? "" : "-", extreme(seed));
	replace(file, at, n, text, strlen(text));
}

/* Puts another number in place of the one that begins at a byte, in the form that sections have. */
static void change_number(struct mf_bytes *file, uint64_t *seed)
{
	size_t at = oracle_below(seed, file->size + 1), n = 1;
	struct mf_bytes number = { 0 };

	while (at + n < file->size && file->data[at + n - 1] & 0x80)
		n++;
	mf_bytes_add_unsigned(&number, extreme(seed));
	replace(file, at, n, number.data, number.size);
	mf_bytes_deinit(&number);
}

static void change_bytes(struct mf_bytes *file, uint64_t *seed)
{
	size_t at = oracle_below(seed, file->size + 1), from = oracle_below(seed, file->size + 1);
	uint8_t byte = (uint8_t)oracle_random(seed);

	switch (oracle_below(seed, 6)) {
	case 0:
		if (at < file->size)
			file->data[at] ^= (uint8_t)(1 << oracle_below(seed, 8));
		break;
	case 1:
		replace(file, at, 1, &byte, 1);
		break;
	case 2:
		replace(file, at, 0, &byte, 1);
		break;
	case 3:
		replace(file, at, 1 + oracle_below(seed, 8), "", 0);
		break;
	case 4:
		copy_part(file, from, oracle_below(seed, file->size - from + 1) % 256, at);
		break;
	default:
		file->size = at;
	}
}

void mutant_change(struct mf_bytes *file, uint64_t *seed)
{
	for (uint64_t n = 1 + oracle_below(seed, 4); n; n--) {
		switch (oracle_below(seed, 4)) {
		case 0:
			change_line(file, seed);
			break;
		case 1:
			change_digits(file, seed);
			break;
		case 2:
			change_number(file, seed);
			break;
		default:
			change_bytes(file, seed);
		}
	}
}

void mutant_change_section(struct mf_bytes *file, uint64_t *seed)
{
	struct mf_section_reader reader = mf_section_reader(file->data, file->size);
	struct {
		uint32_t type;
		struct mf_bytes contents;
	} sections[SECTIONS_MOST];
	struct mf_bytes made = { 0 };
	size_t n = 0, chosen;

	if (mf_section_check_magic(&reader, NULL))
		return;
	for (; n < SECTIONS_MOST; n++) {
		uint8_t *data;
		size_t size;

		if (mf_section_read(&reader, &sections[n].type, &data, &size, NULL) <= 0)
			break;
		sections[n].contents = (struct mf_bytes){ .data = data, .size = size, .room = size };
	}
	chosen = n ? oracle_below(seed, n) : 0;
	mf_section_add_magic(&made);
	for (size_t i = 0; i < n; i++) {
		if (i == chosen && oracle_below(seed, 16))
			mutant_change(&sections[i].contents, seed);
		else if (i == chosen)
			sections[i].type = 1 + (uint32_t)oracle_below(seed, MF_SECTION_TYPES);
		mf_section_add(&made, sections[i].type, &sections[i].contents);
		mf_bytes_deinit(&sections[i].contents);
	}
	mf_bytes_deinit(file);
	*file = made;
}
