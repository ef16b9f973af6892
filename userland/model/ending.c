// SPDX-License-Identifier: GPL-2.0
// Adds the end of a profile to a copy of the profile's model. The end counts as the last event, and may require a last
// snapshot.

#include "model/ending.h"

#include "model/tally.h"

static uint32_t within(uint32_t value, uint32_t least, uint32_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Copies the model's state and statistics, and replaces invalid options, because the program may have overwritten them. */
static void copy_state(struct mf_model *model, const struct mf_model *from,
		       const struct mf_tally_totals *totals)
{
	model->options = from->options;
	model->options.max_snapshots = within(from->options.max_snapshots, 2, MF_SNAPSHOTS_MAX);
	model->heap = totals->heap;
	model->extra = totals->extra;
	model->stacks = totals->stacks;
	model->peak_total = from->peak_total;
	model->interval = from->interval;
	model->next_allowed = from->next_allowed;
	model->since_detailed = from->since_detailed;

	model->skipped_snapshots = from->skipped_snapshots;
	model->skipped_before = from->skipped_before;
	model->real_snapshots = from->real_snapshots;
	model->detailed_snapshots = from->detailed_snapshots;
	model->peak_snapshots = from->peak_snapshots;
	model->cullings = from->cullings;
	model->heap_allocs = from->heap_allocs;
	model->heap_reallocs = from->heap_reallocs;
	model->heap_frees = from->heap_frees;
	model->ignored_allocs = from->ignored_allocs;
	model->ignored_reallocs = from->ignored_reallocs;
	model->ignored_frees = from->ignored_frees;
	model->stack_allocs = from->stack_allocs;
}

void mf_ending_make(struct mf_ending *ending, const struct mf_store *store, struct mf_end end)
{
	struct mf_tally_totals totals = mf_tally_look(store, end.now);
	uint32_t n = mf_model_view(store, ending->views);

	ending->store.header = &ending->header;
	ending->store.regions[MF_REGION_MODEL] = &ending->model;
	ending->store.sizes[MF_REGION_MODEL] = sizeof(ending->model);
	ending->store.regions[MF_REGION_STEPS] = ending->steps;
	ending->store.sizes[MF_REGION_STEPS] = sizeof(ending->steps);
	ending->header.logs_steps = store->header->logs_steps;
	copy_state(&ending->model, mf_model_of(store), &totals);
	mf_model_end(&ending->store, ending->views, n, end.rule, totals.time);
}
