/* SPDX-License-Identifier: GPL-2.0 */
/* Says of a context, while its program runs, whether its blocks count. */
#ifndef MASSIF_REPORT_JUDGE_H
#define MASSIF_REPORT_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/store.h"
#include "report/options.h"
#include "symbols/symbolizer.h"

struct mf_judge;

/* Everything given must outlive the judge. Returns 0 or -ENOMEM. */
int mf_judge_create(const struct mf_store *store, const struct mf_report_options *options,
		    const struct mf_symbolizer_options *names, struct mf_judge **judge,
		    struct mf_error *err);
void mf_judge_destroy(struct mf_judge *judge);

/* By the same filter as the report's. True also when memory is too short to tell. */
bool mf_judge_counts(struct mf_judge *judge, uint32_t context);

#endif
