// SPDX-License-Identifier: GPL-2.0
// Writes a memory execution tree in Massif format.

#include "report/xtree_massif.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "report/massif_file.h"

/*
 * Writes one snapshot for each kind of value in the tree, such as live bytes or freed blocks. All have the same time.
 */
int mf_xtree_massif_write(FILE *out, const struct mf_xtree *xtree, const struct mf_xtree_file *file,
			  const struct mf_report_options *options, struct mf_symbolizer *symbolizer,
			  struct mf_error *err)
{
	const struct mf_report_options whole = mf_xtree_options(options);
	mf_auto_free struct mf_leaf *leaves =
		calloc(xtree->n_events * xtree->n_contexts + 1, sizeof(*leaves));
	struct mf_profile_snapshot snapshots[MF_LEDGER_VALUES] = { 0 };
	struct mf_profile profile = {
		.desc = "xtree.produce_report",
		.cmd = xtree->collection.profile.cmd,
		.time_unit = MF_TIME_MS,
		.objects = xtree->collection.profile.objects,
		.n_objects = xtree->collection.profile.n_objects,
		.read_context = mf_xtree_read_context,
		.source = xtree,
		.n_contexts = xtree->n_contexts,
		.snapshots = snapshots,
		.n_snapshots = xtree->n_events,
	};

	if (!leaves)
		return mf_error_set(err, -ENOMEM, "out of memory for the execution tree");
	for (size_t event = 0; event < xtree->n_events; event++) {
		struct mf_profile_snapshot *s = &snapshots[event];
		struct mf_leaf *first = leaves + event * xtree->n_contexts;

		for (uint32_t i = 0; i < xtree->n_contexts; i++) {
			first[i] = (struct mf_leaf){ .context = i, .bytes = xtree->contexts[i].values[event] };
			s->heap_bytes += first[i].bytes;
		}
		s->time = file->time_ms;
		s->tree = MF_TREE_DETAILED;
		s->root = mf_xtree_events[event].text;
		s->leaves = first;
		s->n_leaves = s->n_seen = xtree->n_contexts;
	}
	return mf_massif_file_write(out, &profile, &whole, symbolizer, err);
}
