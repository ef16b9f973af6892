// SPDX-License-Identifier: GPL-2.0
// The names that one symbolizer found, for use by the next symbolizer of this run or a later run.

#include "symbols/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "symbols/arena.h"
#include "symbols/demangle.h"
#include "symbols/namefile.h"
#include "symbols/sources.h"
#include "symbols/symbolizer.h"

#define ROOM_FIRST 64

struct mf_names_file {
	struct mf_names_file *next;
	struct mf_object object; /* the object to which the names belong; its path is our own copy */
	struct mf_names_answer *answers; /* hash table (open addressing) of the answers; a free slot has address 0 */
	size_t n_answers, room; /* @room: number of slots of the hash table, a power of two; 0 if there is no table */
	struct mf_namefile *saved; /* names from earlier runs; they are copied to answers when they are looked up */
	struct mf_sources sources; /* files that the answers were read from; the paths are in @arena or @saved */
	bool grown;    /* some answers are not in the name file @saved yet */
	bool demangle; /* the printed names are demangled */
	struct mf_arena arena;
};

struct mf_names {
	struct mf_names_file *files;
	bool keeps;
	bool demangle;
	char *directory; /* the cache directory, or NULL to keep names for this run only */
};

struct mf_names *mf_names_create(void)
{
	return calloc(1, sizeof(struct mf_names));
}

static void free_file(struct mf_names_file *file)
{
	mf_arena_deinit(&file->arena);
	free(file->answers);
	free(file->saved);
	free((char *)file->object.path);
	free(file);
}

void mf_names_destroy(struct mf_names *names)
{
	if (!names)
		return;
	while (names->files) {
		struct mf_names_file *file = names->files;

		names->files = file->next;
		free_file(file);
	}
	free(names->directory);
	free(names);
}

void mf_names_begin(struct mf_names *names)
{
	if (names)
		names->keeps = true;
}

void mf_names_begin_with(struct mf_names *names, const char *path, bool demangle)
{
	if (!names || !path[0])
		return;
	names->keeps = true;
	names->demangle = demangle;
	free(names->directory);
	names->directory = strdup(path);
}

static void read_saved(const struct mf_names *names, struct mf_names_file *file)
{
	if (!names->directory)
		return;
	file->demangle = names->demangle;
	file->saved = mf_namefile_read(names->directory, &file->object);
	if (file->saved)
		mf_namefile_sources(file->saved, &file->sources);
}

static struct mf_names_file *add_file(struct mf_names *names, const struct mf_object *object)
{
	struct mf_names_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->object = *object;
	file->object.held = NULL;
	file->object.path = strdup(object->path);
	if (!file->object.path) {
		free(file);
		return NULL;
	}
	read_saved(names, file);
	file->next = names->files;
	names->files = file;
	return file;
}

struct mf_names_file *mf_names_file(struct mf_names *names, const struct mf_object *object)
{
	struct mf_names_file *file;

	if (!names || !names->keeps || object->kind != MF_OBJECT_FILE || !object->path ||
	    !object->build_id_size)
		return NULL;
	for (file = names->files; file; file = file->next)
		if (mf_object_same_file(&file->object, object))
			return file;
	return add_file(names, object);
}

static struct mf_names_answer *slot_of(struct mf_names_answer *answers, size_t room, uint64_t address)
{
	size_t slot = (size_t)mf_hash(address, 0) & (room - 1);

	while (answers[slot].address && answers[slot].address != address)
		slot = (slot + 1) & (room - 1);
	return &answers[slot];
}

static bool grow(struct mf_names_file *file)
{
	size_t room = file->room ? file->room * 2 : ROOM_FIRST;
	struct mf_names_answer *answers = calloc(room, sizeof(*answers));

	if (!answers)
		return false;
	for (size_t i = 0; i < file->room; i++)
		if (file->answers[i].address)
			*slot_of(answers, room, file->answers[i].address) = file->answers[i];
	free(file->answers);
	file->answers = answers;
	file->room = room;
	return true;
}

/*
 * Returns the answer for @address, adding it if it is new. Returns NULL if @file is NULL, if @address is 0 or if out of
 * memory.
 */
