// SPDX-License-Identifier: GPL-2.0
// Prints what Massif prints with -v and --stats, in the same format.

#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "model/log.h"
#include "model/model.h"
#include "report/filter.h"
#include "report/context_filter.h"
#include "symbols/demangle.h"

static const char *const occasions[] = {
	[MF_OCCASION_START] = "startup",
	[MF_OCCASION_ALLOC] = "  alloc",
	[MF_OCCASION_FREE] = "dealloc",
	[MF_OCCASION_REALLOC] = "realloc",
	[MF_OCCASION_PEAK_BEFORE_FREE] = "de-PEAK",
	[MF_OCCASION_PEAK_BEFORE_REALLOC] = "re-PEAK",
	[MF_OCCASION_REQUEST] = "request",
	[MF_OCCASION_STACK_GROWS] = "stk-new",
	[MF_OCCASION_STACK_SHRINKS] = "stk-die",
	[MF_OCCASION_PEAK_BEFORE_STACK] = "stkPEAK",
	[MF_OCCASION_PEAK_AT_END] = "endPEAK",
	[MF_OCCASION_END] = "    end",
};

enum mf_log_level mf_statistics_log_level(const struct mf_options *options)
{
	if (options->verbosity >= MF_MESSAGE_FILTERING)
		return MF_LOG_FILTERING;
	if (options->verbosity >= MF_MESSAGE_EVENTS)
		return MF_LOG_EVENTS;
	return options->verbosity >= MF_MESSAGE_STEPS ? MF_LOG_SNAPSHOTS : MF_LOG_NOTHING;
}

void mf_statistics_begin(const struct mf_options *options, pid_t pid)
{
	const struct mf_strings *const lists[] = { &mf_filter_alloc_fns,
						   &options->report.alloc_fns };
	const struct mf_strings *ignored = &options->report.ignore_fns;

	if (!mf_message_is_heard(MF_MESSAGE_DETAIL))
		return;
	mf_message_massif(pid, "alloc-fns:");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (size_t j = 0; j < lists[i]->count; j++)
			mf_message_massif(pid, "  %s", lists[i]->items[j]);
	}
	mf_message_massif(pid, "ignore-fns:");
	if (!ignored->count)
		mf_message_massif(pid, "  <empty>");
	for (size_t i = 0; i < ignored->count; i++)
		mf_message_massif(pid, "  %zu: %s", i, ignored->items[i]);
}

static void tell_snapshot(pid_t pid, const char *prefix, const struct mf_step *step)
{
	/* Validate the snapshot's kind, because the program can write to the store. */
	char mark = step->mark == 'p' || step->mark == 'd' ? step->mark : '.';

	mf_message_massif(pid,
			  "%s S%c%3" PRIu32 " (t:%" PRId64 ", hp:%" PRIu64 ", ex:%" PRIu64
			  ", st:%" PRIu64 ")",
			  prefix, mark, step->number, step->time, step->heap, step->extra,
			  step->stacks);
}

static void tell_taken(pid_t pid, const struct mf_step *step)
{
	bool known = step->occasion < sizeof(occasions) / sizeof(occasions[0]);

	if (step->count)
		mf_message_massif(pid, "  (skipped %" PRIu32 " snapshot%s)", step->count,
				  step->count == 1 ? "" : "s");
	tell_snapshot(pid, known ? occasions[step->occasion] : "      ?", step);
}

static void tell_culling(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "Culling...");
}

static void tell_victim(pid_t pid, const struct mf_step *step)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), " %3" PRIu32 " (t-span = %" PRId64 ")", step->count,
		 step->span);
	tell_snapshot(pid, prefix, step);
}

static void tell_pair(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "(Ignoring interval %" PRIu32 "--%" PRIu32
			     " when computing minimum)",
			step->number - 1, step->number);
}

static void tell_culled(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "Finished culling (%3" PRIu32 " of %3" PRIu32 " deleted)",
			  step->number, step->count);
}

static void tell_survivor(pid_t pid, const struct mf_step *step)
{
	tell_snapshot(pid, "  post-cull", step);
}

static void tell_interval(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "New time interval = %" PRId64 " (between snapshots %" PRIu32
			     " and %" PRIu32 ")",
			step->span, step->number - 1, step->number);
}

static void tell_alloc(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "<<< record_block (%" PRIu64 ", %" PRIu64 ")", step->heap, step->extra);
}

static void tell_free(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "<<< unrecord_block");
}

static void tell_realloc(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "<<< realloc_block (%" PRIu64 ")", step->heap);
}

static void tell_ignored(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, "(ignored)");
}

static void tell_alloc_end(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, ">>>");
}

/* Like Massif, print the minus sign even for zero. */
static void tell_free_end(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, ">>> (-%" PRIu64 ", -%" PRIu64 ")", step->heap, step->extra);
}

static void tell_realloc_end(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, ">>> (%" PRId64 ", %" PRId64 ")", (int64_t)step->heap,
			  (int64_t)step->extra);
}

static void tell_stack(pid_t pid, const struct mf_step *step)
{
	int64_t change = (int64_t)step->heap;

	mf_message_massif(pid, "<<< %s_mem_stack (%" PRId64 ")", change > 0 ? "new" : "die", change);
}

static void tell_stack_end(pid_t pid, const struct mf_step *step)
{
	mf_message_massif(pid, ">>>");
}

