// SPDX-License-Identifier: GPL-2.0
// Writes stacks and their values in Callgrind format: a memory execution tree, or a snapshot of a profile.

#include "report/callgrind_file.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/frames.h"
#include "report/index.h"
#include "report/location.h"
#include "report/massif_file.h"

/* A numbered name, stored in a tsearch(3) tree. */
struct numbered {
	uint32_t number;
	char name[];
};

struct numbering {
	void *names;
	uint32_t n;
};

static int compare_numbered(const void *a, const void *b)
{
	return strcmp(((const struct numbered *)a)->name, ((const struct numbered *)b)->name);
}

/*
 * A call stack in the file, or only the outer frames of one. Contexts whose frames have the same addresses share a
 * path.
 */
struct path {
	uint32_t parent; /* the path without the innermost frame; 0 is the empty path */
	uint32_t frame;	 /* the innermost frame, as a number in struct mf_frames */
	bool is_stack;	 /* true if the path is a complete stack, false if it is only the outer part of stacks */
	uint64_t values[MF_LEDGER_VALUES];
};

/* The contents of a file: call stacks, each with a value for every event type. */
struct stacks {
	const struct mf_profile *profile; /* has the objects and the command */
	size_t n;
	uint32_t n_events;
	const struct mf_xtree_event *events[MF_LEDGER_VALUES];
	const void *source;
	/* Copies the frames of stack @number of @source, as in struct mf_profile. */
	uint32_t (*read_frames)(const void *source, uint32_t number, struct mf_frame *frames);
	uint64_t (*value)(const void *source, uint32_t number, uint32_t event);
	const char *creator;
	pid_t pid; /* 0: not known */
};

/* The source position of a frame, in the form that the Callgrind format requires. */
struct place {
	char file[4096];
	const char *function;
	unsigned int line;
};

struct callgrind {
	FILE *out;
	const struct stacks *stacks;
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer;
	struct mf_frames *frames;
	/* maps each pair of an outer path and an innermost frame to the number of the path that they form */
	struct mf_index index;
	struct path *paths;    /* paths[0] is the empty path */
	uint32_t n_paths, room_paths;
	uint32_t *order; /* paths that are complete stacks, in the order in which they were first seen */
	uint32_t n_order;
	bool compress;
	struct numbering files, functions;
};

/*
 * Returns the number of the path that extends the path @parent by the innermost frame @frame. Returns 0 if out of
 * memory.
 */
static uint32_t find_path(struct callgrind *c, uint32_t parent, uint32_t frame)
{
	uint32_t *number;

	if (c->n_paths == c->room_paths) {
		uint32_t room = c->room_paths ? 2 * c->room_paths : 1024;
		struct path *paths = reallocarray(c->paths, room, sizeof(*paths));

		if (!paths)
			return 0;
		c->paths = paths;
		c->room_paths = room;
	}
	number = mf_index_put(&c->index, parent, frame, c->n_paths);
	if (!number)
		return 0;
	if (*number == c->n_paths)
		c->paths[c->n_paths++] = (struct path){ .parent = parent, .frame = frame };
	return *number;
}

static void expect_context(const struct stacks *stacks, uint32_t number, struct mf_filter *filter)
{
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };

	context.n_frames = stacks->read_frames(stacks->source, number, stack);
	mf_filter_expect(filter, &context);
}

/* Adds the values of stack @number to the path formed by its filtered frames. */
static int add_context(struct callgrind *c, uint32_t number, struct mf_filter *filter, struct mf_error *err)
{
	const struct stacks *stacks = c->stacks;
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };
	struct mf_filter_span span;
	uint32_t path = 0;
	int rc;

	context.n_frames = stacks->read_frames(stacks->source, number, stack);
	rc = mf_filter_apply(filter, &context, NULL, &span, err);
	if (rc || !span.count)
		return rc;
	for (uint32_t i = span.first + span.count; i-- > span.first;) {
		uint32_t frame = mf_frames_intern_at(c->frames, stack[i], context.n_frames - 1 - i);

		path = frame == MF_FRAMES_NONE ? 0 : find_path(c, path, frame);
		if (!path)
			return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	}
	if (!c->paths[path].is_stack)
		c->order[c->n_order++] = path;
	c->paths[path].is_stack = true;
	for (uint32_t event = 0; event < stacks->n_events; event++)
		c->paths[path].values[event] += stacks->value(stacks->source, number, event);
	return 0;
}

