// SPDX-License-Identifier: GPL-2.0
// The sections of a recording file, each with its type, its lengths and a checksum, compressed with zstd.

#include "recording/section.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

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

/* A frame of zstd that readers skip: the way to make a section longer. */
struct padding {
	uint32_t magic;
	uint32_t size; /* bytes that follow */
};

#define PADDING_MAGIC 0x184d2a50u

/* How many bytes after decompression a section with so many stored bytes makes room for. */
static uint64_t room_of(uint64_t stored)
{
	return (sizeof(struct head) + stored) * MF_SECTION_EXPANSION_MAX;
}

/* Returns how many bytes of padding the section needs to make room for itself. */
static size_t padding_of(size_t stored, size_t size)
{
	if (size <= room_of(stored))
		return 0;
	return sizeof(struct padding) + (size_t)((size - room_of(stored)) / MF_SECTION_EXPANSION_MAX);
}

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
	size_t bound = ZSTD_compressBound(contents->size), stored, n_padding;
	struct head head = { .type = htole32(type), .size = htole64(contents->size) };
	struct padding padding = { .magic = htole32(PADDING_MAGIC) };
	uint8_t *data;

	if (contents->size > MF_SECTION_MAX)
		return -E2BIG;
	/* The padding of contents that are compressed that much fits as well. */
	data = calloc(1, bound + sizeof(padding));
	if (!data || contents->failed) {
		free(data);
		return -ENOMEM;
	}
	stored = ZSTD_compress(data, bound, contents->data ? (const void *)contents->data : "", contents->size, LEVEL);
	if (ZSTD_isError(stored)) {
		free(data);
		return -ENOMEM;
	}
	n_padding = padding_of(stored, contents->size);
	if (n_padding) {
		padding.size = htole32((uint32_t)(n_padding - sizeof(padding)));
		memcpy(data + stored, &padding, sizeof(padding));
		memset(data + stored + sizeof(padding), 0, n_padding - sizeof(padding));
		stored += n_padding;
	}
	head.stored = htole64(stored);
	head.sum = htole32(checksum(&head, data));
	mf_bytes_add(file, &head, sizeof(head));
	mf_bytes_add(file, data, stored);
	free(data);
	return file->failed ? -ENOMEM : 0;
}

struct mf_section_reader mf_section_reader(const void *data, size_t size)
{
	const uint8_t *begin = data;

	return (struct mf_section_reader){ begin, { begin, begin + size, false }, MF_SECTION_ALLOWANCE_MAX };
}

int mf_section_check_magic(struct mf_section_reader *file, struct mf_error *err)
{
	const struct magic *magic = mf_cursor_take(&file->cursor, sizeof(*magic));
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

/* A section of which the head has been read, and the offset of the head in the file. */
struct place {
	struct head head; /* in the byte order of this machine */
	size_t offset;
	const uint8_t *stored;
};

static int decompress(const struct place *place, uint8_t **contents, size_t size, struct mf_error *err)
{
	uint8_t *data = malloc(size + 1);
	size_t got;

	if (!data)
		return mf_error_set(err, -ENOMEM, "out of memory for a section of %zu bytes", size);
	got = ZSTD_decompress(data, size, place->stored, (size_t)place->head.stored);
	if (ZSTD_isError(got) || got != size) {
		free(data);
		if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
			return mf_error_set(err, -ENOMEM, "out of memory");
		return mf_error_set(err, -EBADMSG, "the section at byte %zu cannot be decompressed", place->offset);
	}
	*contents = data;
	return 1;
}

/* Reads the head of the next section, and finds what follows it. */
static int find_section(struct mf_section_reader *file, struct place *place, struct mf_error *err)
{
	struct head head;
	const void *at;

	place->offset = (size_t)(file->cursor.at - file->begin);
	at = mf_cursor_take(&file->cursor, sizeof(head));
	if (!at)
		return mf_error_set(err, -ENODATA, "it ends within the head of the section at byte %zu", place->offset);
	memcpy(&head, at, sizeof(head));
	place->head = (struct head){ .type = le32toh(head.type), .stored = le64toh(head.stored), .size = le64toh(head.size) };
	if (place->head.stored > (uint64_t)(file->cursor.end - file->cursor.at))
		return mf_error_set(err, -ENODATA, "it ends within the section at byte %zu", place->offset);
	place->stored = mf_cursor_take(&file->cursor, (size_t)place->head.stored);
	if (le32toh(head.sum) != checksum(&head, place->stored))
		return mf_error_set(err, -EBADMSG, "the checksum of the section at byte %zu is wrong", place->offset);
	return 0;
}

int mf_section_read(struct mf_section_reader *file, uint32_t *type, uint8_t **contents, size_t *size,
		    struct mf_error *err)
{
	struct place place = { 0 };
	int code;

	if (file->cursor.at == file->cursor.end)
		return 0;
	code = find_section(file, &place, err);
	if (code)
		return code;
	*type = place.head.type;
	*contents = NULL;
	*size = 0;
	file->room += room_of(place.head.stored);
	if (*type >= MF_SECTION_TYPES)
		return 1;
	if (place.head.size > MF_SECTION_MAX)
		return mf_error_set(err, -E2BIG, "the section at byte %zu has %" PRIu64 " bytes, more than %llu",
				    place.offset, place.head.size, MF_SECTION_MAX);
	if (place.head.size > file->room)
		return mf_error_set(err, -E2BIG, "the section at byte %zu would have %" PRIu64
				    " bytes after decompression, too many for the first %zu bytes of a file",
				    place.offset, place.head.size, (size_t)(file->cursor.at - file->begin));
	file->room -= place.head.size;
	*size = (size_t)place.head.size;
	return decompress(&place, contents, *size, err);
}
