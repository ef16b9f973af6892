// SPDX-License-Identifier: GPL-2.0
// Call frame information of the program's code, by the dynamic linker's list of objects.

#include "cfi.h"

#include <dlfcn.h>
#include <stddef.h>

/* Without a lock, also while objects come and go. */
static struct mf_rows_object find_object(uint64_t pc)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)(uintptr_t)pc, &object))
		return (struct mf_rows_object){ NULL, NULL, NULL };
	return (struct mf_rows_object){ object.dlfo_map_start, object.dlfo_map_end,
					object.dlfo_eh_frame };
}

bool mf_cfi_is_start(uint64_t pc)
{
	struct mf_rows_object object = find_object(pc);

	return mf_rows_is_start(&object, pc);
}

struct mf_cfi_rule mf_cfi_find(uint64_t pc)
{
	struct mf_rows_object object = find_object(pc);

	return mf_rows_find(&object, pc).rule;
}
