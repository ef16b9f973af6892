// SPDX-License-Identifier: GPL-2.0
// Writes a profile, with everything that is known of it, as a process of a recording.

#include "recording/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "recording/residency_section.h"
#include "recording/section.h"
#include "recording/touches_section.h"
#include "report/index.h"

/* Numbers the distinct frames of a profile, and the nodes of a tree of its stacks. Node 0 is the root. */
struct stacks {
	struct mf_index frame_index; /* frame number by (pc, object) */
	struct mf_index node_index;  /* node number by (parent, frame) */
	struct mf_frame *frames;
	struct node {
		uint32_t parent, frame;
	} *nodes;
	uint32_t n_frames, room_frames, n_nodes, room_nodes;
	uint32_t *contexts; /* node of each context's innermost frame */
};

static void stacks_deinit(struct stacks *stacks)
{
	mf_index_deinit(&stacks->frame_index);
	mf_index_deinit(&stacks->node_index);
	free(stacks->frames);
	free(stacks->nodes);
	free(stacks->contexts);
}

/* Makes room for one more element in *@array. Returns false if out of memory. */
static bool grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t more = *room ? *room * 2 : 1024;
	void *larger;

	if (count < *room)
		return true;
	larger = reallocarray(*array, more, size);
	if (!larger)
		return false;
	*array = larger;
	*room = more;
	return true;
}

static bool intern_frame(struct stacks *stacks, struct mf_frame frame, uint32_t *number)
{
	uint32_t *value = mf_index_put(&stacks->frame_index, frame.pc, frame.object, stacks->n_frames);

	if (!value || !grow((void **)&stacks->frames, stacks->n_frames, &stacks->room_frames, sizeof(*stacks->frames)))
		return false;
	*number = *value;
	if (*value == stacks->n_frames)
		stacks->frames[stacks->n_frames++] = frame;
	return true;
}

static bool intern_node(struct stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *number)
{
	uint32_t *value = mf_index_put(&stacks->node_index, parent, frame, stacks->n_nodes);

	if (!value || !grow((void **)&stacks->nodes, stacks->n_nodes, &stacks->room_nodes, sizeof(*stacks->nodes)))
		return false;
	*number = *value;
	if (*value == stacks->n_nodes)
		stacks->nodes[stacks->n_nodes++] = (struct node){ parent, frame };
	return true;
}

/* The path of a stack, from the outermost frame: its frames, and the nodes that they lead to. */
struct path {
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	uint32_t nodes[MF_PROFILE_FRAMES_MAX];
	uint32_t n;
};

/*
 * Returns in *@node the node of a stack of @n frames, innermost first. @before is the path of the stack before, with
 * which most stacks share their outer frames; it becomes that of this one.
 */
static bool intern_stack(struct stacks *stacks, struct path *before, const struct mf_frame *frames, uint32_t n,
			 uint32_t *node)
{
	uint32_t same = 0;

	while (same < n && same < before->n && before->frames[same].pc == frames[n - 1 - same].pc &&
	       before->frames[same].object == frames[n - 1 - same].object)
		same++;
	*node = same ? before->nodes[same - 1] : 0;
	for (uint32_t i = same; i < n; i++) {
		uint32_t frame;

		before->frames[i] = frames[n - 1 - i];
		if (!intern_frame(stacks, before->frames[i], &frame) || !intern_node(stacks, *node, frame, node))
			return false;
		before->nodes[i] = *node;
	}
	before->n = n;
	return true;
}

static bool add_node(struct stacks *stacks, uint32_t parent, uint32_t frame)
{
	if (!grow((void **)&stacks->nodes, stacks->n_nodes, &stacks->room_nodes, sizeof(*stacks->nodes)))
		return false;
	stacks->nodes[stacks->n_nodes++] = (struct node){ parent, frame };
	return true;
}

/*
 * Adds the nodes from the first that is new to @node of the profile's source. @numbers has, for each node of the source, the
 * number that it has been given, or 0. Returns false if out of memory.
 */
static bool add_nodes(const struct mf_profile *profile, struct stacks *stacks, uint32_t node, uint32_t *numbers)
{
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	uint32_t path[MF_PROFILE_FRAMES_MAX], n = 0, number;

	for (; node && !numbers[node] && n < MF_PROFILE_FRAMES_MAX; n++) {
		path[n] = node;
		node = profile->read_node(profile->source, node, &frames[n]);
	}
	number = numbers[node];
	while (n-- > 0) {
		uint32_t frame;

		if (!intern_frame(stacks, frames[n], &frame) || !add_node(stacks, number, frame))
			return false;
		number = numbers[path[n]] = stacks->n_nodes - 1;
	}
	return true;
}

