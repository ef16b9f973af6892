// SPDX-License-Identifier: GPL-2.0
// Finds functions, files and lines for addresses. Answers are cached. Each file is read by a separate process
// (parser.h).
//
// The data of a file is used by only one thread at a time: each thread of mf_symbolizer_prepare() takes a file, looks
// up everything that is needed from it, and then takes the next one. While these threads run, the table of answers and
// the list of files do not change.

#include "symbols/symbolizer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/hash.h"
#include "symbols/arena.h"
#include "symbols/parser.h"

#define THREADS_MAX 2
#define PARSERS_MAX 16 /* maximum number of idle child processes kept for later lookups */
#define PATIENCE_S 1 /* number of seconds before progress is reported */
#define PERIOD_MS 200

/* A module: one file, shared by all objects mapped from it. */
struct module {
	struct module *next;
	const struct mf_object *object; /* one of the objects mapped from the file */
	struct mf_names_file *known; /* the names kept for this file, or NULL if no names are kept for it */
	struct mf_parser *parser; /* reads the file's names; NULL if the file has not been used yet or if out of
				   * memory */
	/* whether the caller has already been told that the file was opened, and that its parser has failed */
	bool reported_open, reported_lost;
	const char *function; /* name of the function that was found most recently */
	uint64_t used; /* time at which the module was last used, counted in lookups */
	struct mf_frame *expected; /* frames announced by mf_symbolizer_expect() */
	size_t n_expected, expected_room;
	struct mf_arena arena; /* memory for the strings of the answers */
};

/* What is known about one frame. */
struct answer {
	struct mf_frame frame;
	bool used, function_known;
	bool wanted; /* the frame was passed to mf_symbolizer_want(), so its positions will be needed */
	bool expected; /* the frame was passed to mf_symbolizer_expect(), so its function will be needed */
	const char *function;
	uint64_t offset;
	const struct mf_location *locations; /* source positions of the frame; NULL if not looked up yet */
	size_t n_locations;
};

struct mf_symbolizer {
	const struct mf_object *objects;
	size_t n_objects;
	struct mf_symbolizer_options options;
	/* module (file) of each object, indexed by object number; NULL if the struct has not been created yet */
	struct module **module_of;
	struct module *modules;
	/* what is known about each frame: a hash table (open addressing) with the frame as its key */
	struct answer *answers;
	size_t n_answers, room; /* room: size of the hash table of answers, a power of two */
	uint64_t questions; /* number of lookups of names in files so far: the clock for @used in struct module */
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
	/* Small, because a recording can contain thousands of short processes, each with a symbolizer. */
	s->room = 64;
	s->answers = calloc(s->room, sizeof(*s->answers));
	s->module_of = calloc(n_objects + 1, sizeof(struct module *));
	if (!s->answers || !s->module_of) {
		mf_symbolizer_destroy(s);
		return mf_error_set(err, -ENOMEM, "out of memory for symbols");
	}
	*out = s;
	return 0;
}

