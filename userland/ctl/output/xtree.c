// SPDX-License-Identifier: GPL-2.0
// Writes memory execution trees: --xtree-memory and massif-ctl xtmemory.

#include "xtree.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/message/message.h"
#include "ctl/files/outfile.h"
#include "ctl/files/outname.h"
#include "ctl/files/outputs.h"
#include "report/writers.h"
#include "symbols/symbolizer.h"

#define MODE 0644

static void destroy_symbolizer(struct mf_symbolizer **symbolizer)
{
	if (*symbolizer)
		mf_symbolizer_destroy(*symbolizer);
}

int mf_xtree_print(const struct mf_options *options, const struct mf_xtree_of *of, enum mf_format format,
		   FILE *out, struct mf_error *err)
{
	__attribute__((cleanup(mf_xtree_release))) struct mf_xtree xtree = { 0 };
	__attribute__((cleanup(destroy_symbolizer))) struct mf_symbolizer *symbolizer = NULL;
	const struct mf_xtree_file file = {
		.compress = options->xtree_compress,
		.pid = of->pid,
		.time_ms = of->time_ms,
	};
	struct mf_profile *profile = &xtree.collection.profile;
	int ret;

	ret = mf_xtree_collect(of->store, &xtree, err);
	if (ret)
		return ret;
	profile->cmd = of->cmd;
	ret = mf_symbolizer_create(profile->objects, profile->n_objects, &options->symbolizer,
				   &symbolizer, err);
	if (ret)
		return ret;
	return mf_writers[format].write_xtree(out, &xtree, &file, &options->report, symbolizer, err);
}

/* What fill_xtree() needs to write an execution tree. */
struct xtree_source {
	const struct mf_options *options;
	const struct mf_xtree_of *of;
	enum mf_format format;
};

static int fill_xtree(FILE *out, void *data, struct mf_error *err)
{
	const struct xtree_source *source = data;

	return mf_xtree_print(source->options, source->of, source->format, out, err);
}

int mf_xtree_output(const struct mf_options *options, const struct mf_xtree_of *of,
		    struct mf_error *err)
{
	mf_auto_free char *path = NULL, *name = NULL;
	struct xtree_source contents = { .options = options, .of = of };
	char stem[32];
	const struct mf_outfile_source source = {
		.fill = fill_xtree, .data = &contents, .mode = MODE, .stem = stem,
	};
	int ret;

	ret = mf_outname_expand(options->xtree_file, of->pid, 1, &path, err);
	if (ret)
		return ret;
	snprintf(stem, sizeof(stem), "xtmemory.kcg.%d", (int)of->pid);
	contents.format = mf_writers_xtree_format(path);
	ret = mf_outputs_write(options->outputs, MF_OUTPUT_XTREE, path, of->pid, &source, &name, err);
	if (!ret)
		mf_message_say(MF_MESSAGE_NOTE, "xtree memory report: %s", name);
	return ret;
}
