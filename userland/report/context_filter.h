/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decides whether a context's blocks are counted. Can be used both while the program is running and after it has ended.
 */
#ifndef MASSIF_REPORT_CONTEXT_FILTER_H
#define MASSIF_REPORT_CONTEXT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/store.h"
#include "filter.h"
#include "options.h"
#include "symbols/symbolizer.h"

struct mf_context_filter;

/*
 * Creates a context filter. All pointer arguments must outlive it. @pages: as for mf_filter_create(). Returns 0 or
 * -ENOMEM.
 */
int mf_context_filter_create(const struct mf_store *store, bool pages,
		    const struct mf_report_options *options,
		    const struct mf_symbolizer_options *names, struct mf_context_filter **context_filter,
		    struct mf_error *err);
void mf_context_filter_destroy(struct mf_context_filter *context_filter);

/*
 * Returns whether the blocks of @context are counted, using the same filter as the report. @listener (may be NULL)
 * receives the filter's decisions. Also returns true if out of memory.
 */
bool mf_context_filter_counts(struct mf_context_filter *context_filter, uint32_t context,
		     const struct mf_filter_listener *listener);

#endif
