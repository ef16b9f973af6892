// SPDX-License-Identifier: GPL-2.0
// The table of report formats.

#include "report/writers.h"

#include <string.h>

#include "report/callgrind_file.h"
#include "report/massif_file.h"
#include "report/xtree_massif.h"

const struct mf_writer mf_writers[MF_FORMATS] = {
	[MF_FORMAT_MASSIF] = { "massif", ".ms", mf_massif_file_write, mf_xtree_massif_write },
	[MF_FORMAT_CALLGRIND] = { "callgrind", NULL, NULL, mf_callgrind_file_write },
};

enum mf_format mf_writers_xtree_format(const char *name)
{
	for (enum mf_format format = 0; format < MF_FORMATS; format++) {
		const struct mf_writer *writer = &mf_writers[format];

		if (writer->write_xtree && writer->mark && strstr(name, writer->mark))
			return format;
	}
	return MF_FORMAT_CALLGRIND;
}