static void find_place(struct callgrind *c, uint32_t path, struct place *place)
{
	struct mf_frame frame = mf_frames_get(c->frames, c->paths[path].frame);
	const struct mf_location *locations;

	/* Use the line in the innermost inlined function, but the name of the function that contains the code. */
	mf_symbolizer_resolve(c->symbolizer, frame, &locations);
	place->function = mf_location_function(mf_symbolizer_function(c->symbolizer, frame),
					       c->options);
	if (!place->function)
		place->function = "UnknownFn??" "?";
	place->line = locations->file ? locations->line : 0;
	if (!locations->file)
		snprintf(place->file, sizeof(place->file), "UnknownFile??" "?");
	else
		snprintf(place->file, sizeof(place->file), "%s%s%s",
			 locations->directory ? locations->directory : "",
			 locations->directory && *locations->directory ? "/" : "", locations->file);
}

/*
 * Returns the number of @name. If the name is new, the result is numbering->n + 1, and the caller increments n. Returns
 * 0 if out of memory.
 */
static uint32_t number_of(struct numbering *numbering, const char *name)
{
	size_t size = strlen(name) + 1;
	struct numbered *new = malloc(sizeof(*new) + size), **found;
	uint32_t number = 0;

	if (!new)
		return 0;
	new->number = numbering->n + 1;
	memcpy(new->name, name, size);
	found = tsearch(new, &numbering->names, compare_numbered);
	if (found)
		number = (*found)->number;
	if (!found || *found != new)
		free(new);
	return number;
}

/* Prints "key=(3)" or, if the number is new, "key=(3) name". */
static void print_name(struct callgrind *c, const char *key, struct numbering *numbering,
		       const char *name)
{
	uint32_t number = c->compress ? number_of(numbering, name) : 0;

	if (!number)
		fprintf(c->out, "%s=%s\n", key, name);
	else if (number <= numbering->n)
		fprintf(c->out, "%s=(%" PRIu32 ")\n", key, number);
	else
		fprintf(c->out, "%s=(%" PRIu32 ") %s\n", key, ++numbering->n, name);
}

static void print_values(const struct callgrind *c, const uint64_t *values)
{
	for (size_t event = 0; event < c->stacks->n_events; event++)
		fprintf(c->out, " %" PRIu64, values[event]);
	putc('\n', c->out);
}

/* Prints the frames of a path, outermost first, each with the call to the next frame. */
static void print_path(struct callgrind *c, uint32_t path)
{
	const uint64_t *values = c->paths[path].values;
	uint32_t chain[MF_PROFILE_FRAMES_MAX], depth = 0;
	struct place places[2], *at = &places[0], *next = &places[1];

	for (; path; path = c->paths[path].parent)
		chain[depth++] = path;
	find_place(c, chain[depth - 1], at);
	while (depth--) {
		struct place *swap = at;

		print_name(c, "fl", &c->files, at->file);
		print_name(c, "fn", &c->functions, at->function);
		fprintf(c->out, "%u", at->line);
		if (depth) {
			find_place(c, chain[depth - 1], next);
			putc('\n', c->out);
			print_name(c, "cfi", &c->files, next->file);
			print_name(c, "cfn", &c->functions, next->function);
			fprintf(c->out, "calls=0 %u\n%u", next->line, at->line);
		}
		print_values(c, values);
		at = next;
		next = swap;
	}
	putc('\n', c->out);
}

static void print_head(const struct callgrind *c)
{
	const struct stacks *stacks = c->stacks;

	fprintf(c->out, "# callgrind format\nversion: 1\ncreator: %s\n", stacks->creator);
	if (stacks->pid)
		fprintf(c->out, "pid: %d\n", (int)stacks->pid);
	mf_massif_file_print_head(c->out, "cmd", stacks->profile->cmd);
	fputs("\npositions: line\n", c->out);
	for (size_t event = 0; event < stacks->n_events; event++)
		fprintf(c->out, "event: %s\n", stacks->events[event]->text);
	fputs("events:", c->out);
	for (size_t event = 0; event < stacks->n_events; event++)
		fprintf(c->out, " %s ", stacks->events[event]->name);
	putc('\n', c->out);
}

static void print_totals(const struct callgrind *c)
{
	uint64_t totals[MF_LEDGER_VALUES] = { 0 };

	for (uint32_t i = 0; i < c->n_order; i++) {
		for (size_t event = 0; event < c->stacks->n_events; event++)
			totals[event] += c->paths[c->order[i]].values[event];
	}
	fputs("totals:", c->out);
	if (c->n_order)
		print_values(c, totals);
	else
		fputs(" (null)\n", c->out);
}

