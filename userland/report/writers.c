// SPDX-License-Identifier: GPL-2.0
// The table of report formats.

#include "report/writers.h"

#include <string.h>

#include "report/callgrind_file.h"
#include "report/collapsed.h"
#include "report/json_file.h"
#include "report/massif_file.h"
#include "report/pprof.h"
#include "report/speedscope.h"
#include "report/xtree_massif.h"

const struct mf_writer mf_writers[MF_FORMATS] = {
	[MF_FORMAT_MASSIF] = { .name = "massif", .mark = ".ms", .write_profile = mf_massif_file_write,
			       .write_xtree = mf_xtree_massif_write,
			       .meaning = "all snapshots, as massif-ctl run writes them; for ms_print and "
					  "massif-visualizer" },
	[MF_FORMAT_CALLGRIND] = { .name = "callgrind", .write_xtree = mf_callgrind_file_write,
				  .write_moment = mf_callgrind_moment_write,
				  .meaning = "for callgrind_annotate and KCachegrind" },
	[MF_FORMAT_COLLAPSED] = { .name = "collapsed", .write_moment = mf_collapsed_write, .one_value = true,
				  .meaning = "a line for each stack; for flamegraph.pl and other drawers of flame graphs" },
	[MF_FORMAT_SPEEDSCOPE] = { .name = "speedscope", .write_moment = mf_speedscope_write, .one_value = true,
				   .meaning = "for speedscope" },
	[MF_FORMAT_PPROF] = { .name = "pprof", .write_moment = mf_pprof_write,
			      .meaning = "for go tool pprof" },
	[MF_FORMAT_JSON] = { .name = "json", .write_profile = mf_json_file_write, .with_end = true,
			     .meaning = "all snapshots and counts, for programs of one's own" },
};

enum mf_format mf_writers_find(const char *name)
{
	enum mf_format format = 0;

	while (format < MF_FORMATS && strcmp(mf_writers[format].name, name) != 0)
		format++;
	return format;
}

enum mf_format mf_writers_xtree_format(const char *name)
{
	for (enum mf_format format = 0; format < MF_FORMATS; format++) {
		const struct mf_writer *writer = &mf_writers[format];

		if (writer->write_xtree && writer->mark && strstr(name, writer->mark))
			return format;
	}
	return MF_FORMAT_CALLGRIND;
}
