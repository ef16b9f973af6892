// SPDX-License-Identifier: GPL-2.0
// What the graph needs of a massif.out file.

#include "profile.h"

#include <stdlib.h>

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

void mf_profile_finish(struct mf_profile *profile)
{
	size_t i;

	for (i = 0; profile->has_peak && i < profile->count; i++)
		profile->snapshots[i].is_peak = mf_number_equal(mf_number_of(i), profile->peak);
}

void mf_profile_deinit(struct mf_profile *profile)
{
	free(profile->snapshots);
	*profile = (struct mf_profile){};
}