/* Does the work of collect_stacks() if the source of @profile has the stacks as a tree. Node 0 is the root of both. */
static bool collect_tree(const struct mf_profile *profile, struct stacks *stacks)
{
	uint32_t *numbers = calloc(profile->n_nodes + 1, sizeof(*numbers));
	bool done = numbers && add_node(stacks, UINT32_MAX, UINT32_MAX);

	for (size_t i = 0; i < profile->n_contexts && done; i++) {
		uint32_t node = profile->node_of(profile->source, (uint32_t)i);

		done = add_nodes(profile, stacks, node, numbers);
		stacks->contexts[i] = numbers[node];
	}
	free(numbers);
	return done;
}

/* Numbers the frames of all stacks of @profile. Returns false if out of memory. */
static bool collect_stacks(const struct mf_profile *profile, struct stacks *stacks)
{
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
	struct path path = { .n = 0 };
	uint32_t root;

	stacks->contexts = calloc(profile->n_contexts + 1, sizeof(*stacks->contexts));
	if (stacks->contexts && profile->node_of)
		return collect_tree(profile, stacks);
	/* No frame has this number, so the root is no other node's child. */
	if (!stacks->contexts || !intern_node(stacks, UINT32_MAX, UINT32_MAX, &root))
		return false;
	for (size_t i = 0; i < profile->n_contexts; i++) {
		uint32_t n = profile->read_context(profile->source, (uint32_t)i, frames);

		if (!intern_stack(stacks, &path, frames, n, &stacks->contexts[i]))
			return false;
	}
	return true;
}

static void add_objects(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	mf_bytes_add_unsigned(bytes, profile->n_objects);
	for (size_t i = 0; i < profile->n_objects; i++) {
		const struct mf_object *object = &profile->objects[i];

		mf_bytes_add_unsigned(bytes, object->kind);
		mf_bytes_add_unsigned(bytes, object->start);
		mf_bytes_add_unsigned(bytes, object->end - object->start);
		mf_bytes_add_unsigned(bytes, object->bias);
		mf_bytes_add_text(bytes, object->path);
		mf_bytes_add_unsigned(bytes, object->build_id_size);
		mf_bytes_add(bytes, object->build_id, object->build_id_size);
		mf_bytes_add_unsigned(bytes, object->unloaded);
		mf_bytes_add_unsigned(bytes, object->device);
		mf_bytes_add_unsigned(bytes, object->inode);
		mf_bytes_add_signed(bytes, object->modified_ns);
	}
}

/* Most numbers differ little from the one before, and small numbers need fewer bytes. */
static void add_stacks(struct mf_bytes *bytes, const struct mf_profile *profile, const struct stacks *stacks)
{
	uint64_t pc = 0;
	uint32_t node = 0;

	mf_bytes_add_unsigned(bytes, stacks->n_frames);
	for (uint32_t i = 0; i < stacks->n_frames; i++) {
		mf_bytes_add_unsigned(bytes, stacks->frames[i].object);
		mf_bytes_add_signed(bytes, (int64_t)(stacks->frames[i].pc - pc));
		pc = stacks->frames[i].pc;
	}
	/* The root is not written. A parent always has a smaller number than its children. */
	mf_bytes_add_unsigned(bytes, stacks->n_nodes - 1);
	for (uint32_t i = 1; i < stacks->n_nodes; i++) {
		mf_bytes_add_unsigned(bytes, i - stacks->nodes[i].parent);
		mf_bytes_add_unsigned(bytes, stacks->nodes[i].frame);
	}
	mf_bytes_add_unsigned(bytes, profile->n_contexts);
	for (size_t i = 0; i < profile->n_contexts; i++) {
		mf_bytes_add_signed(bytes, (int64_t)stacks->contexts[i] - node);
		node = stacks->contexts[i];
	}
}

/* Numbers texts from 1, in the order in which they first occur; NULL is 0. */
struct texts {
	struct mf_index index;
	const char **list;
	uint32_t count, room;
	bool failed;
};

static uint32_t number_text(struct texts *texts, const char *text)
{
	uint64_t hash;

	if (!text)
		return 0;
	hash = mf_hash_text(text, 0);
	/* Different texts with the same hash are told apart by the second key. */
	for (uint32_t i = 0; !texts->failed; i++) {
		uint32_t *value = mf_index_put(&texts->index, hash, i, texts->count);

		if (!value || !grow((void **)&texts->list, texts->count, &texts->room, sizeof(*texts->list))) {
			texts->failed = true;
		} else if (*value == texts->count) {
			texts->list[texts->count++] = text;
			return texts->count;
		} else if (strcmp(texts->list[*value], text) == 0) {
			return *value + 1;
		}
	}
	return 0;
}

