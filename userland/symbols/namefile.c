// SPDX-License-Identifier: GPL-2.0
// A name file: the names found for addresses of one object.

#include "symbols/namefile.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cachedir.h"
#include "base/cleanup.h"
#include "symbols/positions.h"

#define MAGIC	0x73656d616e73616dull /* "masnames" */
/*
 * version of the format; also increase it whenever the lookup of names changes, so that the output is the same with and
 * without the cache
 */
#define VERSION 3u

#define ID_LEAST 8u /* minimum size of a build id in bytes; a shorter one does not identify a file */

_Static_assert(sizeof(struct mf_namefile) == 56 && sizeof(struct mf_namefile_record) == 32 &&
		       sizeof(struct mf_namefile_position) == 16 &&
		       sizeof(struct mf_namefile_source) == 40,
	       "the file's form has changed: so must its version");

static const struct mf_namefile_position *positions_of(const struct mf_namefile *file)
{
	return (const void *)(file->records + file->n_records);
}

static const struct mf_namefile_source *sources_of(const struct mf_namefile *file)
{
	return (const void *)(positions_of(file) + file->n_positions);
}

static const char *text_of(const struct mf_namefile *file)
{
	return (const void *)(sources_of(file) + file->n_sources);
}

static size_t size_of(uint32_t n_records, uint32_t n_positions, uint32_t n_sources, uint32_t n_text)
{
	return sizeof(struct mf_namefile) + n_records * sizeof(struct mf_namefile_record) +
	       n_positions * sizeof(struct mf_namefile_position) +
	       n_sources * sizeof(struct mf_namefile_source) + n_text;
}

static uint32_t sum_of(const struct mf_namefile *file, size_t size)
{
	struct mf_namefile head = *file;
	uint32_t sum;

	head.sum = 0;
	sum = libdeflate_crc32(0, &head, sizeof(head));
	return libdeflate_crc32(sum, file->records, size - sizeof(head));
}

static bool has_right_head(const struct mf_namefile *file, size_t size, const struct mf_object *object)
{
	return size >= sizeof(*file) && size <= MF_NAMEFILE_BYTES_MAX && file->magic == MAGIC &&
	       file->version == VERSION && file->n_records <= MF_NAMEFILE_BYTES_MAX &&
	       file->n_positions <= MF_NAMEFILE_BYTES_MAX && file->n_sources <= MF_SOURCES_MAX &&
	       file->n_text <= MF_NAMEFILE_BYTES_MAX &&
	       size == size_of(file->n_records, file->n_positions, file->n_sources, file->n_text) &&
	       file->build_id_size == object->build_id_size &&
	       memcmp(file->build_id, object->build_id, object->build_id_size) == 0;
}

static bool has_right_records(const struct mf_namefile *file)
{
	for (uint32_t i = 0; i < file->n_records; i++) {
		const struct mf_namefile_record *record = &file->records[i];

		if ((i && record->address <= record[-1].address) ||
		    record->function >= file->n_text || record->shown >= file->n_text || record->count > MF_POSITIONS_MAX ||
		    record->first > file->n_positions ||
		    record->count > file->n_positions - record->first)
			return false;
	}
	return true;
}

static bool has_right_positions(const struct mf_namefile *file)
{
	const struct mf_namefile_position *positions = positions_of(file);

	for (uint32_t i = 0; i < file->n_positions; i++) {
		if (positions[i].function >= file->n_text ||
		    positions[i].directory >= file->n_text || positions[i].file >= file->n_text)
			return false;
	}
	return true;
}

/*
 * Checks the sources, that is, the files from which the names were read. The first source must be the object itself, at
 * an unchanged path, because the locations of debug files depend on the path.
 */
static bool has_right_sources(const struct mf_namefile *file, const struct mf_object *object)
{
	const struct mf_namefile_source *sources = sources_of(file);

	for (uint32_t i = 0; i < file->n_sources; i++) {
		if (!sources[i].path || sources[i].path >= file->n_text)
			return false;
	}
	return file->n_sources && strcmp(text_of(file) + sources[0].path, object->path) == 0;
}

bool mf_namefile_is_right(const struct mf_namefile *file, size_t size, const struct mf_object *object)
{
	return has_right_head(file, size, object) && file->sum == sum_of(file, size) && file->n_text &&
	       !text_of(file)[0] && !text_of(file)[file->n_text - 1] && has_right_records(file) &&
	       has_right_positions(file) && has_right_sources(file, object);
}

void mf_namefile_sources(const struct mf_namefile *file, struct mf_sources *sources)
{
	*sources = (struct mf_sources){ .count = file->n_sources };
	for (uint32_t i = 0; i < file->n_sources; i++) {
		sources->files[i] = sources_of(file)[i].file;
		sources->paths[i] = text_of(file) + sources_of(file)[i].path;
	}
}

