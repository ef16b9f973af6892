// SPDX-License-Identifier: GPL-2.0
// Finds unwind rules for the program's code, through the dynamic linker's list of objects.

#include "cfi.h"

#include <dlfcn.h>
#include <stddef.h>

#include "core/libc.h"
#include "eh_frame.h"

#define PAGE_SIZE 4096u

static bool holds(const struct dl_find_object *object, const void *address)
{
	return address >= object->dlfo_map_start && address < object->dlfo_map_end;
}

/*
 * _dl_find_object() takes no lock and is safe while objects are loaded and unloaded. If an object has gaps between its
 * segments, the function reports only one segment, and the unwind tables are usually in a different segment from the
 * code. So a second call finds the segment of the tables.
 */
struct mf_rows_object mf_cfi_object(uint64_t pc)
{
	static const struct mf_rows_object none;
	struct mf_rows_object without_index;
	struct dl_find_object object;
	void *header;

	if (!mf_libc_has_find_object)
		return mf_eh_frame_find(pc, &without_index) ? without_index : none;
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

/* Does an unwind entry begin exactly at @pc? @before: the object that contains @pc - 1, if any. */
static bool is_start(uint64_t pc, const struct mf_rows_object *before)
{
	struct mf_rows_object object = *before;

	/* @pc and @pc - 1 can be in different objects only at a page boundary. */
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