static void add_names_of(struct mf_bytes *bytes, struct texts *texts, const struct mf_location *locations, size_t n)
{
	mf_bytes_add_unsigned(bytes, n);
	mf_bytes_add_unsigned(bytes, locations[n - 1].offset);
	for (size_t i = 0; i < n; i++) {
		mf_bytes_add_unsigned(bytes, number_text(texts, locations[i].function));
		mf_bytes_add_unsigned(bytes, number_text(texts, locations[i].directory));
		mf_bytes_add_unsigned(bytes, number_text(texts, locations[i].file));
		mf_bytes_add_unsigned(bytes, locations[i].line);
	}
}

int mf_recording_add_names(struct mf_bytes *bytes, const struct mf_frame *frames, size_t n_frames,
			   struct mf_symbolizer *symbolizer)
{
	struct mf_bytes names = { 0 };
	struct texts texts = { 0 };

	for (size_t i = 0; i < n_frames; i++)
		mf_symbolizer_want(symbolizer, frames[i]);
	mf_symbolizer_prepare(symbolizer);
	for (size_t i = 0; i < n_frames; i++) {
		const struct mf_location *locations;
		size_t n = mf_symbolizer_resolve(symbolizer, frames[i], &locations);

		add_names_of(&names, &texts, locations, n);
	}
	mf_bytes_add_unsigned(bytes, texts.count);
	for (uint32_t i = 0; i < texts.count; i++)
		mf_bytes_add_text(bytes, texts.list[i]);
	mf_bytes_add(bytes, names.data, names.size);
	bytes->failed |= names.failed || texts.failed;
	mf_bytes_deinit(&names);
	mf_index_deinit(&texts.index);
	free(texts.list);
	return bytes->failed ? -ENOMEM : 0;
}

static size_t seen_in(const struct mf_profile_snapshot *snapshot, size_t n_contexts)
{
	return snapshot->n_seen < n_contexts ? snapshot->n_seen : n_contexts;
}

/* If the program still runs, its end may have been read later than the profile, and have more contexts. */
static size_t leaves_in(const struct mf_profile_snapshot *snapshot, size_t n_contexts)
{
	size_t n_seen = seen_in(snapshot, n_contexts), n = snapshot->n_leaves;

	while (n && snapshot->leaves[n - 1].context >= n_seen)
		n--;
	return n;
}

/*
 * Adds the leaves of @snapshot. @bytes_before has the bytes of each of the @n_contexts contexts in the tree that was
 * added before.
 */
static void add_leaves(struct mf_bytes *bytes, const struct mf_profile_snapshot *snapshot, uint64_t *bytes_before,
		       size_t n_contexts)
{
	size_t n_seen = seen_in(snapshot, n_contexts), n = leaves_in(snapshot, n_contexts);
	uint32_t context = 0;

	mf_bytes_add_unsigned(bytes, n_seen);
	mf_bytes_add_unsigned(bytes, n);
	for (size_t i = 0; i < n; i++) {
		const struct mf_leaf *leaf = &snapshot->leaves[i];

		mf_bytes_add_unsigned(bytes, leaf->context - context);
		mf_bytes_add_signed(bytes, (int64_t)(leaf->bytes - bytes_before[leaf->context]));
		bytes_before[leaf->context] = leaf->bytes;
		context = leaf->context;
	}
}

/* The end of the profile is in the list as one more snapshot, the last one. */
static int add_snapshots(struct mf_bytes *bytes, const struct mf_profile *profile,
			 const struct mf_profile_snapshot *end)
{
	uint64_t *bytes_before = calloc(profile->n_contexts + 1, sizeof(*bytes_before));
	int64_t time = 0;

	if (!bytes_before)
		return -ENOMEM;
	mf_bytes_add_unsigned(bytes, profile->n_snapshots + 1);
	for (size_t i = 0; i <= profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = i < profile->n_snapshots ? &profile->snapshots[i] : end;

		mf_bytes_add_signed(bytes, snapshot->time - time);
		mf_bytes_add_unsigned(bytes, snapshot->heap_bytes);
		mf_bytes_add_unsigned(bytes, snapshot->extra_bytes);
		mf_bytes_add_unsigned(bytes, snapshot->stack_bytes);
		mf_bytes_add_unsigned(bytes, snapshot->tree);
		if (snapshot->tree != MF_TREE_EMPTY)
			add_leaves(bytes, snapshot, bytes_before, profile->n_contexts);
		time = snapshot->time;
	}
	free(bytes_before);
	return bytes->failed ? -ENOMEM : 0;
}

