/* SPDX-License-Identifier: GPL-2.0 */
/* Says of a context, while its program runs or later, whether its blocks count, and why. */
#ifndef MASSIF_REPORT_JUDGE_H
#define MASSIF_REPORT_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/store.h"
#include "filter.h"
#include "options.h"
#include "symbols/symbolizer.h"

struct mf_context_filter;

/*
 * Everything given must outlive the judge. @pages: as for mf_filter_create(). Returns 0 or -ENOMEM.
 */
int mf_context_filter_create(const struct mf_store *store, bool pages,
		    const struct mf_report_options *options,
		    const struct mf_symbolizer_options *names, struct mf_context_filter **judge,
		    struct mf_error *err);
void mf_context_filter_destroy(struct mf_context_filter *judge);

/*
 * By the same filter as the report's, whose decisions @listener (may be NULL) hears. True also when
 * memory is too short to tell.
 */
bool mf_context_filter_counts(struct mf_context_filter *judge, uint32_t context,
		     const struct mf_filter_listener *listener);

#endif
