// SPDX-License-Identifier: GPL-2.0
// The sections of a recording file, each with its type, its lengths and a checksum, compressed with zstd.

#include "recording/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Level of compression: larger ones take several times as long for a tenth less. */
#define LEVEL 6

struct magic {
	char text[12];
	uint32_t version;
};

/* The head of a section. @sum is the CRC-32 of the rest of the head and of what follows it. */
struct head {
	uint32_t sum;
	uint32_t type;
	uint64_t stored; /* bytes that follow the head */
	uint64_t size;	 /* bytes after decompression */
};

static uint32_t checksum(const struct head *head, const uint8_t *stored)
{
	uLong sum = crc32_z(0, (const uint8_t *)head + sizeof(head->sum), sizeof(*head) - sizeof(head->sum));

	return (uint32_t)crc32_z(sum, stored, (size_t)le64toh(head->stored));
}

void mf_section_add_magic(struct mf_bytes *file)
{
	struct magic magic = { .version = htole32(MF_SECTION_VERSION) };

	memcpy(magic.text, MF_SECTION_MAGIC, sizeof(magic.text));
	mf_bytes_add(file, &magic, sizeof(magic));
}

int mf_section_add(struct mf_bytes *file, enum mf_section_type type, const struct mf_bytes *contents)
{
	size_t room = ZSTD_compressBound(contents->size), stored;
	struct head head = { .type = htole32(type), .size = htole64(contents->size) };
	uint8_t *data;

	if (contents->size > MF_SECTION_MAX)
		return -E2BIG;
	data = malloc(room);
	if (!data || contents->failed) {
		free(data);
		return -ENOMEM;
	}
	stored = ZSTD_compress(data, room, contents->data ? (const void *)contents->data : "", contents->size, LEVEL);
	if (ZSTD_isError(stored)) {
		free(data);
		return -ENOMEM;
	}
	head.stored = htole64(stored);
	head.sum = htole32(checksum(&head, data));
	mf_bytes_add(file, &head, sizeof(head));
	mf_bytes_add(file, data, stored);
	free(data);
	return file->failed ? -ENOMEM : 0;
}

int mf_section_check_magic(struct mf_cursor *file, struct mf_error *err)
{
	const struct magic *magic = mf_cursor_take(file, sizeof(*magic));
	uint32_t version = 0;

	if (!magic || memcmp(magic->text, MF_SECTION_MAGIC, sizeof(magic->text)) != 0)
		return mf_error_set(err, -EINVAL, "it is not a recording");
	memcpy(&version, &magic->version, sizeof(version));
	if (le32toh(version) != MF_SECTION_VERSION)
		return mf_error_set(err, -ENOTSUP,
				    "it has version %" PRIu32 " of the format, and this massif-ctl reads version %u",
				    le32toh(version), MF_SECTION_VERSION);
	return 0;
}

static int decompress(const uint8_t *stored, size_t n_stored, uint8_t **contents, size_t size, struct mf_error *err)
{
	uint8_t *data = malloc(size + 1);
	size_t got;

	if (!data)
		return mf_error_set(err, -ENOMEM, "out of memory for a section of %zu bytes", size);
	got = ZSTD_decompress(data, size, stored, n_stored);
	if (ZSTD_isError(got) || got != size) {
		free(data);
		return mf_error_set(err, -EBADMSG, "a section cannot be decompressed");
	}
	*contents = data;
	return 1;
}

int mf_section_read(struct mf_cursor *file, uint32_t *type, uint8_t **contents, size_t *size,
		    struct mf_error *err)
{
	const uint8_t *stored;
	struct head head;
	const void *at;

	if (file->at == file->end)
		return 0;
	at = mf_cursor_take(file, sizeof(head));
	if (!at)
		return mf_error_set(err, -ENODATA, "it ends within the head of a section");
	memcpy(&head, at, sizeof(head));
	if (le64toh(head.stored) > (uint64_t)(file->end - file->at))
		return mf_error_set(err, -ENODATA, "it ends within a section");
	stored = mf_cursor_take(file, (size_t)le64toh(head.stored));
	if (le32toh(head.sum) != checksum(&head, stored))
		return mf_error_set(err, -EBADMSG, "the checksum of a section is wrong");
	*type = le32toh(head.type);
	*contents = NULL;
	*size = 0;
	if (*type >= MF_SECTION_TYPES)
		return 1;
	if (le64toh(head.size) > MF_SECTION_MAX)
		return mf_error_set(err, -E2BIG, "a section has %" PRIu64 " bytes, more than %llu",
				    le64toh(head.size), MF_SECTION_MAX);
	*size = (size_t)le64toh(head.size);
	return decompress(stored, (size_t)le64toh(head.stored), contents, *size, err);
}