static void close_module(struct module *module)
{
	mf_parser_destroy(module->parser);
	mf_arena_deinit(&module->arena);
	free(module->expected);
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

/* Returns the module (file) that object @number is mapped from, or NULL if out of memory. */
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

static struct answer *slot_of(struct answer *answers, size_t room, struct mf_frame frame)
{
	size_t slot = (size_t)mf_hash(frame.pc, frame.object) & (room - 1);

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

/* Returns the answer for @frame, adding it if it is new; valid until the next call. Returns NULL if out of memory. */
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

/*
 * Returns the module (file) that contains the code of @frame, and sets *@address to the frame's link-time address.
 * Returns NULL if @frame is not code from a file.
 */
static struct module *find_code(struct mf_symbolizer *s, struct mf_frame frame, uint64_t *address)
{
	const struct mf_object *object = &s->objects[frame.object];

	if (s->options.closed || (object->kind != MF_OBJECT_FILE && object->kind != MF_OBJECT_VDSO))
		return NULL;
	*address = frame.pc - object->bias;
	return find_module(s, frame.object);
}

/* Fills in the function name if another symbolizer or an earlier run has found it. Otherwise returns false. */
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

/*
 * Passes on what the parser reports about the file of @module. Two facts are passed on, each at most once: the result
 * of opening the file, and the fact that the parser has failed and will give no more answers.
 */
static void pass_on(const struct mf_symbolizer *s, struct module *module)
{
	const struct mf_parser_state *state = mf_parser_state(module->parser);

	if (state->is_open && !module->reported_open) {
		module->reported_open = true;
		mf_names_made_from(module->known, state->shares ? NULL : state->sources);
		if (state->why && !state->lost && s->options.unreadable)
			s->options.unreadable(module->object->path, state->why);
		if (state->confined != MF_CONFINED_ALL && s->options.loose)
			s->options.loose(state->confined);
	}
	if (state->lost && !module->reported_lost) {
		module->reported_lost = true;
		if (s->options.unreadable)
			s->options.unreadable(module->object->path, state->why);
	}
}

/* Returns @first and the @n_second bytes of @second, joined by a slash if neither is empty. */
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
 * Splits a path from DWARF into base name and directory, which is made absolute if possible. The strings are copied,
 * because libdw may be closed.
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

static void set_function(struct module *module, struct answer *answer, const struct mf_reader_answer *found)
{
	answer->function_known = true;
	answer->offset = found->offset;
	if (!found->shown)
		return;
	/* Addresses of the same function are usually looked up in succession, so its name is copied only once. */
	if (!module->function || strcmp(module->function, found->shown) != 0)
		module->function = join(&module->arena, "", found->shown, strlen(found->shown));
	answer->function = module->function;
}

/* Fills in what a location of a frame in @object says about the object. */
static void set_object(struct mf_location *location, const struct mf_object *object)
{
	location->object = object->kind == MF_OBJECT_UNKNOWN ? NULL : object->path;
}

/* Fills in the locations in @answer. @module may be NULL; @n is at least 1. */
static void set_locations(struct mf_symbolizer *s, struct module *module, struct answer *answer,
			  const struct mf_position *positions, size_t n)
{
	const struct mf_object *object = &s->objects[answer->frame.object];
	struct mf_arena *arena = module ? &module->arena : &s->arena;
	struct mf_location *locations = mf_arena_alloc(arena, n * sizeof(*locations));

	if (!locations)
		return;
	for (size_t i = 0; i < n; i++) {
		const char *function = positions[i].function;

		if (function)
			locations[i].function = join(arena, "", function, strlen(function));
		locations[i].line = positions[i].line;
		set_object(&locations[i], object);
		if (positions[i].path)
			set_file(arena, &locations[i], &positions[i]);
	}
	locations[n - 1].function = answer->function;
	locations[n - 1].offset = answer->offset;
	if (object->kind == MF_OBJECT_NOTE)
		locations[0] = (struct mf_location){ .note = object->path };
	answer->locations = locations;
	answer->n_locations = n;
}

/* A batch of code addresses to look up in one file, which @module (struct module) represents. */
struct inquiry {
	struct mf_symbolizer *symbolizer;
	struct module *module;
	struct answer **answers;
	struct mf_reader_question *questions;
	size_t n;
	size_t n_answered;
	size_t *done; /* if not NULL: incremented atomically for each answer */
};

/*
 * Stores @found as the result for inquiry->questions[@number] in inquiry->answers[@number]. If @keep is true, also
 * keeps it for other symbolizers.
 */
static void set_answer(struct inquiry *inquiry, size_t number, const struct mf_reader_answer *found, bool keep)
{
	const struct mf_reader_question *question = &inquiry->questions[number];
	struct answer *answer = inquiry->answers[number];
	struct module *module = inquiry->module;
	static const struct mf_position unknown;

	if (question->wanted & MF_READER_FUNCTION) {
		set_function(module, answer, found);
		if (keep)
			mf_names_keep_function(module->known, question->address, found->symbol, answer->function,
					       answer->offset);
	}
	if (question->wanted & MF_READER_POSITIONS) {
		if (found->split)
			mf_names_made_from(module->known, NULL);
		set_locations(inquiry->symbolizer, module, answer, found->n ? found->positions : &unknown,
			      found->n ? found->n : 1);
		if (keep && answer->locations)
			mf_names_keep_locations(module->known, question->address, answer->locations,
						answer->n_locations);
	}
	if (inquiry->done)
		__atomic_fetch_add(inquiry->done, 1, __ATOMIC_RELAXED);
}

static void take_answer(void *data, size_t number, const struct mf_reader_answer *found)
{
	struct inquiry *inquiry = data;

	pass_on(inquiry->symbolizer, inquiry->module);
	inquiry->n_answered++;
	set_answer(inquiry, number, found, mf_parser_state(inquiry->module->parser)->readable);
}

static struct mf_parser *make_parser(const struct mf_symbolizer *s, const struct module *module)
{
	const struct mf_parser_options options = {
		.reader = { .demangle = s->options.demangle, .inlines = s->options.inlines },
		.search = s->options.search,
		.patience_ms = s->options.patience_ms,
		.unconfined = s->options.unconfined,
	};

	return mf_parser_create(module->object, &options);
}

/*
 * Sends inquiry->questions to the parser of inquiry->module, creating it first if necessary. Addresses for which no
 * answer arrives are marked as unknown.
 */
static void inquire(struct inquiry *inquiry)
{
	static const struct mf_reader_answer nothing;
	struct module *module = inquiry->module;

	if (!module->parser)
		module->parser = make_parser(inquiry->symbolizer, module);
	if (module->parser) {
		mf_parser_ask(module->parser, inquiry->questions, inquiry->n, take_answer, inquiry);
		pass_on(inquiry->symbolizer, module);
	}
	for (size_t i = inquiry->n_answered; i < inquiry->n; i++)
		set_answer(inquiry, i, &nothing, false);
}

/*
 * Records that the file @module is in use. If its names must be read in a child process and PARSERS_MAX child processes
 * are already running, ends the least recently used one.
 */
static void make_room(struct mf_symbolizer *s, struct module *module)
{
	struct module *oldest = NULL;
	size_t n = 0;

	module->used = ++s->questions;
	if (module->parser && !mf_parser_is_resting(module->parser))
		return;
	for (struct module *other = s->modules; other; other = other->next) {
		if (!other->parser || mf_parser_is_resting(other->parser))
			continue;
		n++;
		if (!oldest || other->used < oldest->used)
			oldest = other;
	}
	if (n >= PARSERS_MAX)
		mf_parser_rest(oldest->parser);
}

static void ask_one(struct mf_symbolizer *s, struct module *module, struct answer *answer, uint64_t address,
		    uint32_t wanted)
{
	struct mf_reader_question question = { .address = address, .wanted = wanted };
	struct inquiry inquiry = {
		.symbolizer = s, .module = module, .answers = &answer, .questions = &question, .n = 1,
	};

	make_room(s, module);
	inquire(&inquiry);
}

/*
 * Looks up the functions of all frames that mf_symbolizer_expect() has announced for the file @module, with one request
 * to the file's parser.
 */
static void ask_expected(struct mf_symbolizer *s, struct module *module)
{
	size_t n = module->n_expected;
	mf_auto_free struct mf_reader_question *questions = calloc(n, sizeof(*questions));
	mf_auto_free struct answer **answers = calloc(n, sizeof(*answers));
	struct inquiry inquiry = {
		.symbolizer = s, .module = module, .answers = answers, .questions = questions,
	};

	module->n_expected = 0;
	if (!questions || !answers)
		return;
	for (size_t i = 0; i < n; i++) {
		struct mf_frame frame = module->expected[i];
		struct answer *answer = find_answer(s, frame);

		if (!answer || answer->function_known)
			continue;
		answers[inquiry.n] = answer;
		questions[inquiry.n++] = (struct mf_reader_question){
			.address = frame.pc - s->objects[frame.object].bias,
			.wanted = MF_READER_FUNCTION,
		};
	}
	make_room(s, module);
	inquire(&inquiry);
}

static void find_function(struct mf_symbolizer *s, struct answer *answer)
{
	struct module *module;
	uint64_t address;

	if (answer->function_known)
		return;
	module = find_code(s, answer->frame, &address);
	if (!module || recall_function(module, address, answer)) {
		answer->function_known = true;
		return;
	}
	if (module->n_expected)
		ask_expected(s, module);
	if (!answer->function_known)
		ask_one(s, module, answer, address, MF_READER_FUNCTION);
}

static bool push_expected(struct module *module, struct mf_frame frame)
{
	if (module->n_expected == module->expected_room) {
		size_t room = module->expected_room * 2 + 64;
		struct mf_frame *more = reallocarray(module->expected, room, sizeof(*more));

		if (!more)
			return false;
		module->expected = more;
		module->expected_room = room;
	}
	module->expected[module->n_expected++] = frame;
	return true;
}

void mf_symbolizer_expect(struct mf_symbolizer *s, struct mf_frame frame)
{
	struct answer *answer = frame.object < s->n_objects ? find_answer(s, frame) : NULL;
	struct module *module;
	uint64_t address;

	if (!answer || answer->function_known || answer->expected)
		return;
	answer->expected = true;
	module = find_code(s, frame, &address);
	if (module && !mf_names_find(module->known, address))
		push_expected(module, frame);
}

const struct mf_parser_state *mf_symbolizer_state(const struct mf_symbolizer *s, uint32_t number)
{
	const struct module *module = number < s->n_objects ? s->module_of[number] : NULL;

	return module && module->parser ? mf_parser_state(module->parser) : NULL;
}

const char *mf_symbolizer_function(struct mf_symbolizer *s, struct mf_frame frame)
{
	struct answer *answer = frame.object < s->n_objects ? find_answer(s, frame) : NULL;

	if (!answer)
		return NULL;
	find_function(s, answer);
	return answer->function;
}

/* Looks up the positions of @answer and, if it is not known yet, its function. */
static void find_locations(struct mf_symbolizer *s, struct answer *answer)
{
	static const struct mf_position unknown;
	uint32_t wanted = MF_READER_POSITIONS;
	struct module *module;
	uint64_t address;

	module = find_code(s, answer->frame, &address);
	if (!module) {
		answer->function_known = true;
		set_locations(s, NULL, answer, &unknown, 1);
		return;
	}
	if (!answer->function_known && !recall_function(module, address, answer))
		wanted |= MF_READER_FUNCTION;
	answer->function_known = true;
	if (!recall_locations(module, address, answer))
		ask_one(s, module, answer, address, wanted);
}

bool mf_symbolizer_give(struct mf_symbolizer *s, struct mf_frame frame, struct mf_location *locations, size_t n)
{
	struct answer *answer = frame.object < s->n_objects ? find_answer(s, frame) : NULL;
	const struct mf_object *object;

	if (!answer)
		return false;
	object = &s->objects[frame.object];
	for (size_t i = 0; i < n; i++)
		set_object(&locations[i], object);
	if (object->kind == MF_OBJECT_NOTE)
		locations[0] = (struct mf_location){ .note = object->path };
	answer->function_known = true;
	answer->function = locations[n - 1].function;
	answer->offset = locations[n - 1].offset;
	answer->locations = locations;
	answer->n_locations = n;
	return true;
}

size_t mf_symbolizer_resolve(struct mf_symbolizer *s, struct mf_frame frame,
			     const struct mf_location **locations)
{
	struct answer *answer = frame.object < s->n_objects ? find_answer(s, frame) : NULL;

	*locations = &unknown_location;
	if (!answer)
		return 1;
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

/* All frames to look up whose code is in the same file (struct module). A single thread looks them all up. */
struct task {
	struct answer **answers;
	size_t count;
};

/* State shared by the threads of one call to mf_symbolizer_prepare(). */
struct work {
	struct mf_symbolizer *symbolizer;
	/* the frames to look up and what is known about them, sorted by file (module) and address */
	struct answer **answers;
	struct task *tasks;	 /* one task for each file, ordered by number of frames, largest first */
	size_t n_answers, n_tasks;
	/* atomic counters: index of the next task that a thread is to begin, and number of frames looked up so far */
	size_t next_task, done;
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
	/* Keep addresses from the same compilation unit adjacent, so that the unit's tables are read only once. */
	return a->frame.pc < b->frame.pc ? -1 : a->frame.pc > b->frame.pc;
}

static int compare_tasks(const void *left, const void *right)
{
	const struct task *a = left, *b = right;

	return a->count > b->count ? -1 : a->count < b->count;
}

/* Fills in @answer from names found earlier. Returns false if any part of the answer is missing. */
static bool recall(const struct module *module, uint64_t address, struct answer *answer)
{
	if (!answer->function_known)
		answer->function_known = recall_function(module, address, answer);
	return answer->function_known && recall_locations(module, address, answer);
}

/*
 * Collects the announced frames that have not been looked up yet, and creates the structs for their files. Returns
 * false if out of memory.
 */
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
	struct mf_symbolizer *s = work->symbolizer;
	mf_auto_free struct mf_reader_question *questions = calloc(task->count, sizeof(*questions));
	struct inquiry inquiry = {
		.symbolizer = s,
		.module = module_of(s, task->answers[0]),
		.answers = task->answers,
		.questions = questions,
		.n = task->count,
		.done = &work->done,
	};

	/* Running out of memory is not an error here: each frame will be looked up when its name is needed. */
	if (!questions)
		return;
	for (size_t i = 0; i < task->count; i++) {
		const struct answer *answer = task->answers[i];

		questions[i] = (struct mf_reader_question){
			.address = answer->frame.pc - s->objects[answer->frame.object].bias,
			.wanted = MF_READER_POSITIONS | (answer->function_known ? 0 : MF_READER_FUNCTION),
		};
	}
	inquire(&inquiry);
	/* End the child process: it is unlikely to be used again, and it keeps everything it has read in memory. */
	if (inquiry.module->parser)
		mf_parser_rest(inquiry.module->parser);
}

static void *find_wanted(void *data)
{
	struct work *work = data;
	size_t task;

	while ((task = __atomic_fetch_add(&work->next_task, 1, __ATOMIC_RELAXED)) < work->n_tasks)
		find_answers_of(work, &work->tasks[task]);
	return NULL;
}

static void report_progress(const struct work *work, size_t done)
{
	if (work->symbolizer->options.progress)
		work->symbolizer->options.progress(done, work->n_answers);
}

/*
 * Waits for @thread to end. If the work, which began at @start, takes a long time, reports its progress and returns
 * true.
 */
static bool wait_for(pthread_t thread, const struct work *work, const struct timespec *start)
{
	struct timespec until;
	bool reported = false;

	clock_gettime(CLOCK_REALTIME, &until);
	for (;;) {
		until.tv_nsec += PERIOD_MS * 1000000l;
		if (until.tv_nsec >= 1000000000l) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000l;
		}
		if (pthread_timedjoin_np(thread, NULL, &until) == 0)
			return reported;
		if (until.tv_sec > start->tv_sec + PATIENCE_S) {
			report_progress(work, __atomic_load_n(&work->done, __ATOMIC_RELAXED));
			reported = true;
		}
	}
}

static void run_threads(struct work *work)
{
	pthread_t threads[THREADS_MAX];
	struct timespec start;
	sigset_t all, before;
	size_t n = 0;
	bool reported = false;

	clock_gettime(CLOCK_REALTIME, &start);
	/* Only the main thread should receive signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < THREADS_MAX && n < work->n_tasks &&
	       pthread_create(&threads[n], NULL, find_wanted, work) == 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!n)
		find_wanted(work);
	for (size_t i = 0; i < n; i++)
		reported = wait_for(threads[i], work, &start) || reported;
	if (reported)
		report_progress(work, work->n_answers);
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
