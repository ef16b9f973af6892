// SPDX-License-Identifier: GPL-2.0
// The stacks of one detailed snapshot, with the names of their frames and their live bytes.

#include "report/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/filter.h"
#include "report/frames.h"
#include "report/location.h"

/* The calls of one stack. */
struct calls {
	struct mf_call *list;
	size_t count, room;
};

static bool add_call(struct calls *calls, struct mf_frame frame, const struct mf_location *location)
{
	if (calls->count == calls->room) {
		size_t room = calls->room ? calls->room * 2 : 256;
		struct mf_call *list = reallocarray(calls->list, room, sizeof(*list));

		if (!list)
			return false;
		calls->list = list;
		calls->room = room;
	}
	calls->list[calls->count++] = (struct mf_call){ frame, location };
	return true;
}

/* Whether the names of @frame are shown; see --keep-debuginfo. */
static bool has_names(const struct mf_moment *moment, struct mf_frame frame)
{
	return moment->options->keep_unloaded || !moment->profile->objects[frame.object].unloaded;
}

static bool add_frame(const struct mf_moment *moment, struct calls *calls, struct mf_frame frame)
{
	static const struct mf_location unknown;
	const struct mf_location *locations = &unknown;
	size_t n = 1;

	if (has_names(moment, frame))
		n = mf_symbolizer_resolve(moment->symbolizer, frame, &locations);
	for (size_t i = 0; i < n; i++)
		if (!add_call(calls, frame, &locations[i]))
			return false;
	return true;
}

struct walk {
	const struct mf_moment *moment;
	struct mf_filter *filter;
	struct calls calls;
	struct mf_frame frames[MF_PROFILE_FRAMES_MAX];
};

/* Requests the names of all stacks at once, which is faster than looking them up one by one. */
static int prepare(struct walk *walk, struct mf_error *err)
{
	const struct mf_moment *moment = walk->moment;
	const struct mf_profile *profile = moment->profile;

	for (size_t i = 0; i < moment->snapshot->n_leaves; i++) {
		struct mf_context context = { .frames = walk->frames };
		struct mf_filter_span span;
		int code;

		context.n_frames = profile->read_context(profile->source, moment->snapshot->leaves[i].context,
							 walk->frames);
		code = mf_filter_apply(walk->filter, &context, NULL, &span, err);
		if (code)
			return code;
		for (uint32_t f = span.first; f < span.first + span.count; f++)
			if (has_names(moment, walk->frames[f]))
				mf_symbolizer_want(moment->symbolizer, walk->frames[f]);
	}
	mf_symbolizer_prepare(moment->symbolizer);
	return 0;
}

static int walk_stacks(struct walk *walk,
		       int (*each)(void *data, const struct mf_moment_stack *stack, struct mf_error *err),
		       void *data, struct mf_error *err)
{
	const struct mf_moment *moment = walk->moment;
	const struct mf_profile *profile = moment->profile;
	int code = prepare(walk, err);

	for (size_t i = 0; i < moment->snapshot->n_leaves && !code; i++) {
		const struct mf_leaf *leaf = &moment->snapshot->leaves[i];
		struct mf_context context = { .frames = walk->frames };
		struct mf_filter_span span;

		context.n_frames = profile->read_context(profile->source, leaf->context, walk->frames);
		code = mf_filter_apply(walk->filter, &context, NULL, &span, err);
		if (code || !span.count)
			continue;
		walk->calls.count = 0;
		for (uint32_t f = span.first; f < span.first + span.count; f++)
			if (!add_frame(moment, &walk->calls, walk->frames[f]))
				return mf_error_set(err, -ENOMEM, "out of memory");
		code = each(data, &(struct mf_moment_stack){ walk->calls.list, walk->calls.count, leaf->bytes,
							     leaf->context, leaf->blocks }, err);
	}
	return code;
}

int mf_moment_each(const struct mf_moment *moment,
		   int (*each)(void *data, const struct mf_moment_stack *stack, struct mf_error *err), void *data,
		   struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	struct walk *walk = calloc(1, sizeof(*walk));
	struct mf_frames *frames = NULL;
	int code;

	if (!walk)
		return mf_error_set(err, -ENOMEM, "out of memory");
	walk->moment = moment;
	code = mf_frames_create(profile->objects, profile->n_objects, &frames, err);
	if (!code)
		code = mf_filter_create(moment->options, profile->pages, frames, moment->symbolizer, &walk->filter, err);
	if (!code)
		code = walk_stacks(walk, each, data, err);
	if (walk->filter)
		mf_filter_destroy(walk->filter);
	mf_frames_destroy(frames);
	free(walk->calls.list);
	free(walk);
	return code;
}

/* Sets the bytes of each context that occurs in a snapshot, or in the counts, to 1. */
static void mark_contexts(const struct mf_profile *profile, struct mf_leaf *leaves)
{
	for (size_t i = 0; i < profile->n_snapshots; i++)
		for (size_t k = 0; k < profile->snapshots[i].n_leaves; k++)
			leaves[profile->snapshots[i].leaves[k].context].bytes = 1;
	for (size_t i = 0; profile->counts && i < profile->n_contexts; i++)
		if (profile->counts[i].allocations)
			leaves[i].bytes = 1;
}

int mf_moment_each_of_all(const struct mf_moment *moment,
			  int (*each)(void *data, const struct mf_moment_stack *stack, struct mf_error *err), void *data,
			  struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	struct mf_leaf *leaves = calloc(profile->n_contexts + 1, sizeof(*leaves));
	struct mf_profile_snapshot snapshot = { .leaves = leaves, .n_seen = profile->n_contexts };
	struct mf_moment all = *moment;
	int code;

	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	mark_contexts(profile, leaves);
	for (uint32_t i = 0; i < profile->n_contexts; i++)
		if (leaves[i].bytes)
			leaves[snapshot.n_leaves++] = (struct mf_leaf){ .context = i, .bytes = 1 };
	all.snapshot = &snapshot;
	code = mf_moment_each(&all, each, data, err);
	free(leaves);
	return code;
}

size_t mf_moment_join_counts(const struct mf_moment *moment, struct mf_leaf **leaves, struct mf_error *err)
{
	const struct mf_profile_snapshot *snapshot = moment->snapshot;
	const struct mf_profile *profile = moment->profile;
	size_t n = 0, next = 0;

	*leaves = calloc(profile->n_contexts + 1, sizeof(**leaves));
	if (!*leaves)
		mf_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; *leaves && i < profile->n_contexts; i++) {
		struct mf_leaf leaf = { .context = i };

		if (next < snapshot->n_leaves && snapshot->leaves[next].context == i)
			leaf = snapshot->leaves[next++];
		if (leaf.bytes || (profile->counts && profile->counts[i].allocations))
			(*leaves)[n++] = leaf;
	}
	return n;
}

const char *mf_call_name(const struct mf_call *call, const struct mf_report_options *options, char text[static 32])
{
	const char *function = mf_location_function(call->location->function, options);

	if (function)
		return function;
	if (call->location->note)
		return call->location->note;
	snprintf(text, 32, "0x%" PRIX64, call->frame.pc);
	return text;
}
