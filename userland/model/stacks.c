// SPDX-License-Identifier: GPL-2.0
// Counts the threads' stacks as memory.

#include "model/stacks.h"

#include "model/log.h"
#include "model/model.h"

void mf_stacks_change(struct mf_store *store, int64_t change, int64_t now)
{
	struct mf_model *model = mf_model_of(store);
	bool grows = change > 0;

	mf_log_event(store, MF_STEP_STACK, change, 0);
	if (grows)
		model->stack_allocs++;
	else
		mf_model_check_peak_on(store, MF_OCCASION_PEAK_BEFORE_STACK, now);
	model->stacks += (uint64_t)change;
	model->clock_bytes += (uint64_t)(grows ? change : -change);
	mf_model_attempt_on(store, grows ? MF_OCCASION_STACK_GROWS : MF_OCCASION_STACK_SHRINKS, now);
	mf_log_event(store, MF_STEP_STACK_END, 0, 0);
}

void mf_stacks_drop(struct mf_store *store, uint64_t bytes)
{
	mf_model_of(store)->stacks -= bytes;
}
