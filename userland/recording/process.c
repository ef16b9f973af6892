// SPDX-License-Identifier: GPL-2.0
// Reads the sections that a recording contains for one process, and makes a profile from them.

#include "recording/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "recording/residency_section.h"
#include "recording/touches_section.h"
#include "symbols/positions.h"

/* More than fit into the session of a program. Each takes 100 bytes. */
#define OBJECTS_MAX (1u << 20)

/* Longer names are cut: a file needs to have a name only once, and it is printed for each stack that contains it. */
#define NAME_BYTES_MAX 65536u

static int no_memory(struct mf_error *err)
{
	return mf_error_set(err, -ENOMEM, "out of memory");
}

/* Lets the process be refused for lack of memory rather than for what a section contains. */
static bool lack_memory(struct mf_recorded *process)
{
	process->out_of_memory = true;
	return false;
}

static struct mf_cursor cursor_of(const struct mf_recorded *process, enum mf_section_type type)
{
	const uint8_t *data = process->sections[type].data;

	return (struct mf_cursor){ data, data ? data + process->sections[type].size : NULL, false };
}

/*
 * Reads a text that is a name. Names with control characters exist only in files that are meant to deceive: in a report,
 * they could begin a line or control the terminal. @cursor is in a section of the process, which can be written to.
 */
static const char *take_name(struct mf_cursor *cursor)
{
	char *name = (char *)mf_cursor_text(cursor);

	if (!name)
		return NULL;
	if (strlen(name) > NAME_BYTES_MAX)
		name[NAME_BYTES_MAX] = '\0';
	mf_printable_clean(name);
	return name;
}

static void take_object(struct mf_cursor *cursor, struct mf_object *object)
{
	const void *build_id;

	object->kind = (enum mf_object_kind)mf_cursor_at_most(cursor, MF_OBJECT_NOTE);
	object->start = mf_cursor_unsigned(cursor);
	object->end = object->start + mf_cursor_unsigned(cursor);
	object->bias = mf_cursor_unsigned(cursor);
	object->path = take_name(cursor);
	object->build_id_size = (uint8_t)mf_cursor_at_most(cursor, MF_BUILD_ID_MAX);
	build_id = mf_cursor_take(cursor, object->build_id_size);
	if (build_id)
		memcpy(object->build_id, build_id, object->build_id_size);
	object->unloaded = mf_cursor_at_most(cursor, 1);
	object->device = mf_cursor_unsigned(cursor);
	object->inode = mf_cursor_unsigned(cursor);
	object->modified_ns = mf_cursor_signed(cursor);
	if (object->end < object->start || (object->kind != MF_OBJECT_UNKNOWN && !object->path))
		cursor->bad = true;
}

static bool take_objects(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_OBJECTS);
	size_t n = mf_cursor_count(&cursor, 10);

	if (n > OBJECTS_MAX)
		return false;
	process->objects = calloc(n + 1, sizeof(*process->objects));
	if (!process->objects)
		return lack_memory(process);
	for (size_t i = 0; i < n && !cursor.bad; i++)
		take_object(&cursor, &process->objects[i]);
	process->profile.objects = process->objects;
	process->profile.n_objects = n;
	return !cursor.bad && n && process->objects[0].kind == MF_OBJECT_UNKNOWN;
}

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_recorded *process = source;
	uint32_t node = number < process->profile.n_contexts ? process->contexts[number] : 0, n = 0;

	for (; node && n < MF_PROFILE_FRAMES_MAX; node = process->nodes[node].parent)
		frames[n++] = process->frames[process->nodes[node].frame];
	return n;
}

static bool take_frames(struct mf_recorded *process, struct mf_cursor *cursor)
{
	size_t n = mf_cursor_count(cursor, 2);
	uint64_t pc = 0;

	process->frames = calloc(n + 1, sizeof(*process->frames));
	if (!process->frames)
		return lack_memory(process);
	process->n_frames = n;
	for (size_t i = 0; i < n && !cursor->bad; i++) {
		process->frames[i].object = (uint32_t)mf_cursor_at_most(cursor, process->profile.n_objects - 1);
		pc += (uint64_t)mf_cursor_signed(cursor);
		process->frames[i].pc = pc;
	}
	return !cursor->bad;
}

