// SPDX-License-Identifier: GPL-2.0
// The sections of a recording without compression and checksums, so that a fuzzer can change their contents.

#include "selftests/lib/section_list.h"

#include <stdlib.h>

#include "recording/section.h"

static uint32_t take_number(struct mf_cursor *list, int bytes)
{
	uint32_t number = 0;

	for (int i = 0; i < bytes && list->at < list->end; i++)
		number |= (uint32_t)*list->at++ << 8 * i;
	return number;
}

bool section_list_take(struct mf_cursor *list, struct section_list_part *part)
{
	size_t left;

	if (list->at == list->end)
		return false;
	part->type = take_number(list, 1) % (MF_SECTION_TYPES + 1);
	part->size = take_number(list, 2);
	left = (size_t)(list->end - list->at);
	if (part->size > left)
		part->size = left;
	part->data = list->at;
	list->at += part->size;
	return true;
}

bool section_list_seal(struct mf_cursor list, struct mf_bytes *file)
{
	struct section_list_part part;

	mf_section_add_magic(file);
	while (section_list_take(&list, &part)) {
		const struct mf_bytes contents = { .data = (uint8_t *)part.data, .size = part.size };

		if (mf_section_add(file, part.type, &contents))
			return false;
	}
	return !file->failed;
}

bool section_list_open(const struct mf_bytes *file, struct mf_bytes *list)
{
	struct mf_section_reader reader = mf_section_reader(file->data, file->size);
	struct mf_error err;
	uint8_t *contents;
	uint32_t type;
	size_t size;
	int code;

	if (mf_section_check_magic(&reader, &err))
		return false;
	while ((code = mf_section_read(&reader, &type, &contents, &size, &err)) > 0) {
		const uint8_t head[] = { (uint8_t)type, (uint8_t)size, (uint8_t)(size >> 8) };

		if (type >= MF_SECTION_TYPES || size > UINT16_MAX)
			list->failed = true;
		mf_bytes_add(list, head, sizeof(head));
		mf_bytes_add(list, contents, size);
		free(contents);
	}
	return !code && !list->failed;
}
