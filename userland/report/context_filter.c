// SPDX-License-Identifier: GPL-2.0
// Decides whether the blocks of a context are counted.

#include "context_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "model/objects.h"
#include "model/trie.h"
#include "collect.h"
#include "filter.h"
#include "frames.h"

#define FRAMES_MAX 512u /* room for the frames of a stack: more than any stack has */

struct mf_context_filter {
	const struct mf_store *store;
	const struct mf_report_options *options;
	struct mf_symbolizer_options naming;
	bool pages;

	/*
	 * The filter and the data it uses. They are recreated if objects have been added to the store since they were
	 * created.
	 */
	struct mf_collection objects;
	struct mf_frames *frames;
	struct mf_symbolizer *symbolizer;
	struct mf_filter *filter;

	struct mf_frame stack[FRAMES_MAX];
};

static void forget_objects(struct mf_context_filter *context_filter)
{
	if (context_filter->filter)
		mf_filter_destroy(context_filter->filter);
	if (context_filter->symbolizer)
		mf_symbolizer_destroy(context_filter->symbolizer);
	if (context_filter->frames)
		mf_frames_destroy(context_filter->frames);
	mf_collection_release(&context_filter->objects);
	context_filter->filter = NULL;
	context_filter->symbolizer = NULL;
	context_filter->frames = NULL;
}

static int learn_objects(struct mf_context_filter *context_filter, struct mf_error *err)
{
	struct mf_profile *profile = &context_filter->objects.profile;
	int ret;

	forget_objects(context_filter);
	ret = mf_collect_objects(context_filter->store, &context_filter->objects, err);
	if (!ret)
		ret = mf_frames_create(profile->objects, profile->n_objects, &context_filter->frames, err);
	if (!ret)
		ret = mf_symbolizer_create(profile->objects, profile->n_objects, &context_filter->naming,
					   &context_filter->symbolizer, err);
	if (!ret)
		ret = mf_filter_create(context_filter->options, context_filter->pages,
				       context_filter->frames, context_filter->symbolizer, &context_filter->filter, err);
	if (ret)
		forget_objects(context_filter);
	return ret;
}

int mf_context_filter_create(const struct mf_store *store, bool pages,
		    const struct mf_report_options *options,
		    const struct mf_symbolizer_options *names, struct mf_context_filter **context_filter,
		    struct mf_error *err)
{
	struct mf_context_filter *made = calloc(1, sizeof(*made));

	if (!made)
		return mf_error_set(err, -ENOMEM, "out of memory");
	made->store = store;
	made->pages = pages;
	made->options = options;
	made->naming = *names;
	/* the table of names that symbolizers share is not thread-safe, and the filter may run in another thread */
	made->naming.names = NULL;
	*context_filter = made;
	return 0;
}

void mf_context_filter_destroy(struct mf_context_filter *context_filter)
{
	if (!context_filter)
		return;
	forget_objects(context_filter);
	free(context_filter);
}

bool mf_context_filter_counts(struct mf_context_filter *context_filter, uint32_t context,
		     const struct mf_filter_listener *listener)
{
	struct mf_context stack = { .frames = context_filter->stack };
	struct mf_filter_span span;

	stack.n_frames = mf_trie_frames(context_filter->store, context, context_filter->stack, FRAMES_MAX);
	if (!stack.n_frames)
		return true;
	if ((!context_filter->filter ||
	     context_filter->objects.profile.n_objects < context_filter->store->header->n_objects) &&
	    learn_objects(context_filter, NULL))
		return true;
	for (uint32_t i = 0; i < stack.n_frames; i++)
		if (context_filter->stack[i].object >= context_filter->objects.profile.n_objects)
			context_filter->stack[i].object = MF_OBJECT_NONE;
	return mf_filter_apply(context_filter->filter, &stack, listener, &span, NULL) || span.count;
}
