// SPDX-License-Identifier: GPL-2.0
// Addresses to functions, files and lines: files are opened, and answers remembered, once.

#include "symbols/symbolizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/arena.h"
#include "symbols/demangle.h"
#include "symbols/image.h"
#include "symbols/positions.h"
#include "symbols/symtab.h"

/* One file, shared by all objects that were mapped from it. */
struct module {
	struct module *next;
	const struct mf_object *object; /* one of those */
	struct mf_image image;
	struct mf_symtab symtab;
	Dwarf *dwarf;
	struct mf_positions *positions;
	bool symtab_known, positions_known;
};

/* What is known of one frame. */
struct answer {
	struct mf_frame frame;
	bool used, function_known;
	const char *function;
	uint64_t offset;
	const struct mf_location *locations; /* NULL: not asked for yet */
	size_t n_locations;
};

struct mf_symbolizer {
	const struct mf_object *objects;
	size_t n_objects;
	struct mf_symbolizer_options options;
	struct module **module_of; /* of each object; NULL: not opened */
	struct module *modules;
	struct answer *answers; /* hash table, open addressing */
	size_t n_answers, room; /* room: a power of two */
	struct mf_arena arena;
};

static const struct mf_location unknown_location;

int mf_symbolizer_create(const struct mf_object *objects, size_t n_objects,
			 const struct mf_symbolizer_options *options, struct mf_symbolizer **out,
			 struct mf_error *err)
{
	struct mf_symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return mf_error_set(err, -ENOMEM, "out of memory for symbols");
	s->objects = objects;
	s->n_objects = n_objects;
	s->options = *options;
	s->room = 1024;
	s->answers = calloc(s->room, sizeof(*s->answers));
	s->module_of = calloc(n_objects + 1, sizeof(struct module *));
	if (!s->answers || !s->module_of) {
		mf_symbolizer_destroy(s);
		return mf_error_set(err, -ENOMEM, "out of memory for symbols");
	}
	elf_version(EV_CURRENT);
	*out = s;
	return 0;
}

static void close_module(struct module *module)
{
	for (size_t i = 0; i < module->symtab.count; i++) {
		const struct mf_symbol *symbol = &module->symtab.symbols[i];

		if (symbol->shown != symbol->name)
			free((char *)symbol->shown);
	}
	mf_symtab_deinit(&module->symtab);
	mf_positions_destroy(module->positions);
	if (module->dwarf)
		dwarf_end(module->dwarf);
	mf_image_close(&module->image);
	free(module);
}

void mf_symbolizer_destroy(struct mf_symbolizer *s)
{
	if (!s)
		return;
	while (s->modules) {
		struct module *module = s->modules;

		s->modules = module->next;
		close_module(module);
	}
	mf_arena_deinit(&s->arena);
	free(s->module_of);
	free(s->answers);
	free(s);
}

static bool same_file(const struct mf_object *a, const struct mf_object *b)
{
	return a->kind == b->kind && a->path && b->path && strcmp(a->path, b->path) == 0 &&
	       a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* The module of object @number, opened if it was not; NULL if memory is short. */
static struct module *find_module(struct mf_symbolizer *s, uint32_t number)
{
	const struct mf_object *object = &s->objects[number];
	struct module *module;

	if (s->module_of[number])
		return s->module_of[number];
	for (module = s->modules; module; module = module->next) {
		if (same_file(module->object, object))
			break;
	}
	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return NULL;
		module->object = object;
		mf_image_open(&module->image, object);
		module->next = s->modules;
		s->modules = module;
	}
	s->module_of[number] = module;
	return module;
}

static struct mf_symbol *find_symbol(struct module *module, uint64_t address)
{
	if (!module->symtab_known) {
		module->symtab_known = true;
		if (module->image.elf)
			mf_symtab_add(&module->symtab, module->image.elf);
		if (module->image.debug_elf)
			mf_symtab_add(&module->symtab, module->image.debug_elf);
		mf_symtab_finish(&module->symtab);
	}
	return mf_symtab_find(&module->symtab, address);
}

/* NULL if there is no debug information. */
static struct mf_positions *find_positions(struct module *module)
{
	Elf *const sources[] = { module->image.elf, module->image.debug_elf };

	if (module->positions_known)
		return module->positions;
	module->positions_known = true;
	for (size_t i = 0; i < 2 && !module->dwarf; i++) {
		if (sources[i] && mf_image_has_section(sources[i], ".debug_info"))
			module->dwarf = dwarf_begin_elf(sources[i], DWARF_C_READ, NULL);
	}
	if (module->dwarf)
		module->positions = mf_positions_create(module->dwarf);
	return module->positions;
}

/* A name is demangled once, however many addresses of its function are looked up. */
static const char *shown_name(const struct mf_symbolizer *s, struct mf_symbol *symbol)
{
	if (!symbol->shown && s->options.demangle)
		symbol->shown = mf_demangle(symbol->name);
	if (!symbol->shown)
		symbol->shown = symbol->name;
	return symbol->shown;
}

static struct answer *slot_of(struct answer *answers, size_t room, struct mf_frame frame)
{
	uint64_t hash = (frame.pc ^ (uint64_t)frame.object << 48) * 0x9e3779b97f4a7c15ull;
	size_t slot = (size_t)(hash >> 24) & (room - 1);

