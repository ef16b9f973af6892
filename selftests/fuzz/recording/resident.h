/* SPDX-License-Identifier: GPL-2.0 */
/* Part of the fuzzer of recordings: prints and exports the samples of the resident set, as massif-ctl does. */
#ifndef MASSIF_SELFTESTS_RESIDENT_H
#define MASSIF_SELFTESTS_RESIDENT_H

#include <stdint.h>

#include "recording/reader.h"
#include "report/options.h"

/* Checks that the samples of @process refer only to what its profiles have, in the order that they promise. */
void fuzz_resident_check(const struct mf_recorded *process);

/* Prints what massif-ctl show --rss prints for several samples of @process, and exports the numbers of their sites. */
void fuzz_resident_show(struct mf_recorded *process, const struct mf_report_options *options, uint8_t flags,
			uint8_t choice);

/* Prints what massif-ctl show --rss prints for all processes. Changes their order. */
void fuzz_resident_list(const struct mf_recording *recording, uint8_t choice);

#endif
