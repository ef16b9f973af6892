// SPDX-License-Identifier: GPL-2.0
// The shim in the dynamic linker's list of objects.

#include "own_object.h"

struct link_map *mf_own_object(void)
{
	struct link_map *object = _r_debug.r_map;

	while (object && object->l_ld != _DYNAMIC)
		object = object->l_next;
	return object;
}
