// SPDX-License-Identifier: GPL-2.0
// An execution tree of memory, in the formats of Callgrind and of Massif.

#include "report/xtree.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/blocks.h"
#include "model/objects.h"
#include "model/tally.h"
#include "model/trie.h"
#include "report/filter.h"
#include "report/frames.h"
#include "report/index.h"
#include "report/location.h"
#include "report/massif_file.h"

static const struct {
	const char *name, *text;
} events[MF_LEDGER_VALUES] = {
	[MF_LEDGER_BYTES] = { "curB", "curB : currently allocated Bytes" },
	[MF_LEDGER_BLOCKS] = { "curBk", "curBk : currently allocated Blocks" },
	[MF_LEDGER_ALLOCATED_BYTES] = { "totB", "totB : total allocated Bytes" },
	[MF_LEDGER_ALLOCATED_BLOCKS] = { "totBk", "totBk : total allocated Blocks" },
	[MF_LEDGER_FREED_BYTES] = { "totFdB", "totFdB : total Freed Bytes" },
	[MF_LEDGER_FREED_BLOCKS] = { "totFdBk", "totFdBk : total Freed Blocks" },
};

enum {
	EVENTS_ALLOCS = MF_LEDGER_BLOCKS + 1,
	EVENTS_FULL = MF_LEDGER_VALUES,
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
	sums->contexts[block->context].values[MF_LEDGER_BYTES] += block->size;
	sums->contexts[block->context].values[MF_LEDGER_BLOCKS]++;
}

static void subtract_block(const struct mf_block *block, void *data)
{
	struct sums *sums = data;

	if (block->context >= sums->n || !sums->contexts[block->context].values[MF_LEDGER_BLOCKS])
		return;
	sums->contexts[block->context].values[MF_LEDGER_BYTES] -= block->size;
	sums->contexts[block->context].values[MF_LEDGER_BLOCKS]--;
}

/* The contexts of the blocks that live. */
static bool collect_blocks(const struct mf_store *store, struct mf_xtree *xtree)
{
	const uint32_t *nodes = store->regions[MF_REGION_CONTEXT_NODES];
	struct sums sums = { .n = store->header->n_contexts };

	if (!sums.n || !mf_store_fits(store, MF_REGION_CONTEXT_NODES, sums.n - 1, sizeof(*nodes)))
		sums.n = MF_CONTEXT_FIRST;
	sums.contexts = calloc(sums.n, sizeof(*sums.contexts));
	if (!sums.contexts)
		return false;
	mf_blocks_walk(store, add_block, &sums);
	mf_tally_walk_put_off(store, subtract_block, &sums);
	xtree->n_events = EVENTS_ALLOCS;
	xtree->contexts = sums.contexts;
	for (uint32_t i = 0; i < sums.n; i++) {
		if (!sums.contexts[i].values[MF_LEDGER_BLOCKS])
			continue;
		xtree->contexts[xtree->n_contexts] = sums.contexts[i];
		xtree->contexts[xtree->n_contexts++].node =
			i < MF_CONTEXT_FIRST ? MF_NODE_ROOT : nodes[i];
	}
	return true;
}

static bool has_values(const struct mf_ledger_entry *entry)
{
	for (size_t i = 0; i < MF_LEDGER_VALUES; i++)
		if (entry->values[i])
			return true;
	return false;
}

/* Those of the ledger. */
static bool collect_ledger(const struct mf_store *store, struct mf_xtree *xtree)
{
	struct mf_ledger_entry entry;
	size_t room = 0;

	xtree->n_events = EVENTS_FULL;
	for (uint32_t i = 1; mf_ledger_read(store, i, &entry); i++) {
		struct mf_xtree_context *context;

		if (!has_values(&entry))
			continue;
		if (xtree->n_contexts == room) {
			room = room ? 2 * room : 1024;
			context = reallocarray(xtree->contexts, room, sizeof(*context));
			if (!context)
				return false;
			xtree->contexts = context;
		}
		context = &xtree->contexts[xtree->n_contexts++];
		context->node = entry.node;
		memcpy(context->values, entry.values, sizeof(context->values));
		/* Read between what one thread has taken away and another has added. */
		for (size_t j = 0; j < MF_LEDGER_VALUES; j++)
			if ((int64_t)context->values[j] < 0)
				context->values[j] = 0;
	}
	return true;
}

