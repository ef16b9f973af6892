/* SPDX-License-Identifier: GPL-2.0 */
/* Collects what massif.ko has recorded beside the heap: which code touched the resident pages of a process first. */
#ifndef MASSIF_CTL_FIRST_TOUCHES_H
#define MASSIF_CTL_FIRST_TOUCHES_H

#include <stdint.h>

#include "base/error.h"
#include "ctl/options/options.h"
#include "pages/pages.h"
#include "profile/first_touches.h"
#include "report/collect.h"

/* Zero-initialise it. Must not be moved. */
struct mf_touches_output {
	struct mf_collection collection, end;
	struct mf_symbolizer *symbolizer;
	struct mf_first_touches touches;
};

/* Makes @output->touches. @from_ns is the time of the first event in the heap's profile. Returns 0 or -errno. */
int mf_touches_output_make(struct mf_touches_output *output, const struct mf_options *options,
			   const struct mf_pages_process *process, uint64_t from_ns, struct mf_error *err);
void mf_touches_output_deinit(struct mf_touches_output *output);

#endif
