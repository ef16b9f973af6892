// SPDX-License-Identifier: GPL-2.0
// Looks up the names of a recording again, and puts them into a copy of the recording.

#include "recording/naming.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "recording/writer.h"
#include "symbols/parser.h"

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

/* A process whose names are looked up. */
struct renamed {
	struct mf_naming *naming;
	struct mf_recorded *process; /* or the profile of the first touches of one */
	enum mf_section_type type; /* of its section of names in the file */
	struct mf_symbolizer *symbolizer; /* reads the files */
	uint32_t *files; /* number of the file of each object, plus 1; 0: it is not a file, or no frame has needed it */
};

static struct mf_naming_file *add_file(struct mf_naming *naming, const struct mf_object *object)
{
	if (naming->n_files == naming->room) {
		size_t room = naming->room ? naming->room * 2 : 64;
		struct mf_naming_file *files = reallocarray(naming->files, room, sizeof(*files));

		if (!files)
			return NULL;
		naming->files = files;
		naming->room = room;
	}
	naming->files[naming->n_files] = (struct mf_naming_file){ .object = object };
	return &naming->files[naming->n_files++];
}

/* Returns the file that @object was mapped from, adding it if it is new. Returns NULL if out of memory. */
static struct mf_naming_file *find_file(struct mf_naming *naming, const struct mf_object *object)
{
	uint64_t build_id = 0, hash;

	memcpy(&build_id, object->build_id, sizeof(build_id));
	hash = mf_hash_text(object->path, build_id);
	/* Different files with the same hash are told apart by the second key. */
	for (uint32_t i = 0;; i++) {
		uint32_t *value = mf_index_put(&naming->index, hash, i, (uint32_t)naming->n_files);

		if (!value)
			return NULL;
		if (*value == naming->n_files)
			return add_file(naming, object);
		if (mf_object_same_file(naming->files[*value].object, object))
			return &naming->files[*value];
	}
}

/* Returns the file with the code of @frame; valid until another is added. Returns NULL if there is none. */
static struct mf_naming_file *file_of(const struct renamed *renamed, struct mf_frame frame)
{
	uint32_t number = renamed->files[frame.object];

	return number ? &renamed->naming->files[number - 1] : NULL;
}

/* The positions of a frame. */
struct names {
	const struct mf_location *locations;
	size_t n;
};

static struct names names_of(struct mf_symbolizer *symbolizer, struct mf_frame frame)
{
	struct names names;

	names.n = mf_symbolizer_resolve(symbolizer, frame, &names.locations);
	return names;
}

static const struct mf_location *outermost(const struct names *names)
{
	return &names->locations[names->n - 1];
}

static bool have_lines(const struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->locations[i].file)
			return true;
	return false;
}

static bool are_named(const struct names *names)
{
	return outermost(names)->function || have_lines(names);
}

/* Lists the files of all frames, and counts their frames. */
static int list_files(struct renamed *renamed, struct mf_error *err)
{
	const struct mf_recorded *process = renamed->process;

	for (size_t i = 0; i < process->n_frames; i++) {
		struct mf_frame frame = process->frames[i];
		struct names names = names_of(process->symbolizer, frame);
		struct mf_naming_file *file = file_of(renamed, frame);

		if (!file && process->objects[frame.object].kind == MF_OBJECT_FILE) {
			file = find_file(renamed->naming, &process->objects[frame.object]);
			if (!file)
				return no_memory(err);
			renamed->files[frame.object] = (uint32_t)(file - renamed->naming->files) + 1;
		}
		if (!file)
			continue;
		file->n_frames++;
		file->named_before += are_named(&names);
		file->lines_before += have_lines(&names);
	}
	return 0;
}

/* A file of which another process has shown that it cannot be found is not looked for again. */
static bool can_be_better(const struct renamed *renamed, struct mf_frame frame)
{
	const struct mf_naming_file *file = file_of(renamed, frame);
	struct names names = names_of(renamed->process->symbolizer, frame);

	return file && file->object->build_id_size && !(file->opened && !file->readable) && !have_lines(&names);
}