/* The root, node 0, is not in the file. */
static bool take_nodes(struct mf_recorded *process, struct mf_cursor *cursor)
{
	size_t n = mf_cursor_count(cursor, 2) + 1;

	if (n > UINT32_MAX || (n > 1 && !process->n_frames))
		return false;
	process->nodes = calloc(n, sizeof(*process->nodes));
	if (!process->nodes)
		return lack_memory(process);
	process->n_nodes = n;
	for (size_t i = 1; i < n && !cursor->bad; i++) {
		uint64_t back = mf_cursor_at_most(cursor, i);

		/* A node that is its own parent would make stacks endless. */
		if (!back)
			return false;
		process->nodes[i].parent = (uint32_t)(i - back);
		process->nodes[i].frame = (uint32_t)mf_cursor_at_most(cursor, process->n_frames - 1);
	}
	return !cursor->bad;
}

static bool take_contexts(struct mf_recorded *process, struct mf_cursor *cursor)
{
	size_t n = mf_cursor_count(cursor, 1);
	int64_t node = 0;

	process->contexts = calloc(n + 1, sizeof(*process->contexts));
	if (!process->contexts)
		return lack_memory(process);
	process->profile.n_contexts = n;
	for (size_t i = 0; i < n && !cursor->bad; i++) {
		node = (int64_t)((uint64_t)node + (uint64_t)mf_cursor_signed(cursor));
		if (node < 0 || (uint64_t)node >= process->n_nodes)
			return false;
		process->contexts[i] = (uint32_t)node;
	}
	return !cursor->bad;
}

static bool take_stacks(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_STACKS);

	return take_frames(process, &cursor) && take_nodes(process, &cursor) && take_contexts(process, &cursor);
}

/* Reads the names of one frame. @texts has @n_texts elements, of which the first is NULL. */
static bool take_names_of(struct mf_recorded *process, struct mf_cursor *cursor, const char *const *texts,
			  size_t n_texts, struct mf_frame frame)
{
	size_t n = mf_cursor_count(cursor, 4);
	uint64_t offset = mf_cursor_unsigned(cursor);
	struct mf_location *locations;

	/* No writer finds more. Each of them is printed for each stack that contains the frame. */
	if (!n || n > MF_POSITIONS_MAX)
		return false;
	locations = mf_arena_alloc(&process->names, n * sizeof(*locations));
	for (size_t i = 0; locations && i < n && !cursor->bad; i++) {
		locations[i].function = texts[mf_cursor_at_most(cursor, n_texts - 1)];
		locations[i].directory = texts[mf_cursor_at_most(cursor, n_texts - 1)];
		locations[i].file = texts[mf_cursor_at_most(cursor, n_texts - 1)];
		locations[i].line = (unsigned int)mf_cursor_at_most(cursor, UINT32_MAX);
	}
	if (!locations)
		return lack_memory(process);
	if (cursor->bad)
		return false;
	locations[n - 1].offset = offset;
	return mf_symbolizer_give(process->symbolizer, frame, locations, n) || lack_memory(process);
}

static void forget_section(struct mf_recorded *process, enum mf_section_type type)
{
	free(process->sections[type].data);
	process->sections[type].data = NULL;
}

static bool take_names(struct mf_recorded *process)
{
	const struct mf_symbolizer_options closed = { .closed = true };
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_NAMES);
	size_t n = mf_cursor_count(&cursor, 1);
	mf_auto_free const char **texts = calloc(n + 1, sizeof(*texts));

	/* The largest sections have no texts that are still used. */
	forget_section(process, MF_SECTION_STACKS);
	forget_section(process, MF_SECTION_SNAPSHOTS);
	forget_section(process, MF_SECTION_COUNTS);
	forget_section(process, MF_SECTION_BLOCKS);
	forget_section(process, MF_SECTION_DETAILS);
	forget_section(process, MF_SECTION_AGES);
	if (!texts ||
	    mf_symbolizer_create(process->objects, process->profile.n_objects, &closed, &process->symbolizer, NULL))
		return lack_memory(process);
	for (size_t i = 1; i <= n; i++)
		texts[i] = take_name(&cursor);
	for (size_t i = 0; i < process->n_frames; i++)
		if (cursor.bad || !take_names_of(process, &cursor, texts, n + 1, process->frames[i]))
			return false;
	return true;
}

