// SPDX-License-Identifier: GPL-2.0
// What one symbolizer found out about code, for the next one.

#include "symbols/names.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/arena.h"
#include "symbols/symbolizer.h"

#define ROOM_FIRST 64

struct mf_names_file {
	struct mf_names_file *next;
	struct mf_object object; /* with a path of its own */
	struct mf_names_answer *answers; /* hash table, open addressing; address 0: free */
	size_t n_answers, room; /* room: a power of two, or 0 */
	struct mf_arena arena;
};

struct mf_names {
	struct mf_names_file *files;
	bool keeps;
};

struct mf_names *mf_names_create(void)
{
	return calloc(1, sizeof(struct mf_names));
}

static void free_file(struct mf_names_file *file)
{
	mf_arena_deinit(&file->arena);
	free(file->answers);
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
	free(names);
}

void mf_names_begin(struct mf_names *names)
{
	if (names)
		names->keeps = true;
}

static struct mf_names_file *add_file(struct mf_names *names, const struct mf_object *object)
{
	struct mf_names_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->object = *object;
	file->object.path = strdup(object->path);
	if (!file->object.path) {
		free(file);
		return NULL;
	}
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
	size_t slot = (size_t)(address * 0x9e3779b97f4a7c15ull >> 24) & (room - 1);

	while (answers[slot].address && answers[slot].address != address)
		slot = (slot + 1) & (room - 1);
	return &answers[slot];
}

const struct mf_names_answer *mf_names_find(const struct mf_names_file *file, uint64_t address)
{
	const struct mf_names_answer *answer;

	if (!file || !file->room || !address)
		return NULL;
	answer = slot_of(file->answers, file->room, address);
	return answer->address ? answer : NULL;
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

/* The answer for @address, perhaps a new one. */
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

/* A copy of @text, or NULL for NULL. False if memory is short. */
static bool copy(struct mf_arena *arena, const char *text, const char **to)
{
	size_t bytes = text ? strlen(text) + 1 : 0;
	char *made = text ? mf_arena_alloc(arena, bytes) : NULL;

	if (made)
		memcpy(made, text, bytes);
	*to = made;
	return !text || made;
}

void mf_names_keep_function(struct mf_names_file *file, uint64_t address, const char *function,
			    uint64_t offset)
{
	struct mf_names_answer *answer = make_answer(file, address);

	if (!answer || !copy(&file->arena, function, &answer->function))
		return;
	answer->offset = offset;
	answer->function_known = true;
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
}