/* In the order of the leaves in the section of snapshots. */
static void add_blocks(struct mf_bytes *bytes, const struct mf_profile *profile, const struct mf_profile_snapshot *end)
{
	for (size_t i = 0; i <= profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *snapshot = i < profile->n_snapshots ? &profile->snapshots[i] : end;
		size_t n = snapshot->tree == MF_TREE_EMPTY ? 0 : leaves_in(snapshot, profile->n_contexts);

		for (size_t k = 0; k < n; k++)
			mf_bytes_add_unsigned(bytes, snapshot->leaves[k].blocks);
	}
}

static void add_classes(struct mf_bytes *bytes, const struct mf_class_count *classes, uint32_t n)
{
	mf_bytes_add_unsigned(bytes, n);
	for (uint32_t i = 0; i < n; i++) {
		mf_bytes_add_unsigned(bytes, classes[i].class);
		mf_bytes_add_unsigned(bytes, classes[i].count);
	}
}

static void add_details(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	mf_bytes_add_unsigned(bytes, profile->details_lost);
	for (size_t i = 0; i < profile->n_contexts; i++) {
		const struct mf_context_details *details = &profile->details[i];

		mf_bytes_add_unsigned(bytes, details->largest);
		add_classes(bytes, details->sizes, details->n_sizes);
		add_classes(bytes, details->lifetimes, details->n_lifetimes);
	}
}

static void add_ages(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	for (size_t i = 0; i < profile->n_contexts; i++)
		add_classes(bytes, profile->details[i].ages, profile->details[i].n_ages);
}

static void add_sizes(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	for (uint32_t i = 0; i < MF_SIZE_CLASSES; i++) {
		mf_bytes_add_unsigned(bytes, profile->sizes[i].blocks);
		mf_bytes_add_unsigned(bytes, profile->sizes[i].bytes);
	}
}

static void add_counts(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	for (size_t i = 0; i < profile->n_contexts; i++) {
		mf_bytes_add_unsigned(bytes, profile->counts[i].allocations);
		mf_bytes_add_unsigned(bytes, profile->counts[i].allocated);
		mf_bytes_add_unsigned(bytes, profile->counts[i].temporaries);
		mf_bytes_add_unsigned(bytes, profile->counts[i].live);
	}
}

static void add_threads(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	mf_bytes_add_unsigned(bytes, profile->n_threads);
	for (size_t i = 0; i < profile->n_threads; i++) {
		mf_bytes_add_unsigned(bytes, profile->threads[i].tid);
		mf_bytes_add_text(bytes, profile->threads[i].name);
	}
	for (size_t i = 0; i < profile->n_contexts; i++)
		mf_bytes_add_unsigned(bytes, profile->context_threads[i]);
}

static void add_functions(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	for (size_t i = 0; i < profile->n_contexts; i++)
		mf_bytes_add_unsigned(bytes, profile->functions[i]);
}

static void add_totals(struct mf_bytes *bytes, const struct mf_profile *profile)
{
	mf_bytes_add_unsigned(bytes, profile->n_thread_totals);
	for (size_t i = 0; i < profile->n_thread_totals; i++) {
		const struct mf_thread_total *total = &profile->thread_totals[i];

		mf_bytes_add_unsigned(bytes, total->thread.tid);
		mf_bytes_add_text(bytes, total->thread.name);
		mf_bytes_add_unsigned(bytes, total->sums.allocations);
		mf_bytes_add_unsigned(bytes, total->sums.allocated);
		mf_bytes_add_unsigned(bytes, total->sums.temporaries);
	}
}

/* Adds @contents as a section, and empties them for the next one. */
static int close_section(struct mf_bytes *file, enum mf_section_type type, struct mf_bytes *contents)
{
	int code = mf_section_add(file, type, contents);

	contents->size = 0;
	return code;
}