static void make_name(char name[MF_NAMEFILE_NAME_SIZE], const uint8_t *build_id, uint8_t size)
{
	for (uint8_t i = 0; i < size && i < MF_BUILD_ID_MAX; i++)
		name += sprintf(name, "%02x", build_id[i]);
	strcpy(name, ".names");
}

bool mf_namefile_is_for(const struct mf_object *object)
{
	return object->kind == MF_OBJECT_FILE && object->path && object->build_id_size >= ID_LEAST &&
	       object->build_id_size <= MF_BUILD_ID_MAX;
}

struct mf_namefile *mf_namefile_read(const char *path, const struct mf_object *object)
{
	mf_auto_free struct mf_namefile *file = NULL;
	char name[MF_NAMEFILE_NAME_SIZE];
	mf_auto_close int directory = -1;
	struct mf_sources sources;
	size_t size;

	if (!mf_namefile_is_for(object))
		return NULL;
	directory = mf_cachedir_open(path);
	if (directory < 0)
		return NULL;
	make_name(name, object->build_id, object->build_id_size);
	file = mf_cachedir_read(directory, name, MF_NAMEFILE_BYTES_MAX, &size);
	if (!file || !mf_namefile_is_right(file, size, object))
		return NULL;
	mf_namefile_sources(file, &sources);
	return mf_sources_are_still(&sources) ? mf_take(file, NULL) : NULL;
}