int mf_xtree_collect(const struct mf_store *store, struct mf_xtree *xtree, struct mf_error *err)
{
	bool done;
	int rc;

	*xtree = (struct mf_xtree){ 0 };
	done = store->header->keeps_ledger ? collect_ledger(store, xtree) :
					     collect_blocks(store, xtree);
	/* After the stacks, whose objects are there by now. */
	rc = done ? mf_collect_objects(store, &xtree->collection, err) :
		    mf_error_set(err, -ENOMEM, "not enough memory to read what was allocated");
	xtree->collection.store = store;
	if (rc)
		mf_xtree_release(xtree);
	return rc;
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
	uint32_t depth = mf_trie_node_frames(xtree->collection.store, xtree->contexts[number].node,
					     frames, MF_PROFILE_FRAMES_MAX);

	for (uint32_t i = 0; i < depth; i++)
		if (frames[i].object >= xtree->collection.profile.n_objects)
			frames[i].object = MF_OBJECT_NONE;
	if (depth)
		return depth;
	frames[0] = (struct mf_frame){ .object = MF_OBJECT_NONE };
	return 1;
}

/* A snapshot for each event, all of the same moment. */
static int write_massif(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			struct mf_error *err)
{
	mf_auto_free struct mf_leaf *leaves =
		calloc(xtree->n_events * xtree->n_contexts + 1, sizeof(*leaves));
	struct mf_profile_snapshot snapshots[MF_LEDGER_VALUES] = { 0 };
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
		.n_snapshots = xtree->n_events,
	};

	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	for (size_t event = 0; event < xtree->n_events; event++) {
		struct mf_profile_snapshot *s = &snapshots[event];
		struct mf_leaf *first = leaves + event * xtree->n_contexts;

		for (uint32_t i = 0; i < xtree->n_contexts; i++) {
			first[i] = (struct mf_leaf){ i, xtree->contexts[i].values[event] };
			s->heap_bytes += first[i].bytes;
		}
		s->time = file->time_ms;
		s->tree = MF_TREE_DETAILED;
		s->root = events[event].text;
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
	bool is_stack;	 /* a whole one, not just the outer part of others */
	uint64_t values[MF_LEDGER_VALUES];
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
	uint32_t n_events;
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

static void expect_context(const struct mf_xtree *xtree, uint32_t number, struct mf_filter *filter)
{
	struct mf_frame stack[MF_PROFILE_FRAMES_MAX];
	struct mf_context context = { .frames = stack };

	context.n_frames = read_context(xtree, number, stack);
	mf_filter_expect(filter, &context);
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
		uint32_t frame = mf_frames_intern_at(c->frames, stack[i], context.n_frames - 1 - i);

		path = frame == MF_FRAMES_NONE ? 0 : find_path(c, path, frame);
		if (!path)
			return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	}
	if (!c->paths[path].is_stack)
		c->order[c->n_order++] = path;
	c->paths[path].is_stack = true;
	for (size_t event = 0; event < c->n_events; event++)
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

static void print_values(const struct callgrind *c, const uint64_t *values)
{
	for (size_t event = 0; event < c->n_events; event++)
		fprintf(c->out, " %" PRIu64, values[event]);
	putc('\n', c->out);
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
		print_values(c, values);
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
	for (size_t event = 0; event < c->n_events; event++)
		fprintf(c->out, "event: %s\n", events[event].text);
	fputs("events:", c->out);
	for (size_t event = 0; event < c->n_events; event++)
		fprintf(c->out, " %s ", events[event].name);
	putc('\n', c->out);
}

static void print_totals(const struct callgrind *c)
{
	uint64_t totals[MF_LEDGER_VALUES] = { 0 };

	for (uint32_t i = 0; i < c->n_order; i++) {
		for (size_t event = 0; event < c->n_events; event++)
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
		expect_context(xtree, i, filter);
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
		.n_events = xtree->n_events,
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
