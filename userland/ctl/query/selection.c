// SPDX-License-Identifier: GPL-2.0
// Selects the stacks of a recorded process that a command is about: those of some threads, or through some functions.

#include "selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pattern.h"
#include "report/moment.h"
#include "report/touched.h"

static bool is_thread(const struct mf_thread_info *thread, const char *pattern)
{
	char tid[24];

	snprintf(tid, sizeof(tid), "%" PRIu64, thread->tid);
	return mf_pattern_matches_text(pattern, thread->name) || (thread->tid && strcmp(pattern, tid) == 0);
}

/* Keeps, of the contexts marked in @chosen, those of the threads that match. */
static void choose_threads(const struct mf_profile *profile, const char *pattern, bool *chosen)
{
	for (size_t i = 0; i < profile->n_contexts; i++)
		chosen[i] &= is_thread(&profile->threads[profile->context_threads[i]], pattern);
}

struct search {
	const char *pattern;
	bool *found;
};

static int look_through(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	const struct search *search = data;

	for (size_t i = 0; i < stack->n && !search->found[stack->context]; i++)
		search->found[stack->context] = mf_pattern_matches_text(search->pattern, stack->calls[i].location->function);
	return 0;
}

/* Keeps, of the contexts marked in @chosen, those with a function that matches. Returns 0 or -ENOMEM. */
static int choose_functions(const struct mf_profile *profile, struct mf_symbolizer *symbolizer, const char *pattern,
			    const struct mf_report_options *options, bool *chosen, struct mf_error *err)
{
	size_t n = profile->n_contexts;
	mf_auto_free bool *found = calloc(n + 1, sizeof(*found));
	mf_auto_free struct mf_leaf *leaves = calloc(n + 1, sizeof(*leaves));
	struct mf_profile_snapshot all = { .tree = MF_TREE_DETAILED, .leaves = leaves, .n_seen = n };
	const struct mf_moment moment = { profile, &all, options, symbolizer };
	struct search search = { pattern, found };
	int code;

	if (!found || !leaves)
		return mf_error_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < n; i++)
		if (chosen[i])
			leaves[all.n_leaves++] = (struct mf_leaf){ .context = i, .bytes = 1 };
	code = mf_moment_each(&moment, look_through, &search, err);
	if (!code)
		memcpy(chosen, found, n * sizeof(*chosen));
	return code;
}

static void keep(struct mf_recorded *process, const bool *chosen)
{
	/* The end is the last snapshot of the array, or one of the profile's. */
	size_t n_snapshots = process->profile.n_snapshots +
			     (process->end == &process->snapshots[process->profile.n_snapshots]);

	for (size_t i = 0; i < n_snapshots; i++) {
		struct mf_profile_snapshot *snapshot = &process->snapshots[i];
		struct mf_leaf *leaves;
		size_t n = 0;

		if (!snapshot->n_leaves)
			continue;
		leaves = process->leaves + (snapshot->leaves - process->leaves);
		for (size_t k = 0; k < snapshot->n_leaves; k++)
			if (chosen[leaves[k].context])
				leaves[n++] = leaves[k];
		snapshot->n_leaves = n;
	}
	for (size_t i = 0; process->counts && i < process->profile.n_contexts; i++)
		if (!chosen[i])
			process->counts[i] = (struct mf_counts){ 0 };
	for (size_t i = 0; process->details && i < process->profile.n_contexts; i++)
		if (!chosen[i])
			process->details[i] = (struct mf_context_details){ 0 };
}

static void each_detail(struct mf_residency *residency, void (*keep_of)(struct mf_residency_detail *detail, const bool *chosen),
			const bool *chosen)
{
	keep_of(&residency->peak, chosen);
	keep_of(&residency->last, chosen);
	for (size_t i = 0; i < residency->n_moments; i++)
		keep_of(&residency->moments[i], chosen);
}

static void keep_sites(struct mf_residency_detail *detail, const bool *chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < detail->n_sites; i++)
		if (chosen[detail->sites[i].context])
			detail->sites[n++] = detail->sites[i];
	detail->n_sites = n;
}

static void keep_touches(struct mf_residency_detail *detail, const bool *chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < detail->n_touches; i++)
		if (chosen[detail->touches[i].context])
			detail->touches[n++] = detail->touches[i];
	detail->n_touches = n;
}

/*
 * Removes the first touches that are not selected. A recording does not say which thread touched a page first, so if
 * threads are selected, all first touches are removed.
 */
static int select_touches(const struct mf_selection *selection, struct mf_recorded *process,
			  const struct mf_report_options *options, bool *any, struct mf_error *err)
{
	const struct mf_first_touches *touches = process->profile.touches;
	mf_auto_free bool *chosen = NULL;
	struct mf_profile profile;
	int code = 0;

	if (!touches)
		return 0;
	mf_touched_profile(touches, &profile);
	chosen = malloc(profile.n_contexts + 1);
	if (!chosen)
		return mf_error_set(err, -ENOMEM, "out of memory");
	memset(chosen, !selection->thread, profile.n_contexts);
	if (selection->through && !selection->thread)
		code = choose_functions(&profile, touches->symbolizer, selection->through, options, chosen, err);
	if (code)
		return code;
	*any |= memchr(chosen, true, profile.n_contexts) != NULL;
	each_detail(&process->residency, keep_touches, chosen);
	return 0;
}

int mf_selection_apply(const struct mf_selection *selection, struct mf_recorded *process,
		       const struct mf_report_options *options, bool *any, struct mf_error *err)
{
	size_t n = process->profile.n_contexts;
	mf_auto_free bool *chosen = malloc(n + 1);
	int code = 0;

	if (!chosen)
		return mf_error_set(err, -ENOMEM, "out of memory");
	memset(chosen, true, n);
	if (selection->thread)
		choose_threads(&process->profile, selection->thread, chosen);
	if (selection->through)
		code = choose_functions(&process->profile, process->symbolizer, selection->through, options,
					chosen, err);
	if (code)
		return code;
	*any |= memchr(chosen, true, n) != NULL;
	keep(process, chosen);
	each_detail(&process->residency, keep_sites, chosen);
	return select_touches(selection, process, options, any, err);
}