	while (answers[slot].used &&
	       (answers[slot].frame.pc != frame.pc || answers[slot].frame.object != frame.object))
		slot = (slot + 1) & (room - 1);
	return &answers[slot];
}

static bool grow_answers(struct mf_symbolizer *s)
{
	size_t room = s->room * 2;
	struct answer *answers = calloc(room, sizeof(*answers));

	if (!answers)
		return false;
	for (size_t i = 0; i < s->room; i++) {
		if (s->answers[i].used)
			*slot_of(answers, room, s->answers[i].frame) = s->answers[i];
	}
	free(s->answers);
	s->answers = answers;
	s->room = room;
	return true;
}

/* The answer for @frame, perhaps an empty one; valid until the next call. NULL: no memory. */
static struct answer *find_answer(struct mf_symbolizer *s, struct mf_frame frame)
{
	struct answer *answer = slot_of(s->answers, s->room, frame);

	if (answer->used)
		return answer;
	if (s->n_answers * 4 >= s->room * 3) {
		if (!grow_answers(s))
			return NULL;
		answer = slot_of(s->answers, s->room, frame);
	}
	answer->used = true;
	answer->frame = frame;
	s->n_answers++;
	return answer;
}

/* The module and the link-time address of @frame, if it is code of a file. */
static struct module *find_code(struct mf_symbolizer *s, struct mf_frame frame, uint64_t *address)
{
	const struct mf_object *object = &s->objects[frame.object];

	if (object->kind != MF_OBJECT_FILE && object->kind != MF_OBJECT_VDSO)
		return NULL;
	*address = frame.pc - object->bias;
	return find_module(s, frame.object);
}

static void find_function(struct mf_symbolizer *s, struct answer *answer)
{
	struct mf_symbol *symbol;
	struct module *module;
	uint64_t address;

	if (answer->function_known)
		return;
	answer->function_known = true;
	module = find_code(s, answer->frame, &address);
	symbol = module ? find_symbol(module, address) : NULL;
	if (!symbol)
		return;
	answer->function = shown_name(s, symbol);
	answer->offset = address - symbol->start;
}

const char *mf_symbolizer_function(struct mf_symbolizer *s, struct mf_frame frame)
{
	struct answer *answer;

	if (frame.object >= s->n_objects)
		return NULL;
	answer = find_answer(s, frame);
	if (!answer)
		return NULL;
	find_function(s, answer);
	return answer->function;
}

/* @first and @n_second bytes of @second with a slash between, if there are both. */
static const char *join(struct mf_symbolizer *s, const char *first, const char *second,
			size_t n_second)
{
	size_t n_first = strlen(first);
	char *joined = mf_arena_alloc(&s->arena, n_first + n_second + 2);

	if (!joined)
		return NULL;
	memcpy(joined, first, n_first);
	if (n_first && n_second)
		joined[n_first++] = '/';
	memcpy(joined + n_first, second, n_second);
	return joined;
}

/* Splits DWARF's path into the base name and the directory, made complete as far as is known. */
static void set_file(struct mf_symbolizer *s, struct mf_location *location,
		     const struct mf_position *position)
{
	const char *path = position->path, *slash = strrchr(path, '/');
	const char *base = *path == '/' || !position->base ? "" : position->base;

	location->file = slash ? slash + 1 : path;
	if (slash || *base)
		location->directory = join(s, base, path, slash ? (size_t)(slash - path) : 0);
}

static void find_locations(struct mf_symbolizer *s, struct answer *answer)
{
	const struct mf_object *object = &s->objects[answer->frame.object];
	struct mf_position positions[MF_POSITIONS_MAX] = { 0 };
	struct mf_location *locations;
	struct mf_positions *source;
	struct module *module;
	uint64_t address;
	size_t count = 1;

	module = find_code(s, answer->frame, &address);
	source = module ? find_positions(module) : NULL;
	if (source)
		count = mf_positions_find(source, address, s->options.inlines, positions);

	locations = mf_arena_alloc(&s->arena, count * sizeof(*locations));
	if (!locations)
		return;
	for (size_t i = 0; i < count; i++) {
		locations[i].function = positions[i].function;
		locations[i].line = positions[i].line;
		locations[i].object = object->kind == MF_OBJECT_UNKNOWN ? NULL : object->path;
		if (positions[i].path)
			set_file(s, &locations[i], &positions[i]);
	}
	locations[count - 1].function = answer->function;
	locations[count - 1].offset = answer->offset;
	if (object->kind == MF_OBJECT_NOTE)
		locations[0] = (struct mf_location){ .note = object->path };
	answer->locations = locations;
	answer->n_locations = count;
}

size_t mf_symbolizer_resolve(struct mf_symbolizer *s, struct mf_frame frame,
			     const struct mf_location **locations)
{
	struct answer *answer = NULL;

	*locations = &unknown_location;
	if (frame.object < s->n_objects)
		answer = find_answer(s, frame);
	if (!answer)
		return 1;
	find_function(s, answer);
	if (!answer->locations)
		find_locations(s, answer);
	if (!answer->locations)
		return 1;
	*locations = answer->locations;
	return answer->n_locations;
}
