// SPDX-License-Identifier: GPL-2.0
// Collects what massif.ko has recorded beside the heap: which code touched the resident pages of a process first.

#include "first_touches.h"

#include <time.h>

static uint64_t ms_between(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns > from_ns ? (to_ns - from_ns) / 1000000 : 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int mf_touches_output_make(struct mf_touches_output *output, const struct mf_options *options,
			   const struct mf_pages_process *process, uint64_t from_ns, struct mf_error *err)
{
	const struct mf_pages_resident resident = mf_pages_resident(process);
	uint64_t end_ns = process->state == MF_PAGES_RUNNING ? now_ns() : process->end_ns;
	struct mf_end end = { .rule = MF_END_PEAK, .now = (int64_t)ms_between(process->start_ns, end_ns) };
	struct mf_profile *profile = &output->collection.profile;
	int ret = mf_collect(process->store, end, &output->collection, err);

	ret = ret ?: mf_collect_present(process->store, end.now, true, &output->end, err);
	ret = ret ?: mf_symbolizer_create(profile->objects, profile->n_objects, &options->symbolizer, &output->symbolizer, err);
	if (ret)
		return ret;
	profile->desc = options->desc;
	profile->pages = true;
	profile->what = MF_PAGES_RESIDENT;
	profile->time_unit = MF_TIME_MS;
	output->touches = (struct mf_first_touches){
		.profile = profile,
		.with_kinds = true,
		.end = output->end.profile.snapshots,
		.symbolizer = output->symbolizer,
		.peak = resident.most,
		.peak_ms = ms_between(from_ns, resident.most_ns),
		.lost = process->lost,
	};
	return 0;
}

void mf_touches_output_deinit(struct mf_touches_output *output)
{
	if (output->symbolizer)
		mf_symbolizer_destroy(output->symbolizer);
	mf_collection_release(&output->end);
	mf_collection_release(&output->collection);
}