static struct mf_names_answer *make_answer(struct mf_names_file *file, uint64_t address)
{
	struct mf_names_answer *answer;

	if (!file || !address || (file->n_answers * 4 >= file->room * 3 && !grow(file)))
		return NULL;
	answer = slot_of(file->answers, file->room, address);
	file->n_answers += !answer->address;
	answer->address = address;
	return answer;
}

/* Stores a copy of @text, which may be NULL, in *@to. Returns false if out of memory. */
static bool copy(struct mf_arena *arena, const char *text, const char **to)
{
	size_t bytes = text ? strlen(text) + 1 : 0;
	char *made = text ? mf_arena_alloc(arena, bytes) : NULL;

	if (made)
		memcpy(made, text, bytes);
	*to = made;
	return !text || made;
}

void mf_names_made_from(struct mf_names_file *file, const struct mf_sources *sources)
{
	if (!file)
		return;
	if (!sources || sources->others) {
		file->sources.others = true;
	} else if (!file->sources.count) {
		file->sources = *sources;
		for (uint32_t i = 0; i < sources->count; i++) {
			if (!copy(&file->arena, sources->paths[i], &file->sources.paths[i]))
				file->sources.others = true;
		}
	} else if (!mf_sources_are_same(&file->sources, sources)) {
		/* The files changed during this run, so the names must not be saved. */
		file->sources.others = true;
	}
}

/* Returns the locations that @record contains, or NULL if it contains none or memory has run out. */
static struct mf_location *load_locations(struct mf_names_file *file,
					  const struct mf_namefile_record *record,
					  const struct mf_names_answer *answer)
{
	struct mf_location *locations = NULL;

	if (record->count)
		locations = mf_arena_alloc(&file->arena, record->count * sizeof(*locations));
	if (!locations)
		return NULL;
	for (uint32_t i = 0; i < record->count; i++) {
		const struct mf_namefile_position *position =
			mf_namefile_position(file->saved, record, i);

		locations[i] = (struct mf_location){
			.function = mf_namefile_text(file->saved, position->function),
			.directory = mf_namefile_text(file->saved, position->directory),
			.file = mf_namefile_text(file->saved, position->file),
			.line = position->line,
			.object = file->object.path,
		};
	}
	locations[record->count - 1].function = answer->function;
	locations[record->count - 1].offset = answer->offset;
	return locations;
}

/*
 * Sets *@function to the printed form of @symbol, the name stored in @record. Returns false if the demangled name was
 * not saved. It is not computed here, because the demangler may run only in the process that reads the files
 * (parser.h).
 */
static bool show(const struct mf_names_file *file, const struct mf_namefile_record *record, const char *symbol,
		 const char **function)
{
	*function = symbol;
	if (!file->demangle || !symbol || !mf_demangle_may(symbol))
		return true;
	*function = mf_namefile_text(file->saved, record->shown);
	return *function;
}

/* Returns the saved answer for @address, or NULL if there is none. */
static const struct mf_names_answer *load(struct mf_names_file *file, uint64_t address)
{
	const struct mf_namefile_record *record = NULL;
	struct mf_names_answer *answer;
	const char *symbol, *function;

	if (file->saved)
		record = mf_namefile_find(file->saved, address);
	if (!record)
		return NULL;
	symbol = mf_namefile_text(file->saved, record->function);
	answer = show(file, record, symbol, &function) ? make_answer(file, address) : NULL;
	if (!answer)
		return NULL;
	answer->symbol = symbol;
	answer->function = function;
	answer->offset = record->offset;
	answer->function_known = true;
	answer->locations = load_locations(file, record, answer);
	answer->n_locations = answer->locations ? record->count : 0;
	return answer;
}

const struct mf_names_answer *mf_names_find(struct mf_names_file *file, uint64_t address)
{
	const struct mf_names_answer *answer;

	if (!file || !address)
		return NULL;
	if (file->room) {
		answer = slot_of(file->answers, file->room, address);
		if (answer->address)
			return answer;
	}
	return load(file, address);
}

