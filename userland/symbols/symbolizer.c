// SPDX-License-Identifier: GPL-2.0
// Addresses to functions, files and lines: files are opened, and answers remembered, once.
//
// Whatever belongs to one file is touched by one thread at a time: of those that
// mf_symbolizer_prepare() starts, each takes a file, and then the next. The table of answers and the
// list of files are not changed meanwhile.

#include "symbols/symbolizer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "symbols/arena.h"
#include "symbols/demangle.h"
#include "symbols/image.h"
#include "symbols/positions.h"
#include "symbols/symtab.h"

#define THREADS_MAX 2
#define DWARF_BYTES_MAX (6u << 20) /* of units that libdw has read; it keeps what it made of them */
#define PATIENCE_S 1 /* before progress is told of */
#define PERIOD_MS 200

/* One file, shared by all objects that were mapped from it. */
struct module {
	struct module *next;
	const struct mf_object *object; /* one of those */
	struct mf_names_file *known; /* NULL: nothing is */
	struct mf_image image;
	struct mf_symtab symtab;
	Dwarf *dwarf;
	struct mf_positions *positions;
	bool image_known, symtab_known, positions_known;
	struct mf_arena arena; /* what answers about its code point to */
};

/* What is known of one frame. */
struct answer {
	struct mf_frame frame;
	bool used, function_known;
	bool wanted; /* by mf_symbolizer_want() */
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

static void close_positions(struct module *module)
{
	mf_positions_destroy(mf_take(module->positions, NULL));
	if (module->dwarf)
		dwarf_end(mf_take(module->dwarf, NULL));
	module->positions_known = false;
}

static void close_module(struct module *module)
{
	mf_symtab_deinit(&module->symtab);
	close_positions(module);
	if (module->image_known)
		mf_image_close(&module->image);
	mf_arena_deinit(&module->arena);
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

/* The module of object @number; NULL if memory is short. */
static struct module *find_module(struct mf_symbolizer *s, uint32_t number)
{
	const struct mf_object *object = &s->objects[number];
	struct module *module;

	if (s->module_of[number])
		return s->module_of[number];
	for (module = s->modules; module; module = module->next) {
		if (mf_object_same_file(module->object, object))
			break;
	}
	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return NULL;
		module->object = object;
		module->known = mf_names_file(s->options.names, object);
		module->next = s->modules;
		s->modules = module;
	}
	s->module_of[number] = module;
	return module;
}

static struct mf_image *find_image(const struct mf_symbolizer *s, struct module *module)
{
	if (!module->image_known) {
		module->image_known = true;
		mf_image_open(&module->image, module->object);
		mf_names_made_from(module->known, &module->image.sources);
		if (module->image.why && s->options.unreadable)
			s->options.unreadable(module->object->path, module->image.why);
	}
	return &module->image;
}

static struct mf_symbol *find_symbol(const struct mf_symbolizer *s, struct module *module, uint64_t address)
{
	if (!module->symtab_known) {
		const struct mf_image *image = find_image(s, module);

		module->symtab_known = true;
		if (image->elf)
			mf_symtab_add(&module->symtab, image->elf);
		if (image->debug_elf)
			mf_symtab_add(&module->symtab, image->debug_elf);
		mf_symtab_finish(&module->symtab);
	}
	return mf_symtab_find(&module->symtab, address);
}

/* NULL if there is no debug information. */
static struct mf_positions *find_positions(const struct mf_symbolizer *s, struct module *module)
{
	struct mf_image *image = find_image(s, module);
	Elf *const sources[] = { image->elf, image->debug_elf };
	const int fds[] = { image->fd, image->debug_fd };