/* Leaves of all snapshots that have been read. */
struct leaves {
	struct mf_leaf *list;
	size_t count, room;
};

static bool add_leaf(struct leaves *leaves, struct mf_leaf leaf)
{
	if (leaves->count == leaves->room) {
		size_t room = leaves->room ? leaves->room * 2 : 1024;
		struct mf_leaf *list = reallocarray(leaves->list, room, sizeof(*list));

		if (!list)
			return false;
		leaves->list = list;
		leaves->room = room;
	}
	leaves->list[leaves->count++] = leaf;
	return true;
}

/* @bytes_before has the bytes of each context in the tree that was read before. */
static bool take_leaves(struct mf_recorded *process, struct mf_cursor *cursor, struct mf_profile_snapshot *snapshot,
			uint64_t *bytes_before, struct leaves *leaves)
{
	uint64_t context = 0;

	snapshot->n_seen = mf_cursor_at_most(cursor, process->profile.n_contexts);
	snapshot->n_leaves = mf_cursor_count(cursor, 2);
	for (size_t i = 0; i < snapshot->n_leaves && !cursor->bad; i++) {
		uint64_t step = mf_cursor_at_most(cursor, snapshot->n_seen), bytes;

		context += step;
		if ((i && !step) || context >= snapshot->n_seen)
			return false;
		bytes = bytes_before[context] + (uint64_t)mf_cursor_signed(cursor);
		bytes_before[context] = bytes;
		if (!add_leaf(leaves, (struct mf_leaf){ .context = (uint32_t)context, .bytes = bytes }))
			return lack_memory(process);
	}
	return !cursor->bad;
}

static bool take_each_snapshot(struct mf_recorded *process, struct mf_cursor *cursor, size_t n,
			       uint64_t *bytes_before, struct leaves *leaves)
{
	uint64_t time = 0;

	for (size_t i = 0; i < n && !cursor->bad; i++) {
		struct mf_profile_snapshot *snapshot = &process->snapshots[i];

		time += (uint64_t)mf_cursor_signed(cursor);
		snapshot->time = (int64_t)time;
		snapshot->heap_bytes = mf_cursor_unsigned(cursor);
		snapshot->extra_bytes = mf_cursor_unsigned(cursor);
		snapshot->stack_bytes = mf_cursor_unsigned(cursor);
		snapshot->tree = (enum mf_tree_kind)mf_cursor_at_most(cursor, MF_TREE_PEAK);
		if (snapshot->tree != MF_TREE_EMPTY &&
		    !take_leaves(process, cursor, snapshot, bytes_before, leaves))
			return false;
	}
	return !cursor->bad;
}

static bool take_snapshots(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_SNAPSHOTS);
	size_t n = mf_cursor_count(&cursor, 5), used = 0;
	mf_auto_free uint64_t *bytes_before = calloc(process->profile.n_contexts + 1, sizeof(*bytes_before));
	struct leaves leaves = { 0 };
	bool ok;

	process->snapshots = calloc(n + 1, sizeof(*process->snapshots));
	if (!bytes_before || !process->snapshots)
		return lack_memory(process);
	ok = take_each_snapshot(process, &cursor, n, bytes_before, &leaves);
	process->leaves = leaves.list;
	if (!ok)
		return false;
	/* All leaves have been read, so that their array no longer moves. */
	for (size_t i = 0; i < n; i++) {
		process->snapshots[i].leaves = leaves.list ? leaves.list + used : NULL;
		used += process->snapshots[i].n_leaves;
	}
	/* The last one is the end, which is no snapshot of the profile. */
	if (!n || process->snapshots[n - 1].tree == MF_TREE_EMPTY)
		return false;
	process->profile.snapshots = process->snapshots;
	process->profile.n_snapshots = n - 1;
	process->end = &process->snapshots[n - 1];
	return true;
}

