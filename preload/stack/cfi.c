// SPDX-License-Identifier: GPL-2.0
// Call frame information of the program's code, by the dynamic linker's list of objects.

#include "cfi.h"

#include <dlfcn.h>
#include <stddef.h>

#include "eh_frame.h"

#define PAGE_SIZE 4096u

static bool holds(const struct dl_find_object *object, const void *address)
{
	return address >= object->dlfo_map_start && address < object->dlfo_map_end;
}

/*
 * Without a lock, also while objects come and go. One with holes between its segments is told segment by
 * segment, and the tables are mostly in another one than the code.
 */
struct mf_rows_object mf_cfi_object(uint64_t pc)
{
	static const struct mf_rows_object none;
	struct mf_rows_object without_index;
	struct dl_find_object object;
	void *header;

	if (_dl_find_object((void *)(uintptr_t)pc, &object))
		return none;
	header = object.dlfo_eh_frame;
	if (!header && mf_eh_frame_find(pc, &without_index))
		return without_index;
	if (header && !holds(&object, header) && _dl_find_object(header, &object))
		return none;
	return (struct mf_rows_object){
		.start = object.dlfo_map_start,
		.end = object.dlfo_map_end,
		.header = header,
	};
}

/* Does the description of some code begin at @pc, exactly? @before holds the address before it, if any does. */
static bool is_start(uint64_t pc, const struct mf_rows_object *before)
{
	struct mf_rows_object object = *before;

	/* Objects begin with a page. */
	if (!(pc & (PAGE_SIZE - 1)))
		object = mf_cfi_object(pc);
	return mf_rows_is_start(&object, pc);
}

bool mf_cfi_find(uint64_t pc, struct mf_cfi_rule *rule)
{
	struct mf_rows_object object = mf_cfi_object(pc);

	*rule = mf_rows_find(&object, pc).rule;
	if (rule->cfa == MF_CFA_NONE && is_start(pc + 1, &object))
		rule->cfa = MF_CFA_BORDER;
	return object.start;
}
