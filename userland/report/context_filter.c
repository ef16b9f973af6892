// SPDX-License-Identifier: GPL-2.0
// Decides whether the blocks of a context count.

#include "context_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "model/objects.h"
#include "model/trie.h"
#include "collect.h"
#include "filter.h"
#include "frames.h"

#define FRAMES_MAX 512u /* more frames than any stack has */

struct mf_context_filter {
	const struct mf_store *store;
	const struct mf_report_options *options;
	struct mf_symbolizer_options naming;
	bool pages;

	/* Created again when the program has loaded more objects. */
	struct mf_collection objects;
	struct mf_frames *frames;
	struct mf_symbolizer *symbolizer;
	struct mf_filter *filter;

	struct mf_frame stack[FRAMES_MAX];
};

static void forget_objects(struct mf_context_filter *judge)
{
	if (judge->filter)
		mf_filter_destroy(judge->filter);
	if (judge->symbolizer)
		mf_symbolizer_destroy(judge->symbolizer);
	if (judge->frames)
		mf_frames_destroy(judge->frames);
	mf_collection_release(&judge->objects);
	judge->filter = NULL;
	judge->symbolizer = NULL;
	judge->frames = NULL;
}

static int learn_objects(struct mf_context_filter *judge, struct mf_error *err)
{
	struct mf_profile *profile = &judge->objects.profile;
	int ret;

	forget_objects(judge);
	ret = mf_collect_objects(judge->store, &judge->objects, err);
	if (!ret)
		ret = mf_frames_create(profile->objects, profile->n_objects, &judge->frames, err);
	if (!ret)
		ret = mf_symbolizer_create(profile->objects, profile->n_objects, &judge->naming,
					   &judge->symbolizer, err);
	if (!ret)
		ret = mf_filter_create(judge->options, judge->pages, judge->frames, judge->symbolizer,
				       &judge->filter, err);
	if (ret)
		forget_objects(judge);
	return ret;
}

int mf_context_filter_create(const struct mf_store *store, bool pages,
		    const struct mf_report_options *options,
		    const struct mf_symbolizer_options *names, struct mf_context_filter **judge,
		    struct mf_error *err)
{
	struct mf_context_filter *made = calloc(1, sizeof(*made));

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->store = store;
	made->pages = pages;
	made->options = options;
	made->naming = *names;
	made->naming.names = NULL; /* the filter may run in a thread of its own */
	*judge = made;
	return 0;
}

void mf_context_filter_destroy(struct mf_context_filter *judge)
{
	if (!judge)
		return;
	forget_objects(judge);
	free(judge);
}

bool mf_context_filter_counts(struct mf_context_filter *judge, uint32_t context,
		     const struct mf_filter_listener *listener)
{
	struct mf_context stack = { .frames = judge->stack };
	struct mf_filter_span span;

	stack.n_frames = mf_trie_frames(judge->store, context, judge->stack, FRAMES_MAX);
	if (!stack.n_frames)
		return true;
	if ((!judge->filter ||
	     judge->objects.profile.n_objects < judge->store->header->n_objects) &&
	    learn_objects(judge, NULL))
		return true;
	for (uint32_t i = 0; i < stack.n_frames; i++)
		if (judge->stack[i].object >= judge->objects.profile.n_objects)
			judge->stack[i].object = MF_OBJECT_NONE;
	return mf_filter_apply(judge->filter, &stack, listener, &span, NULL) || span.count;
}
