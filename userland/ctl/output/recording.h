/* SPDX-License-Identifier: GPL-2.0 */
/* Records a process whose profile has ended, and checks it against the budgets of the run. */
#ifndef MASSIF_CTL_RECORDING_H
#define MASSIF_CTL_RECORDING_H

#include <sys/types.h>

#include "base/error.h"
#include "ctl/options/options.h"
#include "ctl/output/output.h"
#include "report/collect.h"
#include "symbols/symbolizer.h"

/*
 * Adds the process to the recording of this run and checks it against the budgets, whatever of these the options ask for.
 * @collection is its profile; its counts are filled in. @mode is the file mode of the recording. Returns 0, or -errno if
 * the process could not be recorded.
 */
int mf_output_record(const struct mf_options *options, const struct mf_output_of *of, struct mf_collection *collection,
		     struct mf_symbolizer *symbolizer, mode_t mode, struct mf_error *err);

#endif
