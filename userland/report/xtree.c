// SPDX-License-Identifier: GPL-2.0
// An execution tree of live blocks, in the formats of Callgrind and of Massif.

#include "report/xtree.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/blocks.h"
#include "model/objects.h"
#include "model/trie.h"
#include "report/filter.h"
#include "report/frames.h"
#include "report/index.h"
#include "report/location.h"
#include "report/massif_file.h"

static const char *const event_names[MF_XTREE_EVENTS] = {
	[MF_XTREE_BYTES] = "curB",
	[MF_XTREE_BLOCKS] = "curBk",
};

static const char *const event_texts[MF_XTREE_EVENTS] = {
	[MF_XTREE_BYTES] = "curB : currently allocated Bytes",
	[MF_XTREE_BLOCKS] = "curBk : currently allocated Blocks",
};

/* Nothing is too small for the tree; without any bytes in it all is one entry. */
#define XTREE_THRESHOLD 1e-14

/* Sums of each context of the store, while the blocks are gone through. */
struct sums {
	struct mf_xtree_context *contexts;
	uint32_t n;
};

static void add_block(const struct mf_block *block, void *data)
{
	struct sums *sums = data;

	if (block->context >= sums->n)
		return;
	sums->contexts[block->context].values[MF_XTREE_BYTES] += block->size;
	sums->contexts[block->context].values[MF_XTREE_BLOCKS]++;
}

int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err)
{
	struct sums sums = { 0 };
	int rc;

	*xtree = (struct mf_xtree){ 0 };
	rc = mf_collect_present(store, 0, false, &xtree->collection, err);
	if (rc)
		return rc;
	sums.n = (uint32_t)xtree->collection.profile.n_contexts + MF_CONTEXT_FIRST;
	sums.contexts = calloc(sums.n, sizeof(*sums.contexts));
	if (!sums.contexts) {
		mf_xtree_release(xtree);
		return mf_error_set(err, -ENOMEM, "not enough memory to read the live blocks");
	}
	mf_blocks_walk(store, add_block, &sums);
	xtree->contexts = sums.contexts;
	for (uint32_t i = 0; i < sums.n; i++) {
		if (!sums.contexts[i].values[MF_XTREE_BLOCKS])
			continue;
		xtree->contexts[xtree->n_contexts] = sums.contexts[i];
		xtree->contexts[xtree->n_contexts++].number =
			i < MF_CONTEXT_FIRST ? MF_XTREE_NO_STACK : i - MF_CONTEXT_FIRST;
	}
	return 0;
}

void mf_xtree_release(struct mf_xtree *xtree)
{
	mf_collection_release(&xtree->collection);
	free(xtree->contexts);
	*xtree = (struct mf_xtree){ 0 };
}

bool mf_xtree_is_massif(const char *name)
{
	return strstr(name, ".ms");
}

static uint32_t read_context(const void *source, uint32_t number, struct mf_frame *frames)
{
	const struct mf_xtree *xtree = source;
	const struct mf_profile *profile = &xtree->collection.profile;

	if (xtree->contexts[number].number != MF_XTREE_NO_STACK)
		return profile->read_context(profile->source, xtree->contexts[number].number,
					     frames);
	frames[0] = (struct mf_frame){ .object = MF_OBJECT_NONE };
	return 1;
}

/* A snapshot for each event, all of the same moment. */
static int write_massif(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			struct mf_error *err)
{
	mf_auto_free struct mf_leaf *leaves =
		calloc(MF_XTREE_EVENTS * xtree->n_contexts + 1, sizeof(*leaves));
	struct mf_profile_snapshot snapshots[MF_XTREE_EVENTS] = { 0 };
	struct mf_profile profile = {
		.desc = "xtree.produce_report",
		.cmd = xtree->collection.profile.cmd,
		.time_unit = MF_TIME_MS,
		.objects = xtree->collection.profile.objects,
		.n_objects = xtree->collection.profile.n_objects,
		.read_context = read_context,
		.source = xtree,
		.n_contexts = xtree->n_contexts,
		.snapshots = snapshots,
		.n_snapshots = MF_XTREE_EVENTS,
	};

	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	for (size_t event = 0; event < MF_XTREE_EVENTS; event++) {
		struct mf_profile_snapshot *s = &snapshots[event];
		struct mf_leaf *first = leaves + event * xtree->n_contexts;

		for (uint32_t i = 0; i < xtree->n_contexts; i++) {
			first[i] = (struct mf_leaf){ i, xtree->contexts[i].values[event] };
			s->heap_bytes += first[i].bytes;
		}
		s->time = file->time_ms;
		s->tree = MF_TREE_DETAILED;
		s->root = event_texts[event];
		s->leaves = first;
		s->n_leaves = s->n_seen = xtree->n_contexts;
	}
	return mf_massif_file_write(out, &profile, options, symbolizer, err);
}

/* A name that has a number, in a tree of tsearch(3). */
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

/* One stack of the file: the contexts whose frames have the same addresses, put together. */
struct path {
	uint32_t parent; /* the path that it is one frame more than; 0: the empty one */
	uint32_t frame;	 /* number in frames */
	uint64_t values[MF_XTREE_EVENTS];
};

/* A frame in Callgrind's words. */
struct place {
	char file[4096];
	const char *function;
	unsigned int line;
};