static bool take_counts(struct mf_recorded *process)
{
	size_t n = process->profile.n_contexts;
	struct mf_cursor cursor;

	if (!process->sections[MF_SECTION_COUNTS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_COUNTS);
	process->counts = calloc(n + 1, sizeof(*process->counts));
	if (!process->counts)
		return lack_memory(process);
	for (size_t i = 0; i < n && !cursor.bad; i++) {
		process->counts[i].allocations = mf_cursor_unsigned(&cursor);
		process->counts[i].allocated = mf_cursor_unsigned(&cursor);
		process->counts[i].temporaries = mf_cursor_unsigned(&cursor);
		process->counts[i].live = mf_cursor_unsigned(&cursor);
	}
	process->profile.counts = process->counts;
	return !cursor.bad;
}

void mf_recorded_describe(struct mf_recorded *process)
{
	struct mf_facts *facts = &process->facts;
	struct mf_profile *profile = &process->profile;

	facts->name = facts->name ?: "?";
	facts->cmd = facts->cmd ?: "?";
	facts->desc = facts->desc ?: "(none)";
	profile->cmd = facts->cmd;
	profile->desc = facts->desc;
	profile->time_unit = (enum mf_time_unit)facts->time_unit;
	profile->pages = facts->pages;
	profile->what = (enum mf_pages_what)facts->what;
	profile->read_context = read_context;
	profile->source = process;
}

static bool take_facts(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_PROCESS);
	struct mf_facts *facts = &process->facts;

	mf_facts_take(&cursor, facts);
	if (cursor.bad || facts->time_unit > MF_TIME_BYTES || facts->what > MF_PAGES_BOTH || facts->pages > 1)
		return false;
	mf_recorded_describe(process);
	return true;
}

static bool take_sizes(struct mf_recorded *process)
{
	struct mf_cursor cursor;

	if (!process->sections[MF_SECTION_SIZES].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_SIZES);
	for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++) {
		process->sizes[i].blocks = mf_cursor_unsigned(&cursor);
		process->sizes[i].bytes = mf_cursor_unsigned(&cursor);
	}
	process->profile.sizes = process->sizes;
	return !cursor.bad;
}