/* Adds the profile of the first touches, of which only what tables and trees need is kept. */
static int add_touched(struct mf_bytes *file, struct mf_bytes *contents, const struct mf_facts *facts,
		       const struct mf_first_touches *touches, struct stacks *stacks)
{
	const struct mf_facts of_pages = {
		.pid = facts->pid, .name = facts->name, .time_unit = MF_TIME_MS, .pages = true, .what = MF_PAGES_RESIDENT,
	};
	int code;

	if (!collect_stacks(touches->profile, stacks))
		return -ENOMEM;
	mf_facts_add(contents, &of_pages);
	code = close_section(file, MF_SECTION_TOUCHED + MF_SECTION_PROCESS, contents);
	if (code)
		return code;
	add_objects(contents, touches->profile);
	code = close_section(file, MF_SECTION_TOUCHED + MF_SECTION_OBJECTS, contents);
	if (code)
		return code;
	add_stacks(contents, touches->profile, stacks);
	code = close_section(file, MF_SECTION_TOUCHED + MF_SECTION_STACKS, contents);
	if (!code)
		code = add_snapshots(contents, touches->profile, touches->end);
	if (!code)
		code = close_section(file, MF_SECTION_TOUCHED + MF_SECTION_SNAPSHOTS, contents);
	if (!code)
		code = mf_recording_add_names(contents, stacks->frames, stacks->n_frames, touches->symbolizer);
	return code ?: close_section(file, MF_SECTION_TOUCHED + MF_SECTION_NAMES, contents);
}

static int add_touches(struct mf_bytes *file, struct mf_bytes *contents, const struct mf_facts *facts,
		       const struct mf_profile *profile)
{
	struct stacks stacks = { 0 };
	int code;

	mf_touches_section_add(contents, profile->touches, profile->residency);
	code = close_section(file, MF_SECTION_TOUCHES, contents);
	code = code ?: add_touched(file, contents, facts, profile->touches, &stacks);
	stacks_deinit(&stacks);
	return code;
}

static int add_process(struct mf_bytes *file, struct mf_bytes *contents, const struct mf_facts *facts,
		       const struct mf_profile *profile, const struct mf_profile_snapshot *end,
		       struct stacks *stacks, struct mf_symbolizer *symbolizer)
{
	int code;

	if (!collect_stacks(profile, stacks))
		return -ENOMEM;
	mf_facts_add(contents, facts);
	code = close_section(file, MF_SECTION_PROCESS, contents);
	if (code)
		return code;
	add_objects(contents, profile);
	code = close_section(file, MF_SECTION_OBJECTS, contents);
	if (code)
		return code;
	add_stacks(contents, profile, stacks);
	code = close_section(file, MF_SECTION_STACKS, contents);
	if (code)
		return code;
	code = add_snapshots(contents, profile, end);
	if (!code)
		code = close_section(file, MF_SECTION_SNAPSHOTS, contents);
	if (code)
		return code;
	if (profile->counts) {
		add_counts(contents, profile);
		code = close_section(file, MF_SECTION_COUNTS, contents);
	}
	if (!code && profile->sizes) {
		add_sizes(contents, profile);
		code = close_section(file, MF_SECTION_SIZES, contents);
	}
	if (!code && profile->functions) {
		add_functions(contents, profile);
		code = close_section(file, MF_SECTION_FUNCTIONS, contents);
	}
	if (!code && profile->details) {
		add_blocks(contents, profile, end);
		code = close_section(file, MF_SECTION_BLOCKS, contents);
	}
	if (!code && profile->details) {
		add_details(contents, profile);
		code = close_section(file, MF_SECTION_DETAILS, contents);
	}
	if (!code && profile->details && profile->has_ages) {
		add_ages(contents, profile);
		code = close_section(file, MF_SECTION_AGES, contents);
	}
	if (!code && profile->threads) {
		add_threads(contents, profile);
		code = close_section(file, MF_SECTION_THREADS, contents);
	}
	if (!code && profile->thread_totals) {
		add_totals(contents, profile);
		code = close_section(file, MF_SECTION_TOTALS, contents);
	}
	if (!code && profile->residency) {
		mf_residency_section_add(contents, profile->residency, profile->n_contexts);
		code = close_section(file, MF_SECTION_RESIDENCY, contents);
	}
	if (!code && profile->residency && profile->touches)
		code = add_touches(file, contents, facts, profile);
	if (code)
		return code;
	code = mf_recording_add_names(contents, stacks->frames, stacks->n_frames, symbolizer);
	if (!code)
		code = close_section(file, MF_SECTION_NAMES, contents);
	return code ?: close_section(file, MF_SECTION_END, contents);
}

int mf_recording_add(struct mf_bytes *file, const struct mf_facts *facts, const struct mf_profile *profile,
		     const struct mf_profile_snapshot *end, struct mf_symbolizer *symbolizer, struct mf_error *err)
{
	struct mf_bytes contents = { 0 };
	struct stacks stacks = { 0 };
	int code = add_process(file, &contents, facts, profile, end, &stacks, symbolizer);

	stacks_deinit(&stacks);
	mf_bytes_deinit(&contents);
	if (code == -E2BIG)
		return mf_error_set(err, code, "the profile is too large for a recording: a section has more than 1 GiB");
	return code ? mf_error_set(err, code, "out of memory for the recording") : 0;
}