const struct mf_namefile_record *mf_namefile_find(const struct mf_namefile *file, uint64_t address)
{
	uint32_t low = 0, high = file->n_records;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (file->records[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && file->records[low - 1].address == address ? &file->records[low - 1] : NULL;
}

const struct mf_namefile_position *mf_namefile_position(const struct mf_namefile *file,
							const struct mf_namefile_record *record,
							uint32_t n)
{
	return &positions_of(file)[record->first + n];
}

const char *mf_namefile_text(const struct mf_namefile *file, uint32_t text)
{
	return text ? text_of(file) + text : NULL;
}

/*
 * Makes room for @n more elements of @size bytes. Returns the array, which may have moved; on failure sets
 * draft->failed and returns NULL.
 */
static void *make_room(struct mf_namefile_draft *draft, void *array, uint32_t used, uint32_t n,
		       uint32_t *room, size_t size)
{
	uint32_t more = used + n > *room * 2 ? used + n + 64 : *room * 2;
	void *larger;

	if (draft->failed)
		return NULL;
	if (used + n <= *room)
		return array;
	larger = more > MF_NAMEFILE_BYTES_MAX * 2 ? NULL : realloc(array, more * size);
	if (larger)
		*room = more;
	else
		draft->failed = true;
	return larger;
}

static uint32_t append_text(struct mf_namefile_draft *draft, const char *text, size_t size)
{
	char *all;

	if (size > MF_NAMEFILE_BYTES_MAX)
		draft->failed = true;
	all = make_room(draft, draft->text, draft->n_text, (uint32_t)size, &draft->text_room, 1);
	if (!all)
		return 0;
	draft->text = all;
	memcpy(all + draft->n_text, text, size);
	draft->n_text += (uint32_t)size;
	return draft->n_text - (uint32_t)size;
}

/* Returns the slot of @text in the hash table @texts, or the free slot where it belongs. */
static uint32_t *place_of(const struct mf_namefile_draft *draft, uint32_t *texts, uint32_t room,
			  const char *text)
{
	uint32_t slot = libdeflate_crc32(0, text, strlen(text)) & (room - 1);

	while (texts[slot] && strcmp(draft->text + texts[slot], text) != 0)
		slot = (slot + 1) & (room - 1);
	return &texts[slot];
}

static bool grow_texts(struct mf_namefile_draft *draft)
{
	uint32_t room = draft->texts_room ? draft->texts_room * 2 : 256;
	uint32_t *texts = calloc(room, sizeof(*texts));

	if (!texts)
		return false;
	for (uint32_t i = 0; i < draft->texts_room; i++) {
		if (draft->texts[i])
			*place_of(draft, texts, room, draft->text + draft->texts[i]) =
				draft->texts[i];
	}
	free(draft->texts);
	draft->texts = texts;
	draft->texts_room = room;
	return true;
}

/* Each text is stored only once, since many addresses have the same directory and file. */
uint32_t mf_namefile_add_text(struct mf_namefile_draft *draft, const char *text)
{
	uint32_t *place;

	if (!text || draft->failed)
		return 0;
	if (!draft->n_text)
		append_text(draft, "", 1);
	if (draft->n_texts * 4 >= draft->texts_room * 3 && !grow_texts(draft))
		draft->failed = true;
	if (draft->failed)
		return 0;
	place = place_of(draft, draft->texts, draft->texts_room, text);
	if (!*place) {
		*place = append_text(draft, text, strlen(text) + 1);
		draft->n_texts++;
	}
	return *place;
}

void mf_namefile_add_record(struct mf_namefile_draft *draft, uint64_t address, uint32_t function,
			    uint64_t offset)
{
	struct mf_namefile_record *all = make_room(draft, draft->records, draft->n_records, 1,
						   &draft->records_room, sizeof(*all));

	if (!all)
		return;
	draft->records = all;
	all[draft->n_records++] = (struct mf_namefile_record){
		.address = address,
		.offset = offset,
		.function = function,
		.first = draft->n_positions,
	};
}

void mf_namefile_add_shown(struct mf_namefile_draft *draft, uint32_t shown)
{
	if (!draft->failed && draft->n_records)
		draft->records[draft->n_records - 1].shown = shown;
}

void mf_namefile_add_position(struct mf_namefile_draft *draft, struct mf_namefile_position position)
{
	struct mf_namefile_position *all = make_room(draft, draft->positions, draft->n_positions, 1,
						     &draft->positions_room, sizeof(*all));

	if (!all)
		return;
	draft->positions = all;
	all[draft->n_positions++] = position;
	draft->records[draft->n_records - 1].count++;
}

static int by_address(const void *left, const void *right)
{
	const struct mf_namefile_record *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static uint32_t copy_text(struct mf_namefile_draft *draft, const struct mf_namefile *file, uint32_t text)
{
	return mf_namefile_add_text(draft, mf_namefile_text(file, text));
}

static void copy_record(struct mf_namefile_draft *draft, const struct mf_namefile *file,
			const struct mf_namefile_record *record)
{
	mf_namefile_add_record(draft, record->address, copy_text(draft, file, record->function),
			       record->offset);
	mf_namefile_add_shown(draft, copy_text(draft, file, record->shown));
	for (uint32_t i = 0; i < record->count; i++) {
		struct mf_namefile_position position = *mf_namefile_position(file, record, i);

		position.function = copy_text(draft, file, position.function);
		position.directory = copy_text(draft, file, position.directory);
		position.file = copy_text(draft, file, position.file);
		mf_namefile_add_position(draft, position);
	}
}

void mf_namefile_add_others(struct mf_namefile_draft *draft, const struct mf_namefile *file)
{
	uint32_t n = draft->n_records;

	if (n)
		qsort(draft->records, n, sizeof(*draft->records), by_address);
	for (uint32_t i = 0; i < file->n_records; i++) {
		const struct mf_namefile_record *record = &file->records[i];

		/* The first @n records are sorted; only they are searched. */
		if (!n || !bsearch(record, draft->records, n, sizeof(*record), by_address))
			copy_record(draft, file, record);
	}
}

static void *append(void *to, const void *from, size_t size)
{
	if (size)
		memcpy(to, from, size);
	return (char *)to + size;
}

struct mf_namefile *mf_namefile_make(struct mf_namefile_draft *draft, const struct mf_object *object,
				     const struct mf_sources *sources, size_t *size)
{
	struct mf_namefile_source places[MF_SOURCES_MAX] = { 0 };
	struct mf_namefile *file;
	void *at;

	for (uint32_t i = 0; i < sources->count; i++) {
		places[i].file = sources->files[i];
		places[i].path = mf_namefile_add_text(draft, sources->paths[i]);
	}
	if (draft->failed || !draft->n_records || draft->n_records > MF_NAMEFILE_RECORDS_MAX)
		return NULL;
	qsort(draft->records, draft->n_records, sizeof(*draft->records), by_address);
	*size = size_of(draft->n_records, draft->n_positions, sources->count, draft->n_text);
	if (*size > MF_NAMEFILE_BYTES_MAX)
		return NULL;
	file = calloc(1, *size);
	if (!file)
		return NULL;
	file->magic = MAGIC;
	file->version = VERSION;
	memcpy(file->build_id, object->build_id, object->build_id_size);
	file->build_id_size = object->build_id_size;
	file->n_records = draft->n_records;
	file->n_positions = draft->n_positions;
	file->n_sources = sources->count;
	file->n_text = draft->n_text;
	at = append(file->records, draft->records, draft->n_records * sizeof(*draft->records));
	at = append(at, draft->positions, draft->n_positions * sizeof(*draft->positions));
	at = append(at, places, sources->count * sizeof(*places));
	append(at, draft->text, draft->n_text);
	file->sum = sum_of(file, *size);
	return file;
}

void mf_namefile_write(const char *path, const struct mf_namefile *file, size_t size)
{
	mf_auto_close int directory = mf_cachedir_make(path);
	char name[MF_NAMEFILE_NAME_SIZE];

	if (directory < 0)
		return;
	make_name(name, file->build_id, file->build_id_size);
	mf_cachedir_write(directory, name, file, size);
}

void mf_namefile_draft_deinit(struct mf_namefile_draft *draft)
{
	free(draft->records);
	free(draft->positions);
	free(draft->text);
	free(draft->texts);
	*draft = (struct mf_namefile_draft){ 0 };
}