/* The numbers of live blocks of the leaves, which have been read. */
static bool take_blocks(struct mf_recorded *process)
{
	size_t n_leaves = 0;
	struct mf_cursor cursor;

	if (!process->sections[MF_SECTION_BLOCKS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_BLOCKS);
	for (size_t i = 0; i <= process->profile.n_snapshots; i++) {
		n_leaves += process->snapshots[i].n_leaves;
		process->snapshots[i].has_blocks = process->snapshots[i].tree != MF_TREE_EMPTY;
	}
	for (size_t i = 0; i < n_leaves && !cursor.bad; i++)
		process->leaves[i].blocks = (uint32_t)mf_cursor_at_most(&cursor, UINT32_MAX);
	return !cursor.bad;
}

/* Reads the classes of one histogram, appending them to @classes, which already has *@used. */
static uint32_t take_classes(struct mf_class_count *classes, struct mf_cursor *cursor, size_t *used)
{
	uint32_t n = (uint32_t)mf_cursor_at_most(cursor, MF_DETAIL_CLASSES), class = 0;

	for (uint32_t i = 0; i < n && !cursor->bad; i++) {
		struct mf_class_count *counted = &classes[*used];

		counted->class = (uint32_t)mf_cursor_at_most(cursor, MF_DETAIL_CLASSES - 1);
		counted->count = mf_cursor_unsigned(cursor);
		cursor->bad |= !counted->count || (i && counted->class <= class);
		class = counted->class;
		++*used;
	}
	return n;
}

static bool take_details(struct mf_recorded *process)
{
	size_t n = process->profile.n_contexts, used = 0, size = process->sections[MF_SECTION_DETAILS].size;
	struct mf_cursor cursor;

	if (!process->sections[MF_SECTION_DETAILS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_DETAILS);
	process->details = calloc(n + 1, sizeof(*process->details));
	/* Each class has at least two bytes in the section. */
	process->classes = calloc(size / 2 + 1, sizeof(*process->classes));
	if (!process->details || !process->classes)
		return lack_memory(process);
	process->profile.details_lost = mf_cursor_unsigned(&cursor);
	for (size_t i = 0; i < n && !cursor.bad; i++) {
		struct mf_context_details *details = &process->details[i];

		details->largest = mf_cursor_unsigned(&cursor);
		details->sizes = &process->classes[used];
		details->n_sizes = take_classes(process->classes, &cursor, &used);
		details->lifetimes = &process->classes[used];
		details->n_lifetimes = take_classes(process->classes, &cursor, &used);
	}
	process->profile.details = process->details;
	return !cursor.bad;
}

static bool take_ages(struct mf_recorded *process)
{
	size_t n = process->profile.n_contexts, used = 0, size = process->sections[MF_SECTION_AGES].size;
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_AGES);

	if (!cursor.at)
		return true;
	if (!process->details)
		return false;
	process->age_classes = calloc(size / 2 + 1, sizeof(*process->age_classes));
	if (!process->age_classes)
		return lack_memory(process);
	for (size_t i = 0; i < n && !cursor.bad; i++) {
		process->details[i].ages = &process->age_classes[used];
		process->details[i].n_ages = take_classes(process->age_classes, &cursor, &used);
	}
	process->profile.has_ages = true;
	return !cursor.bad;
}

static bool take_threads(struct mf_recorded *process)
{
	struct mf_profile *profile = &process->profile;
	struct mf_cursor cursor;
	size_t n;

	if (!process->sections[MF_SECTION_THREADS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_THREADS);
	n = mf_cursor_count(&cursor, 3);
	process->threads = calloc(n + 1, sizeof(*process->threads));
	process->context_threads = calloc(profile->n_contexts + 1, sizeof(*process->context_threads));
	if (!process->threads || !process->context_threads)
		return lack_memory(process);
	if (!n)
		return false;
	for (size_t i = 0; i < n; i++) {
		process->threads[i].tid = mf_cursor_unsigned(&cursor);
		process->threads[i].name = take_name(&cursor) ?: "";
	}
	for (size_t i = 0; i < profile->n_contexts; i++)
		process->context_threads[i] = (uint32_t)mf_cursor_at_most(&cursor, n - 1);
	profile->threads = process->threads;
	profile->n_threads = n;
	profile->context_threads = process->context_threads;
	return !cursor.bad;
}

/* A later version may know more functions. */
static bool take_functions(struct mf_recorded *process)
{
	size_t n = process->profile.n_contexts;
	struct mf_cursor cursor;

	if (!process->sections[MF_SECTION_FUNCTIONS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_FUNCTIONS);
	process->functions = calloc(n + 1, sizeof(*process->functions));
	if (!process->functions)
		return lack_memory(process);
	for (size_t i = 0; i < n && !cursor.bad; i++) {
		uint64_t function = mf_cursor_unsigned(&cursor);

		process->functions[i] = function < MF_FUNCTIONS ? (uint8_t)function : MF_FUNCTION_UNKNOWN;
	}
	process->profile.functions = process->functions;
	return !cursor.bad;
}

static bool take_totals(struct mf_recorded *process)
{
	struct mf_cursor cursor;
	size_t n;

	if (!process->sections[MF_SECTION_TOTALS].data)
		return true;
	cursor = cursor_of(process, MF_SECTION_TOTALS);
	n = mf_cursor_count(&cursor, 5);
	process->thread_totals = calloc(n + 1, sizeof(*process->thread_totals));
	if (!process->thread_totals)
		return lack_memory(process);
	for (size_t i = 0; i < n && !cursor.bad; i++) {
		struct mf_thread_total *total = &process->thread_totals[i];

		total->thread.tid = mf_cursor_unsigned(&cursor);
		total->thread.name = take_name(&cursor) ?: "";
		total->sums.allocations = mf_cursor_unsigned(&cursor);
		total->sums.allocated = mf_cursor_unsigned(&cursor);
		total->sums.temporaries = mf_cursor_unsigned(&cursor);
	}
	process->profile.thread_totals = process->thread_totals;
	process->profile.n_thread_totals = n;
	return !cursor.bad;
}

static bool take_residency(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_RESIDENCY);
	int code;

	if (!cursor.at)
		return true;
	code = mf_residency_section_take(&cursor, process->profile.n_contexts, &process->residency);
	process->profile.residency = &process->residency;
	return code == -ENOMEM ? lack_memory(process) : !code;
}

/* Does the same as read_context(), but leaves out the innermost frame, which is not code: it names the kind of page. */
static uint32_t read_touching_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_recorded *process = source;
	uint32_t node = number < process->profile.n_contexts ? process->contexts[number] : 0, n = 0;

	/* A stack consists of more than that. */
	if (node && process->nodes[node].parent)
		node = process->nodes[node].parent;
	for (; node && n < MF_PROFILE_FRAMES_MAX; node = process->nodes[node].parent)
		frames[n++] = process->frames[process->nodes[node].frame];
	return n;
}

/* Makes a profile of the sections that begin with MF_SECTION_TOUCHED. */
static bool take_touched(struct mf_recorded *process)
{
	struct mf_recorded *touched = process->touched = calloc(1, sizeof(*touched));
	struct mf_error err;

	if (!touched)
		return lack_memory(process);
	touched->sections[MF_SECTION_END].data = calloc(1, 1);
	if (!touched->sections[MF_SECTION_END].data)
		return lack_memory(process);
	for (uint32_t type = MF_SECTION_PROCESS; MF_SECTION_TOUCHED + type <= MF_SECTION_TOUCHED_LAST; type++) {
		touched->sections[type] = process->sections[MF_SECTION_TOUCHED + type];
		process->sections[MF_SECTION_TOUCHED + type].data = NULL;
	}
	if (!mf_recorded_has_sections(touched) || mf_recorded_take(touched, 0, &err)) {
		process->out_of_memory |= touched->out_of_memory;
		return false;
	}
	touched->profile.read_context = read_touching_context;
	return true;
}

static bool take_touches(struct mf_recorded *process)
{
	struct mf_cursor cursor = cursor_of(process, MF_SECTION_TOUCHES);
	int code;

	if (!cursor.at)
		return true;
	if (!process->profile.residency || !take_touched(process))
		return false;
	code = mf_touches_section_take(&cursor, process->touched->profile.n_contexts, &process->touches,
				       &process->residency);
	process->touches.profile = &process->touched->profile;
	process->touches.end = process->touched->end;
	process->touches.symbolizer = process->touched->symbolizer;
	process->profile.touches = &process->touches;
	return code == -ENOMEM ? lack_memory(process) : !code;
}

/* The steps that read the sections of a process, in this order: a step may need the results of earlier ones. */
static const struct {
	const char *name;
	bool (*take)(struct mf_recorded *process);
} parts[] = {
	{ "facts", take_facts },   { "objects", take_objects }, { "stacks", take_stacks }, { "snapshots", take_snapshots },
	{ "counts", take_counts }, { "sizes", take_sizes },	{ "blocks", take_blocks },   { "details", take_details },
	{ "ages", take_ages }, { "threads", take_threads }, { "totals", take_totals }, { "functions", take_functions },
	{ "samples", take_residency }, { "first touches", take_touches }, { "names", take_names },
};

int mf_recorded_take(struct mf_recorded *process, size_t number, struct mf_error *err)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].take(process))
			continue;
		if (process->out_of_memory)
			return no_memory(err);
		return mf_error_set(err, -EBADMSG, "the %s of process %zu are invalid", parts[i].name, number);
	}
	return 0;
}