static void (*const tellers[])(pid_t pid, const struct mf_step *step) = {
	[MF_STEP_SNAPSHOT] = tell_taken,
	[MF_STEP_CULLING] = tell_culling,
	[MF_STEP_VICTIM] = tell_victim,
	[MF_STEP_PAIR_SKIPPED] = tell_pair,
	[MF_STEP_CULLED] = tell_culled,
	[MF_STEP_SURVIVOR] = tell_survivor,
	[MF_STEP_INTERVAL] = tell_interval,
	[MF_STEP_ALLOC] = tell_alloc,
	[MF_STEP_FREE] = tell_free,
	[MF_STEP_REALLOC] = tell_realloc,
	[MF_STEP_IGNORED] = tell_ignored,
	[MF_STEP_ALLOC_END] = tell_alloc_end,
	[MF_STEP_FREE_END] = tell_free_end,
	[MF_STEP_REALLOC_END] = tell_realloc_end,
	[MF_STEP_STACK] = tell_stack,
	[MF_STEP_STACK_END] = tell_stack_end,
};

static void print_decision(void *data, enum mf_filter_decision decision, const char *function,
			   uint32_t count)
{
	pid_t pid = *(const pid_t *)data;

	switch (decision) {
	case MF_FILTER_ALLOC_FN:
		mf_message_massif(pid, "filtering alloc fn %s", function);
		break;
	case MF_FILTER_IGNORE_FN:
		mf_message_massif(pid, "ignored allocation from fn %s", function);
		break;
	case MF_FILTER_BELOW_MAIN:
		mf_message_massif(pid, "main/below main: filtering %" PRIu32, count);
		break;
	case MF_FILTER_KEEP_ONE:
		mf_message_massif(pid, "main/below main: keeping 1 fn");
		break;
	case MF_FILTER_DEPTH:
		mf_message_massif(pid, "filtering IPs above clo_depth");
		break;
	}
}

/*
 * Prints which functions are removed from a stack. Our stacks begin with the caller of the allocation function.
 * Massif's stacks begin with the allocation function itself, and Massif prints a line when it removes that function, so
 * print that line, too. Each stack is filtered only once, when it first occurs.
 */
static void tell_capture(const struct mf_options *options, struct mf_context_filter *context_filter, pid_t pid,
			 struct mf_step *step)
{
	struct mf_filter_listener listener = { .decided = print_decision, .data = &pid };
	mf_auto_free char *name = NULL;

	step->entry[MF_ENTRY_SIZE - 1] = '\0';
	if (options->symbolizer.demangle)
		name = mf_demangle(step->entry);
	if (step->entry[0])
		mf_message_massif(pid, "removing top fn %s from stacktrace",
				  name ? name : step->entry);
	if (step->number)
		mf_context_filter_counts(context_filter, step->number, &listener);
}

static void destroy_context_filter(struct mf_context_filter **context_filter)
{
	mf_context_filter_destroy(*context_filter);
}

static void tell_steps(const struct mf_options *options, const struct mf_store *store,
		       struct mf_context_filter *context_filter, pid_t pid)
{
	struct mf_step held = { 0 };
	bool holds = false;
	uint32_t n;
	const struct mf_step *steps = mf_log_view(store, &n);

	for (uint32_t i = 0; i < n; i++) {
		/* Copy the log entry, because the program could change it between the check and the use. */
		struct mf_step step = steps[i];

		if (step.kind == MF_STEP_CAPTURE) {
			held = step;
			holds = true;
			/*
			 * In the log, a stack precedes its allocation, but Massif prints the stack after the
			 * allocation.
			 */
			if (i + 1 < n && (steps[i + 1].kind == MF_STEP_ALLOC ||
					  steps[i + 1].kind == MF_STEP_REALLOC))
				continue;
		} else if (step.kind < sizeof(tellers) / sizeof(tellers[0])) {
			tellers[step.kind](pid, &step);
		}
		if (mf_take(holds, false))
			tell_capture(options, context_filter, pid, &held);
	}
	if (store->header->steps_lost)
		mf_message_say(MF_MESSAGE_PROBLEM,
			       "there was no room for %" PRIu32 " more lines about snapshots and events",
			       store->header->steps_lost);
}

static void tell_statistics(const struct mf_model *model, pid_t pid)
{
	const struct {
		const char *label;
		uint32_t value;
	} lines[] = {
		{ "heap allocs:", model->heap_allocs },
		{ "heap reallocs:", model->heap_reallocs },
		{ "heap frees:", model->heap_frees },
		{ "ignored heap allocs:", model->ignored_allocs },
		{ "ignored heap frees:", model->ignored_frees },
		{ "ignored heap reallocs:", model->ignored_reallocs },
		{ "stack allocs:", model->stack_allocs },
		{ "skipped snapshots:", model->skipped_snapshots },
		{ "real snapshots:", model->real_snapshots },
		{ "detailed snapshots:", model->detailed_snapshots },
		{ "peak snapshots:", model->peak_snapshots },
		{ "cullings:", model->cullings },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		mf_message_massif(pid, "%-22s %" PRIu32, lines[i].label, lines[i].value);
}

void mf_statistics_end(const struct mf_options *options, const struct mf_store *store,
		    struct mf_end end, pid_t pid)
{
	__attribute__((cleanup(destroy_context_filter))) struct mf_context_filter *context_filter = NULL;
	mf_auto_free struct mf_ending *ending = NULL;

	if (!mf_statistics_log_level(options) && !options->stats)
		return;
	ending = calloc(1, sizeof(*ending));
	if (!ending || mf_context_filter_create(store, mf_options_has_pages(options), &options->report,
				       &options->symbolizer, &context_filter, NULL))
		return;
	mf_ending_make(ending, store, end);
	if (mf_statistics_log_level(options)) {
		tell_steps(options, store, context_filter, pid);
		tell_steps(options, &ending->store, context_filter, pid);
	}
	if (options->stats)
		tell_statistics(&ending->model, pid);
}
