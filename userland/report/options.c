// SPDX-License-Identifier: GPL-2.0
// The default options of reports.

#include "report/options.h"

void mf_report_options_init(struct mf_report_options *options)
{
	*options = (struct mf_report_options){
		.threshold = 1.0,
		.depth = 30,
		.keep_unloaded = true,
	};
}