void mf_recorded_release(struct mf_recorded *process)
{
	if (!process)
		return;
	mf_recorded_release(process->touched);
	mf_symbolizer_destroy(process->symbolizer);
	mf_arena_deinit(&process->names);
	for (size_t i = 0; i < MF_SECTION_TYPES; i++)
		free(process->sections[i].data);
	free(process->objects);
	free(process->frames);
	free(process->nodes);
	free(process->contexts);
	free(process->counts);
	free(process->details);
	free(process->classes);
	free(process->age_classes);
	free(process->threads);
	free(process->context_threads);
	free(process->thread_totals);
	free(process->functions);
	mf_residency_deinit(&process->residency);
	free(process->snapshots);
	free(process->leaves);
	free(process);
}

/* The sections that not every process has. */
static const bool may_lack[MF_SECTION_TYPES] = {
	[MF_SECTION_COUNTS] = true,
	[MF_SECTION_SIZES] = true,
	[MF_SECTION_BLOCKS] = true,
	[MF_SECTION_DETAILS] = true,
	[MF_SECTION_THREADS] = true,
	[MF_SECTION_TOTALS] = true,
	[MF_SECTION_FUNCTIONS] = true,
	[MF_SECTION_RESIDENCY] = true,
	[MF_SECTION_TOUCHES ... MF_SECTION_TOUCHED_LAST] = true,
	[MF_SECTION_AGES] = true,
};

bool mf_recorded_has_sections(const struct mf_recorded *process)
{
	for (uint32_t type = MF_SECTION_PROCESS; type < MF_SECTION_TYPES; type++)
		if (!process->sections[type].data && !may_lack[type])
			return false;
	return true;
}
