// SPDX-License-Identifier: GPL-2.0
// All of the input that the graph needs.

#include "profile.h"

#include <stdlib.h>

#include "failure.h"
#include "memory.h"
#include "tree.h"

static struct mf_snapshot *add_snapshot(struct mf_profile *profile, const struct mf_record *record)
{
	const struct mf_text *time = &record->fields[MF_FIELD_TIME];
	struct mf_snapshot *snapshot;

	mf_memory_grow((void **)&profile->snapshots, &profile->room, profile->count + 1,
		       sizeof(*snapshot));
	snapshot = &profile->snapshots[profile->count++];
	snapshot->time = mf_number_parse(time->data ?: "", time->len);
	snapshot->total = mf_syntax_record_total(record);
	snapshot->has_tree = record->has_tree;
	snapshot->is_peak = false;
	if (mf_number_less(profile->largest, snapshot->total))
		profile->largest = snapshot->total;
	return snapshot;
}

static void mark_peak(struct mf_profile *profile, struct mf_number peak)
{
	size_t i;

	for (i = 0; i < profile->count; i++)
		profile->snapshots[i].is_peak = mf_number_equal(mf_number_of(i), peak);
}

static int read_snapshots(struct mf_profile *profile, struct mf_input *input,
			  struct mf_failure *failure)
{
	MF_RECORD_AUTO record = {};
	struct mf_number peak = {};
	bool has_peak = false;
	struct mf_snapshot *snapshot;
	const struct mf_text *number = &record.fields[MF_FIELD_SNAPSHOT];
	int ret;

	while ((ret = mf_syntax_record_read(input, &record, failure)) > 0) {
		snapshot = add_snapshot(profile, &record);
		if (record.is_peak) {
			peak = mf_number_parse(number->data ?: "", number->len);
			has_peak = true;
		}
		if (record.has_tree)
			ret = mf_tree_check(input, snapshot->total, failure);
		if (ret < 0)
			break;
	}
	if (has_peak)
		mark_peak(profile, peak);
	return ret;
}

int mf_profile_read(struct mf_profile *profile, struct mf_input *input,
		    struct mf_failure *failure)
{
	int ret = mf_syntax_header_read(input, &profile->header, failure);

	if (!ret)
		ret = read_snapshots(profile, input, failure);
	/* A read that failed looks like the end of the file, so what it led to says less. */
	return mf_input_check(input, failure) ?: ret;
}

void mf_profile_deinit(struct mf_profile *profile)
{
	mf_syntax_header_deinit(&profile->header);
	free(profile->snapshots);
	*profile = (struct mf_profile){};
}
