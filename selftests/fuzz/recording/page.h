/* SPDX-License-Identifier: GPL-2.0 */
/* The page that massif-ctl report makes of a recording: part of the fuzzer of recordings. */
#ifndef MASSIF_SELFTESTS_PAGE_H
#define MASSIF_SELFTESTS_PAGE_H

#include <stdint.h>

#include "recording/reader.h"
#include "report/options.h"

/* Makes the data of a page, of one file or, depending on @flags, of two; the room for them depends on @choice. */
void fuzz_page_make(const struct mf_recording *recording, const struct mf_report_options *options, uint8_t flags,
		    uint8_t choice);

#endif
