/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers the distinct calls of the stacks in a report. Zero-initialise it. */
#ifndef MASSIF_REPORT_CALL_TABLE_H
#define MASSIF_REPORT_CALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "report/index.h"
#include "report/moment.h"

struct mf_call_table {
	struct mf_index frames; /* number of a frame, by its address and object */
	struct mf_index index;	/* number of a call, by its location and the number of its frame */
	struct mf_call *calls;
	size_t count, room;
	uint32_t n_frames;
};

/* Returns the number of @call, from 0 in the order in which they were first seen; UINT32_MAX if out of memory. */
uint32_t mf_call_table_number(struct mf_call_table *table, const struct mf_call *call);

void mf_call_table_deinit(struct mf_call_table *table);

#endif