static void release_callgrind(struct callgrind *c)
{
	mf_frames_destroy(c->frames);
	mf_index_deinit(&c->index);
	free(c->paths);
	free(c->order);
	tdestroy(c->files.names, free);
	tdestroy(c->functions.names, free);
}

static void destroy_filter(struct mf_filter **filter)
{
	mf_filter_destroy(*filter);
}

static int write_callgrind(struct callgrind *c, struct mf_error *err)
{
	__attribute__((cleanup(destroy_filter))) struct mf_filter *filter = NULL;
	const struct mf_profile *profile = c->stacks->profile;
	size_t n = c->stacks->n;
	int rc;

	c->order = calloc(n + 1, sizeof(*c->order));
	if (!c->order || find_path(c, 0, MF_FRAMES_NONE))
		return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	rc = mf_frames_create(profile->objects, profile->n_objects, &c->frames, err);
	if (!rc)
		rc = mf_filter_create(c->options, profile->pages, c->frames, c->symbolizer, &filter, err);
	for (uint32_t i = 0; !rc && i < n; i++)
		expect_context(c->stacks, i, filter);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = add_context(c, i, filter, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < mf_frames_count(c->frames); i++)
		mf_symbolizer_want(c->symbolizer, mf_frames_get(c->frames, i));
	mf_symbolizer_prepare(c->symbolizer);

	print_head(c);
	for (uint32_t i = 0; i < c->n_order && !ferror(c->out); i++)
		print_path(c, c->order[i]);
	print_totals(c);
	return mf_massif_file_end(c->out, err);
}

static int write_stacks(FILE *out, const struct stacks *stacks, bool compress, const struct mf_report_options *options,
			struct mf_symbolizer *symbolizer, struct mf_error *err)
{
	struct callgrind c = {
		.out = out,
		.stacks = stacks,
		.options = options,
		.symbolizer = symbolizer,
		.compress = compress,
	};
	int rc = write_callgrind(&c, err);

	release_callgrind(&c);
	return rc;
}

static uint64_t value_of_xtree(const void *source, uint32_t number, uint32_t event)
{
	return ((const struct mf_xtree *)source)->contexts[number].values[event];
}

int mf_callgrind_file_write(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			    const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			    struct mf_error *err)
{
	const struct mf_report_options whole = mf_xtree_options(options);
	struct stacks stacks = {
		.profile = &xtree->collection.profile,
		.n = xtree->n_contexts,
		.n_events = xtree->n_events,
		.source = xtree,
		.read_frames = mf_xtree_read_context,
		.value = value_of_xtree,
		.creator = "xtree-1",
		.pid = file->pid,
	};

	for (uint32_t event = 0; event < stacks.n_events; event++)
		stacks.events[event] = &mf_xtree_events[event];
	return write_stacks(out, &stacks, file->compress, &whole, symbolizer, err);
}

/* The stacks of a snapshot, and those that have allocated anything. */
struct moment_source {
	const struct mf_profile *profile;
	struct mf_leaf *leaves; /* in the order of contexts */
};

static uint32_t read_moment(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct moment_source *moment = source;

	return moment->profile->read_context(moment->profile->source, moment->leaves[number].context, frames);
}

static uint64_t value_of_moment(const void *source, uint32_t number, uint32_t event)
{
	const struct moment_source *moment = source;
	const struct mf_counts *counts = moment->profile->counts;
	const struct mf_leaf *leaf = &moment->leaves[number];

	return !event ? leaf->bytes : event == 1 ? counts[leaf->context].allocated : counts[leaf->context].allocations;
}

int mf_callgrind_moment_write(FILE *out, const struct mf_moment *moment, struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	struct moment_source source = { .profile = profile };
	struct stacks stacks = {
		.profile = profile,
		.n_events = profile->counts ? 3 : 1,
		.events = { &mf_xtree_events[MF_LEDGER_BYTES], &mf_xtree_events[MF_LEDGER_ALLOCATED_BYTES],
			    &mf_xtree_events[MF_LEDGER_ALLOCATED_BLOCKS] },
		.source = &source,
		.read_frames = read_moment,
		.value = value_of_moment,
		.creator = "massif-" MASSIF_VERSION,
	};
	int rc;

	stacks.n = mf_moment_join_counts(moment, &source.leaves, err);
	rc = source.leaves ? write_stacks(out, &stacks, true, moment->options, moment->symbolizer, err) : -ENOMEM;
	free(source.leaves);
	return rc;
}