	if (module->positions_known)
		return module->positions;
	module->positions_known = true;
	for (size_t i = 0; i < 2 && !module->dwarf; i++) {
		if (!sources[i] || !mf_sections_have_dwarf(sources[i]))
			continue;
		mf_sections_hide(sources[i]);
		mf_sections_inflate(&image->sections, sources[i], fds[i]);
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

/* Did another symbolizer find it, or another run? */
static bool recall_function(const struct module *module, uint64_t address, struct answer *answer)
{
	const struct mf_names_answer *known = mf_names_find(module->known, address);

	if (!known || !known->function_known)
		return false;
	answer->function = known->function;
	answer->offset = known->offset;
	return true;
}

static bool recall_locations(const struct module *module, uint64_t address, struct answer *answer)
{
	const struct mf_names_answer *known = mf_names_find(module->known, address);

	if (!known || !known->locations)
		return false;
	answer->locations = known->locations;
	answer->n_locations = known->n_locations;
	return true;
}

static void find_function(struct mf_symbolizer *s, struct answer *answer)
{
	const char *name = NULL;
	struct mf_symbol *symbol;
	struct module *module;
	uint64_t address;

	if (answer->function_known)
		return;
	answer->function_known = true;
	module = find_code(s, answer->frame, &address);
	if (!module || recall_function(module, address, answer))
		return;
	symbol = find_symbol(s, module, address);
	if (symbol) {
		name = symbol->name;
		answer->function = shown_name(s, symbol);
		answer->offset = address - symbol->start;
	}
	if (module->image.elf)
		mf_names_keep_function(module->known, address, name, answer->function,
				       answer->offset);
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
static const char *join(struct mf_arena *arena, const char *first, const char *second,
			size_t n_second)
{
	size_t n_first = strlen(first);
	char *joined = mf_arena_alloc(arena, n_first + n_second + 2);

	if (!joined)
		return NULL;
	memcpy(joined, first, n_first);
	if (n_first && n_second)
		joined[n_first++] = '/';
	memcpy(joined + n_first, second, n_second);
	return joined;
}

/*
 * Splits DWARF's path into the base name and the directory, made complete as far as is known. All are
 * copies: what libdw has may be given back.
 */
static void set_file(struct mf_arena *arena, struct mf_location *location,
		     const struct mf_position *position)
{
	const char *path = position->path, *slash = strrchr(path, '/');
	const char *base = *path == '/' || !position->base ? "" : position->base;

	location->file = join(arena, "", slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
	if (slash || *base)
		location->directory = join(arena, base, path, slash ? (size_t)(slash - path) : 0);
}

static void find_locations(struct mf_symbolizer *s, struct answer *answer)
{
	const struct mf_object *object = &s->objects[answer->frame.object];
	struct mf_position positions[MF_POSITIONS_MAX] = { 0 };
	struct mf_location *locations;
	struct mf_positions *source;
	struct module *module;
	struct mf_arena *arena;
	uint64_t address;
	size_t count = 1;

	module = find_code(s, answer->frame, &address);
	if (module && recall_locations(module, address, answer))
		return;
	arena = module ? &module->arena : &s->arena;
	source = module ? find_positions(s, module) : NULL;
	if (source)
		count = mf_positions_find(source, address, s->options.inlines, positions);
	if (source && mf_positions_are_split(source))
		mf_names_made_from(module->known, NULL);

	locations = mf_arena_alloc(arena, count * sizeof(*locations));
	if (!locations)
		return;
	for (size_t i = 0; i < count; i++) {
		const char *function = positions[i].function;

		if (function)
			locations[i].function = join(arena, "", function, strlen(function));
		locations[i].line = positions[i].line;
		locations[i].object = object->kind == MF_OBJECT_UNKNOWN ? NULL : object->path;
		if (positions[i].path)
			set_file(arena, &locations[i], &positions[i]);
	}
	locations[count - 1].function = answer->function;
	locations[count - 1].offset = answer->offset;
	if (object->kind == MF_OBJECT_NOTE)
		locations[0] = (struct mf_location){ .note = object->path };
	answer->locations = locations;
	answer->n_locations = count;
	if (module && module->image.elf)
		mf_names_keep_locations(module->known, address, locations, count);
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

void mf_symbolizer_want(struct mf_symbolizer *s, struct mf_frame frame)
{
	struct answer *answer = frame.object < s->n_objects ? find_answer(s, frame) : NULL;

	if (answer)
		answer->wanted = true;
}

/* The answers of one module, to be found by one thread. */
struct task {
	struct answer **answers;
	size_t count;
};

/* What the threads of one mf_symbolizer_prepare() share. */
struct work {
	struct mf_symbolizer *symbolizer;
	struct answer **answers; /* sorted by module and address */
	struct task *tasks;	 /* the largest first */
	size_t n_answers, n_tasks;
	size_t next_task, done; /* atomic: tasks taken, answers found */
};

static struct module *module_of(const struct mf_symbolizer *s, const struct answer *answer)
{
	return s->module_of[answer->frame.object];
}

static int compare_answers(const void *left, const void *right, void *symbolizer)
{
	const struct answer *a = *(struct answer *const *)left, *b = *(struct answer *const *)right;
	uintptr_t of_a = (uintptr_t)module_of(symbolizer, a);
	uintptr_t of_b = (uintptr_t)module_of(symbolizer, b);

	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	/* Code of one unit lies together, and one unit's tables are read for all of it. */
	return a->frame.pc < b->frame.pc ? -1 : a->frame.pc > b->frame.pc;
}

static int compare_tasks(const void *left, const void *right)
{
	const struct task *a = left, *b = right;

	return a->count > b->count ? -1 : a->count < b->count;
}

/* Is all of the answer known from before? That takes no thread. */
static bool recall(const struct module *module, uint64_t address, struct answer *answer)
{
	if (!answer->function_known)
		answer->function_known = recall_function(module, address, answer);
	return answer->function_known && recall_locations(module, address, answer);
}

/* The wanted answers that are not known yet, with their modules made. False if memory is short. */
static bool collect_wanted(struct work *work)
{
	struct mf_symbolizer *s = work->symbolizer;

	work->answers = calloc(s->n_answers + 1, sizeof(*work->answers));
	work->tasks = calloc(s->n_answers + 1, sizeof(*work->tasks));
	if (!work->answers || !work->tasks)
		return false;
	for (size_t i = 0; i < s->room; i++) {
		struct answer *answer = &s->answers[i];
		const struct module *module;
		uint64_t address;

		if (!answer->used || !answer->wanted || answer->locations)
			continue;
		module = find_code(s, answer->frame, &address);
		if (module && !recall(module, address, answer))
			work->answers[work->n_answers++] = answer;
	}
	return true;
}

static void make_tasks(struct work *work)
{
	struct mf_symbolizer *s = work->symbolizer;

	qsort_r(work->answers, work->n_answers, sizeof(*work->answers), compare_answers, s);
	for (size_t i = 0; i < work->n_answers; i++) {
		if (!i || module_of(s, work->answers[i]) != module_of(s, work->answers[i - 1]))
			work->tasks[work->n_tasks++].answers = &work->answers[i];
		work->tasks[work->n_tasks - 1].count++;
	}
	qsort(work->tasks, work->n_tasks, sizeof(*work->tasks), compare_tasks);
}

static void find_answers_of(struct work *work, const struct task *task)
{
	struct module *module = module_of(work->symbolizer, task->answers[0]);

	for (size_t i = 0; i < task->count; i++) {
		find_function(work->symbolizer, task->answers[i]);
		find_locations(work->symbolizer, task->answers[i]);
		__atomic_fetch_add(&work->done, 1, __ATOMIC_RELAXED);
		/* The answers come unit by unit: what was read for the ones before is not needed. */
		if (module->positions && mf_positions_weight(module->positions) > DWARF_BYTES_MAX)
			close_positions(module);
	}
}

static void *find_wanted(void *data)
{
	struct work *work = data;
	size_t task;

	while ((task = __atomic_fetch_add(&work->next_task, 1, __ATOMIC_RELAXED)) < work->n_tasks)
		find_answers_of(work, &work->tasks[task]);
	return NULL;
}

static void tell(const struct work *work, size_t done)
{
	if (work->symbolizer->options.progress)
		work->symbolizer->options.progress(done, work->n_answers);
}

/* Waits for the end of @thread, and tells how far it all is when it has taken long, from @start on. */
static bool wait_for(pthread_t thread, const struct work *work, const struct timespec *start)
{
	struct timespec until;
	bool told = false;

	clock_gettime(CLOCK_REALTIME, &until);
	for (;;) {
		until.tv_nsec += PERIOD_MS * 1000000l;
		if (until.tv_nsec >= 1000000000l) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000l;
		}
		if (pthread_timedjoin_np(thread, NULL, &until) == 0)
			return told;
		if (until.tv_sec > start->tv_sec + PATIENCE_S) {
			tell(work, __atomic_load_n(&work->done, __ATOMIC_RELAXED));
			told = true;
		}
	}
}

static void run_threads(struct work *work)
{
	pthread_t threads[THREADS_MAX];
	struct timespec start;
	sigset_t all, before;
	size_t n = 0;
	bool told = false;

	clock_gettime(CLOCK_REALTIME, &start);
	/* Signals are the first thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < THREADS_MAX && n < work->n_tasks &&
	       pthread_create(&threads[n], NULL, find_wanted, work) == 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!n)
		find_wanted(work);
	for (size_t i = 0; i < n; i++)
		told = wait_for(threads[i], work, &start) || told;
	if (told)
		tell(work, work->n_answers);
}

void mf_symbolizer_prepare(struct mf_symbolizer *s)
{
	struct work work = { .symbolizer = s };

	if (collect_wanted(&work) && work.n_answers) {
		make_tasks(&work);
		run_threads(&work);
	}
	free(work.answers);
	free(work.tasks);
}
