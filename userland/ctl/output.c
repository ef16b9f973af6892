// SPDX-License-Identifier: GPL-2.0
// From a store to the massif.out file of a process.

#include "ctl/output.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "ctl/message.h"
#include "ctl/outfile.h"
#include "ctl/outname.h"
#include "report/collect.h"
#include "report/massif_file.h"
#include "symbols/symbolizer.h"

enum {
	MODE_HEAP = 0644,
	MODE_PAGES = 0600, /* made from copies of the program's stack */
};

static void destroy_symbolizer(struct mf_symbolizer **symbolizer)
{
	if (*symbolizer)
		mf_symbolizer_destroy(*symbolizer);
}

static uint64_t peak_of(const struct mf_profile *profile)
{
	uint64_t peak = 0;

	for (size_t i = 0; i < profile->n_snapshots; i++) {
		const struct mf_profile_snapshot *s = &profile->snapshots[i];
		uint64_t total = s->heap_bytes + s->extra_bytes + s->stack_bytes;

		if (total > peak)
			peak = total;
	}
	return peak;
}

static int write_profile(const struct mf_options *options, const struct mf_profile *profile,
			 const char *name, struct mf_error *err)
{
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	__attribute__((cleanup(mf_outfile_discard))) struct mf_outfile file = { 0 };
	int ret;

	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &options->symbolizer,
				   &symbolizer, err);
	if (ret)
		return ret;
	ret = mf_outfile_open(&file, name, profile->pages ? MODE_PAGES : MODE_HEAP, err);
	if (ret)
		return ret;
	ret = mf_massif_file_write(file.stream, profile, &options->report, symbolizer, err);
	if (ret)
		return ret == -ENOMEM ? ret : mf_outfile_explain(name, ret, err);
	return mf_outfile_commit(&file, err);
}

int mf_output_write(const struct mf_options *options, const char *cmd,
		    const struct mf_store *store, pid_t pid, bool pages, struct mf_error *err)
{
	__attribute__((cleanup(mf_collection_release))) struct mf_collection collection = { 0 };
	struct mf_profile *profile = &collection.profile;
	mf_auto_free char *name = NULL;
	int ret;

	ret = mf_outname_expand(options->out_file, pid, 1, &name, err);
	if (ret)
		return ret;
	ret = mf_collect(store, NULL, 0, &collection, err);
	if (ret)
		return ret;
	profile->desc = options->desc;
	profile->cmd = cmd;
	profile->pages = pages;
	/* Not from the store, into which the program can write. */
	profile->time_unit = options->model.time_unit;
	ret = write_profile(options, profile, name, err);
	if (ret)
		return ret;
	mf_message_say(MF_MESSAGE_NOTE, "wrote %s (%zu snapshots, peak %" PRIu64 " bytes)", name,
		       profile->n_snapshots, peak_of(profile));
	return 0;
}