static int look_up(struct renamed *renamed, struct mf_error *err)
{
	const struct mf_recorded *process = renamed->process;

	for (size_t i = 0; i < process->n_frames; i++)
		if (can_be_better(renamed, process->frames[i]))
			mf_symbolizer_want(renamed->symbolizer, process->frames[i]);
	mf_symbolizer_prepare(renamed->symbolizer);
	for (uint32_t i = 0; i < process->profile.n_objects; i++) {
		const struct mf_parser_state *state = mf_symbolizer_state(renamed->symbolizer, i);
		struct mf_naming_file *file = file_of(renamed, (struct mf_frame){ .object = i });

		if (!state || !state->is_open || !file || (file->opened && !state->lost))
			continue;
		file->opened = true;
		file->readable = state->readable;
		file->found = state->found;
		free(file->why);
		file->why = state->why ? strdup(state->why) : NULL;
		if (state->why && !file->why)
			return no_memory(err);
	}
	return 0;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/*
 * Returns whether @now is better than @before, which has no lines. Symbols that are in .symtab are those that a run
 * would have chosen from; .dynsym, which stripped files have, may have other names for them.
 */
static bool are_better(const struct names *now, const struct names *before, const struct mf_naming_file *file)
{
	const struct mf_location *new = outermost(now), *old = outermost(before);

	if (have_lines(now))
		return true;
	if (!new->function || (old->function && !(file->found & MF_IMAGE_SYMBOLS)))
		return false;
	return !is_same_text(new->function, old->function) || new->offset != old->offset;
}

/* Replaces the names of @frame by @now. */
static bool replace(struct mf_recorded *process, struct mf_frame frame, const struct names *now,
		    const struct names *before)
{
	struct mf_location *copies = mf_arena_alloc(&process->names, now->n * sizeof(*copies));

	if (!copies)
		return false;
	memcpy(copies, now->locations, now->n * sizeof(*copies));
	if (!copies[now->n - 1].function) {
		copies[now->n - 1].function = outermost(before)->function;
		copies[now->n - 1].offset = outermost(before)->offset;
	}
	return mf_symbolizer_give(process->symbolizer, frame, copies, now->n);
}

/* Takes over the names that are better. */
static int take_over(struct renamed *renamed, size_t *n_better, struct mf_error *err)
{
	struct mf_recorded *process = renamed->process;

	for (size_t i = 0; i < process->n_frames; i++) {
		struct mf_frame frame = process->frames[i];
		struct names before = names_of(process->symbolizer, frame), now;
		const struct mf_naming_file *file = file_of(renamed, frame);

		if (!can_be_better(renamed, frame))
			continue;
		now = names_of(renamed->symbolizer, frame);
		if (!are_better(&now, &before, file))
			continue;
		if (!replace(process, frame, &now, &before))
			return no_memory(err);
		++*n_better;
	}
	return 0;
}

static void count(const struct renamed *renamed)
{
	const struct mf_recorded *process = renamed->process;

	for (size_t i = 0; i < process->n_frames; i++) {
		struct names names = names_of(process->symbolizer, process->frames[i]);
		struct mf_naming_file *file = file_of(renamed, process->frames[i]);

		if (!file)
			continue;
		file->named += are_named(&names);
		file->lines += have_lines(&names);
	}
}

/* Adds the section of names: a new one, or if no name is better, that of @file. */
static int add_names(const struct renamed *renamed, const struct mf_bytes *file, size_t n_better, struct mf_bytes *out)
{
	struct mf_recorded *process = renamed->process;
	size_t begin = process->sections[MF_SECTION_NAMES].begin, end = process->sections[MF_SECTION_NAMES].end;
	struct mf_bytes contents = { 0 };
	int code;

	if (!n_better) {
		mf_bytes_add(out, file->data + begin, end - begin);
		return 0;
	}
	code = mf_recording_add_names(&contents, process->frames, process->n_frames, process->symbolizer) ?:
	       mf_section_add(out, renamed->type, &contents);
	mf_bytes_deinit(&contents);
	return code;
}

/* The new names belong to the symbolizer, so they are written before it is destroyed. */
static int rename_process(struct renamed *renamed, const struct mf_bytes *file, struct mf_bytes *out,
			  struct mf_error *err)
{
	size_t n_better = 0;
	int code = list_files(renamed, err) ?: look_up(renamed, err) ?: take_over(renamed, &n_better, err);

	if (code)
		return code;
	count(renamed);
	renamed->naming->n_better += n_better;
	code = add_names(renamed, file, n_better, out);
	if (code == -E2BIG)
		return mf_error_set(err, code, "the names are too large for a recording: they have more than 1 GiB");
	return code ? no_memory(err) : 0;
}

static int copy_process(struct mf_naming *naming, const struct mf_bytes *file, struct mf_recorded *process,
			enum mf_section_type type, struct mf_bytes *out, struct mf_error *err)
{
	struct renamed renamed = { .naming = naming, .process = process, .type = type };
	int code;

	renamed.files = calloc(process->profile.n_objects + 1, sizeof(*renamed.files));
	if (!renamed.files)
		return no_memory(err);
	code = mf_symbolizer_create(process->objects, process->profile.n_objects, &naming->options,
				    &renamed.symbolizer, err);
	if (!code)
		code = rename_process(&renamed, file, out, err);
	mf_symbolizer_destroy(renamed.symbolizer);
	free(renamed.files);
	return code;
}

/* Copies @file from *@at to the end of the names of @process, which get new ones. */
static int copy_until(struct mf_naming *naming, const struct mf_bytes *file, size_t *at, struct mf_recorded *process,
		      enum mf_section_type type, struct mf_bytes *out, struct mf_error *err)
{
	mf_bytes_add(out, file->data + *at, process->sections[MF_SECTION_NAMES].begin - *at);
	*at = process->sections[MF_SECTION_NAMES].end;
	return copy_process(naming, file, process, type, out, err);
}

int mf_naming_copy(struct mf_naming *naming, const struct mf_bytes *file, struct mf_recording *recording,
		   struct mf_bytes *out, struct mf_error *err)
{
	size_t at = 0;

	/* Processes share their files, which are read only once. */
	mf_names_begin(naming->options.names);
	for (size_t i = 0; i < recording->n_processes; i++) {
		struct mf_recorded *process = recording->processes[i], *touched = process->touched;
		/* No version writes the names of the touches last. */
		bool is_first = touched &&
				touched->sections[MF_SECTION_NAMES].begin < process->sections[MF_SECTION_NAMES].begin;
		int code = 0;

		if (is_first)
			code = copy_until(naming, file, &at, touched, MF_SECTION_TOUCHED + MF_SECTION_NAMES, out, err);
		code = code ?: copy_until(naming, file, &at, process, MF_SECTION_NAMES, out, err);
		if (code)
			return code;
	}
	mf_bytes_add(out, file->data + at, file->size - at);
	return out->failed ? no_memory(err) : 0;
}

void mf_naming_deinit(struct mf_naming *naming)
{
	for (size_t i = 0; i < naming->n_files; i++)
		free(naming->files[i].why);
	free(naming->files);
	mf_index_deinit(&naming->index);
}