void mf_names_keep_function(struct mf_names_file *file, uint64_t address, const char *symbol,
			    const char *function, uint64_t offset)
{
	struct mf_names_answer *answer = make_answer(file, address);

	if (!answer || !copy(&file->arena, symbol, &answer->symbol))
		return;
	answer->function = answer->symbol;
	if (function != symbol && !copy(&file->arena, function, &answer->function))
		return;
	answer->offset = offset;
	answer->function_known = true;
	file->grown = true;
}

void mf_names_keep_locations(struct mf_names_file *file, uint64_t address,
			     const struct mf_location *locations, size_t n)
{
	struct mf_names_answer *answer = make_answer(file, address);
	struct mf_location *copies = answer ? mf_arena_alloc(&file->arena, n * sizeof(*copies)) : NULL;

	if (!copies)
		return;
	for (size_t i = 0; i < n; i++) {
		copies[i] = locations[i];
		copies[i].object = file->object.path;
		if (!copy(&file->arena, locations[i].function, &copies[i].function) ||
		    !copy(&file->arena, locations[i].directory, &copies[i].directory) ||
		    !copy(&file->arena, locations[i].file, &copies[i].file))
			return;
	}
	answer->locations = copies;
	answer->n_locations = n;
	file->grown = true;
}

/* Adds the demangled name of @answer and returns its offset, or 0 if it is unknown. */
static uint32_t add_shown(struct mf_namefile_draft *draft, const struct mf_names_file *file,
			  const struct mf_names_answer *answer)
{
	const struct mf_namefile_record *record;

	if (file->demangle)
		return mf_namefile_add_text(draft, answer->function);
	record = file->saved ? mf_namefile_find(file->saved, answer->address) : NULL;
	return record ? mf_namefile_add_text(draft, mf_namefile_text(file->saved, record->shown)) : 0;
}

static void add_answer(struct mf_namefile_draft *draft, const struct mf_names_file *file,
		       const struct mf_names_answer *answer)
{
	uint32_t shown = add_shown(draft, file, answer);

	mf_namefile_add_record(draft, answer->address, mf_namefile_add_text(draft, answer->symbol),
			       answer->offset);
	mf_namefile_add_shown(draft, shown);
	for (size_t i = 0; i < answer->n_locations; i++) {
		const struct mf_location *location = &answer->locations[i];
		/*
		 * All locations except the last belong to inlined functions. The last belongs to the function into
		 * which they were inlined; its name is answer->symbol.
		 */
		bool inlined = i + 1 < answer->n_locations;

		mf_namefile_add_position(draft, (struct mf_namefile_position){
			.function = inlined ? mf_namefile_add_text(draft, location->function) : 0,
			.directory = mf_namefile_add_text(draft, location->directory),
			.file = mf_namefile_add_text(draft, location->file),
			.line = location->line,
		});
	}
}

/*
 * Builds a name file from all answers whose function is known. If @others is true, also includes saved answers that
 * this run did not use. Returns NULL if there are no such answers, if the name file would be too large, or if out of
 * memory.
 */
static struct mf_namefile *make_namefile(const struct mf_names_file *file, bool others, size_t *size)
{
	struct mf_namefile_draft draft = { 0 };
	struct mf_namefile *made;

	for (size_t i = 0; i < file->room; i++) {
		if (file->answers[i].address && file->answers[i].function_known)
			add_answer(&draft, file, &file->answers[i]);
	}
	if (others)
		mf_namefile_add_others(&draft, file->saved);
	made = mf_namefile_make(&draft, &file->object, &file->sources, size);
	mf_namefile_draft_deinit(&draft);
	return made;
}

static void save_file(const struct mf_names *names, const struct mf_names_file *file)
{
	mf_auto_free struct mf_namefile *made = NULL;
	size_t size;

	if (!file->grown || !file->sources.count || file->sources.others ||
	    !mf_namefile_is_for(&file->object))
		return;
	if (file->saved)
		made = make_namefile(file, true, &size);
	if (!made)
		made = make_namefile(file, false, &size);
	if (made)
		mf_namefile_write(names->directory, made, size);
}

void mf_names_save(const struct mf_names *names)
{
	if (!names || !names->directory)
		return;
	for (const struct mf_names_file *file = names->files; file; file = file->next)
		save_file(names, file);
}
