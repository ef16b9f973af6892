// SPDX-License-Identifier: GPL-2.0
// The data from which the graph is drawn, as read from a massif.out file.

#include "profile.h"

#include <stdlib.h>

#include "failure.h"
#include "memory.h"
#include "syntax.h"

static struct mf_number parse(const struct mf_record *record, enum mf_field field)
{
	return mf_number_parse(record->fields[field].data ?: "", record->fields[field].len);
}

void mf_profile_add(struct mf_profile *profile, const struct mf_record *record,
		    struct mf_number total)
{
	mf_memory_grow((void **)&profile->snapshots, &profile->room, profile->count + 1,
		       sizeof(*profile->snapshots));
	profile->snapshots[profile->count++] = (struct mf_snapshot){
		.time = parse(record, MF_FIELD_TIME),
		.total = total,
		.has_tree = record->has_tree,
	};
	if (mf_number_less(profile->largest, total))
		profile->largest = total;
	if (record->is_peak) {
		profile->peak = parse(record, MF_FIELD_SNAPSHOT);
		profile->has_peak = true;
	}
}

int mf_profile_finish(struct mf_profile *profile, const char *path, struct mf_failure *failure)
{
	const struct mf_snapshot *snapshots = profile->snapshots;
	size_t i;

	if (!profile->count)
		return mf_failure_set_in(failure, path, 0, MF_FAILURE_OTHER,
					 "the file has no snapshot: it is cut off");
	for (i = 0; i < profile->count; i++)
		if (mf_number_less(snapshots[profile->count - 1].time, snapshots[i].time))
			return mf_failure_set_in(failure, path, 0, MF_FAILURE_FORMAT,
						 "snapshot %zu is later than the last one", i);
	for (i = 0; profile->has_peak && i < profile->count; i++)
		profile->snapshots[i].is_peak = mf_number_equal(mf_number_of(i), profile->peak);
	return 0;
}

void mf_profile_deinit(struct mf_profile *profile)
{
	free(profile->snapshots);
	*profile = (struct mf_profile){};
}