struct callgrind {
	FILE *out;
	const struct mf_report_options *options;
	struct mf_symbolizer *symbolizer;
	struct mf_frames *frames;
	struct mf_index index; /* (path, frame) -> path */
	struct path *paths;    /* [0] is the empty one */
	uint32_t n_paths, room_paths;
	uint32_t *order; /* the paths that are a context's, as they first appeared */
	uint32_t n_order;
	bool compress;
	struct numbering files, functions;
};

/* The path that is one frame more than @parent; 0 if memory is short. */
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

/* Adds context @number of the tree to the path of what is left of its frames. */
static int add_context(struct callgrind *c, const struct mf_xtree *xtree, uint32_t number,
		       struct mf_filter *filter, struct mf_error *err)
{
	const uint64_t *values = xtree->contexts[number].values;
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };
	struct mf_filter_span span;
	uint32_t path = 0;
	int rc;

	context.n_frames = read_context(xtree, number, stack);
	rc = mf_filter_apply(filter, &context, NULL, &span, err);
	if (rc || !span.count)
		return rc;
	for (uint32_t i = span.first + span.count; i-- > span.first;) {
		uint32_t frame = mf_frames_intern(c->frames, stack[i]);

		path = frame == MF_FRAMES_NONE ? 0 : find_path(c, path, frame);
		if (!path)
			return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	}
	/* Each context has a block, so this is 0 in the first of them only. */
	if (!c->paths[path].values[MF_XTREE_BLOCKS])
		c->order[c->n_order++] = path;
	for (size_t event = 0; event < MF_XTREE_EVENTS; event++)
		c->paths[path].values[event] += values[event];
	return 0;
}

static void find_place(struct callgrind *c, uint32_t path, struct place *place)
{
	struct mf_frame frame = mf_frames_get(c->frames, c->paths[path].frame);
	const struct mf_location *locations;

	/* The line is that of the innermost inlined call, the function is that which was called. */
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

/* The number of @name: a new one, if it is the last that was given. 0 if memory is short. */
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

/* "key=(3)", or "key=(3) name" where the number is new. */
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

static void print_values(FILE *out, const uint64_t *values)
{
	for (size_t event = 0; event < MF_XTREE_EVENTS; event++)
		fprintf(out, " %" PRIu64, values[event]);
	putc('\n', out);
}

/* From the outermost frame inwards, each with the call that leads to the next. */
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
		print_values(c->out, values);
		at = next;
		next = swap;
	}
	putc('\n', c->out);
}

static void print_head(const struct callgrind *c, const struct mf_xtree *xtree, pid_t pid)
{
	fprintf(c->out, "# callgrind format\nversion: 1\ncreator: xtree-1\npid: %d\n", (int)pid);
	mf_massif_file_print_head(c->out, "cmd", xtree->collection.profile.cmd);
	fputs("\npositions: line\n", c->out);
	for (size_t event = 0; event < MF_XTREE_EVENTS; event++)
		fprintf(c->out, "event: %s\n", event_texts[event]);
	fputs("events:", c->out);
	for (size_t event = 0; event < MF_XTREE_EVENTS; event++)
		fprintf(c->out, " %s ", event_names[event]);
	putc('\n', c->out);
}

static void print_totals(const struct callgrind *c)
{
	uint64_t totals[MF_XTREE_EVENTS] = { 0 };

	for (uint32_t i = 0; i < c->n_order; i++) {
		for (size_t event = 0; event < MF_XTREE_EVENTS; event++)
			totals[event] += c->paths[c->order[i]].values[event];
	}
	fputs("totals:", c->out);
	if (c->n_order)
		print_values(c->out, totals);
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

static int write_callgrind(struct callgrind *c, const struct mf_xtree *xtree, pid_t pid,
			   struct mf_error *err)
{
	__attribute__((cleanup(destroy_filter))) struct mf_filter *filter = NULL;
	const struct mf_profile *profile = &xtree->collection.profile;
	int rc;

	c->order = calloc(xtree->n_contexts + 1, sizeof(*c->order));
	if (!c->order || find_path(c, 0, MF_FRAMES_NONE))
		return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	rc = mf_frames_create(profile->objects, profile->n_objects, &c->frames, err);
	if (!rc)
		rc = mf_filter_create(c->options, false, c->frames, c->symbolizer, &filter, err);
	for (uint32_t i = 0; !rc && i < xtree->n_contexts; i++)
		rc = add_context(c, xtree, i, filter, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < mf_frames_count(c->frames); i++)
		mf_symbolizer_want(c->symbolizer, mf_frames_get(c->frames, i));
	mf_symbolizer_prepare(c->symbolizer);

	print_head(c, xtree, pid);
	for (uint32_t i = 0; i < c->n_order && !ferror(c->out); i++)
		print_path(c, c->order[i]);
	print_totals(c);
	return mf_massif_file_end(c->out, err);
}

int mf_xtree_write(FILE *out, struct mf_xtree *xtree, const struct mf_xtree_file *file,
		   const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
		   struct mf_error *err)
{
	struct mf_report_options whole = *options;
	struct callgrind c = {
		.out = out,
		.options = &whole,
		.symbolizer = symbolizer,
		.compress = file->compress,
	};
	int rc;

	whole.whole_stacks = true;
	whole.threshold = XTREE_THRESHOLD;
	if (file->massif)
		return write_massif(out, xtree, file, &whole, symbolizer, err);
	rc = write_callgrind(&c, xtree, file->pid, err);
	release_callgrind(&c);
	return rc;
}
