// SPDX-License-Identifier: GPL-2.0
// Numbers the distinct calls of the stacks in a report.

#include "report/call_table.h"

#include <stdlib.h>

uint32_t mf_call_table_number(struct mf_call_table *table, const struct mf_call *call)
{
	uint32_t *frame = mf_index_put(&table->frames, call->frame.pc, call->frame.object, table->n_frames), *number;

	if (!frame)
		return UINT32_MAX;
	table->n_frames += *frame == table->n_frames;
	/* Each frame has locations of its own, except those of which nothing is known. */
	number = mf_index_put(&table->index, (uint64_t)(uintptr_t)call->location, *frame, (uint32_t)table->count);
	if (!number)
		return UINT32_MAX;
	if (*number < table->count)
		return *number;
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 256;
		struct mf_call *calls = reallocarray(table->calls, room, sizeof(*calls));

		if (!calls)
			return UINT32_MAX;
		table->calls = calls;
		table->room = room;
	}
	table->calls[table->count] = *call;
	return (uint32_t)table->count++;
}

void mf_call_table_deinit(struct mf_call_table *table)
{
	mf_index_deinit(&table->frames);
	mf_index_deinit(&table->index);
	free(table->calls);
	*table = (struct mf_call_table){ 0 };
}
