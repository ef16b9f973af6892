// SPDX-License-Identifier: GPL-2.0
// Records a process whose profile has ended, and checks it against the budgets of the run.

#include "recording.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ctl/check/checker.h"
#include "ctl/files/recorder.h"
#include "ctl/launch/exit_status.h"
#include "ctl/message/message.h"
#include "ctl/output/embedded.h"
#include "ctl/output/first_touches.h"
#include "model/model.h"
#include "model/tally.h"

/* Returns the facts that a recording has about the process. @end is the model at the end of its profile. */
static struct mf_facts facts_of(const struct mf_profile *profile, const struct mf_output_of *of,
				const struct mf_model *end)
{
	struct mf_tally_totals totals = mf_tally_look(of->store, of->end.now);

	return (struct mf_facts){
		.pid = (uint64_t)of->pid,
		.parent = (uint64_t)of->parent,
		.ended = of->status == MF_EXIT_STATUS_UNKNOWN ? 0 : (uint64_t)of->status + 1,
		.name = of->name,
		.cmd = profile->cmd,
		.desc = profile->desc,
		.time_unit = profile->time_unit,
		.pages = profile->pages,
		.what = profile->what,
		.cut_off = of->end.rule == MF_END_TREE,
		.version = MASSIF_VERSION,
		.took_ms = of->took_ms,
		.end_time = totals.time,
		.end_heap = totals.heap,
		.end_extra = totals.extra,
		.end_stacks = totals.stacks,
		.allocations = end->heap_allocs,
		.frees = end->heap_frees,
		.reallocations = end->heap_reallocs,
		.lost = of->lost,
	};
}

/* A process, with everything that is recorded of it. */
struct recorded {
	const struct mf_options *options;
	struct mf_facts facts;
	const struct mf_profile *profile;
	const struct mf_profile_snapshot *end;
	struct mf_symbolizer *symbolizer;
};

static void check(const struct recorded *recorded)
{
	const struct mf_check_process process = {
		.facts = &recorded->facts,
		.profile = recorded->profile,
		.end = recorded->end,
		.options = &recorded->options->report,
		.symbolizer = recorded->symbolizer,
		.uses_embedded = recorded->options->embedded_suppressions,
	};

	mf_checker_add(recorded->options->checker, &process);
}

static int keep(struct recorded *recorded, bool is_profiled, mode_t mode, struct mf_error *err)
{
	const struct mf_options *options = recorded->options;

	if (mf_checker_has_budgets(options->checker) && is_profiled)
		check(recorded);
	else if (mf_checker_has_budgets(options->checker))
		mf_checker_miss(options->checker, recorded->facts.name);
	if (!options->record_file)
		return 0;
	return mf_recorder_add(options->recorder, options->outputs, options->record_file, &recorded->facts,
			       recorded->profile, recorded->end, recorded->symbolizer, mode, err);
}

/* Returns NULL, with a message, if they cannot be had: the profile of the heap is recorded without them. */
static const struct mf_first_touches *touches_of(const struct mf_options *options, const struct mf_output_of *of,
						 struct mf_touches_output *output)
{
	struct mf_error err;

	if (!mf_touches_output_make(output, options, of->touched, of->first_ns, &err))
		return &output->touches;
	mf_message_say(MF_MESSAGE_PROBLEM, "process %d is recorded without the code that touched its pages first: %s",
		       (int)of->pid, err.text);
	return NULL;
}

int mf_output_record(const struct mf_options *options, const struct mf_output_of *of, struct mf_collection *collection,
		     struct mf_symbolizer *symbolizer, mode_t mode, struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection end = { 0 };
	struct recorded recorded = { options, .profile = &collection->profile, .symbolizer = symbolizer };
	__attribute__((cleanup(mf_touches_output_deinit))) struct mf_touches_output touched = { 0 };
	__attribute__((cleanup(mf_embedded_deinit))) struct mf_embedded embedded = { 0 };
	mf_auto_free struct mf_ending *ending = NULL;
	int ret;

	if (!options->record_file && !mf_checker_has_budgets(options->checker))
		return 0;
	ret = mf_collect_present(of->store, of->end.now, true, &end, err);
	if (!ret && !of->pages)
		ret = mf_collect_counts(collection, err) ?: mf_collect_details(collection, err) ?:
		      mf_collect_threads(collection, err);
	if (ret)
		return ret;
	if (of->touched && of->residency)
		collection->profile.touches = touches_of(options, of, &touched);
	ending = calloc(1, sizeof(*ending));
	if (!ending)
		return mf_error_set(err, -ENOMEM, "out of memory for the recording");
	mf_ending_make(ending, of->store, of->end);
	recorded.facts = facts_of(recorded.profile, of, &ending->model);
	mf_embedded_read(collection->profile.objects, collection->profile.n_objects, &embedded);
	recorded.facts.suppressions = embedded.text;
	recorded.facts.unread_suppressions = embedded.text ? MF_TEXT_FUNCTION_NONE : embedded.found;
	recorded.end = end.profile.snapshots;
	return keep(&recorded, of->end.rule != MF_END_NOTHING, mode, err);
}
