// SPDX-License-Identifier: GPL-2.0
// Temporarily moves the shim in the dynamic linker's list of objects.
//
// Preloaded libraries come first in the list, right after the executable. AddressSanitizer's run-time library ends the
// program if another library precedes it. It checks this only once, when it is first called, using the list that
// dl_iterate_phdr(3) reports. So while the shim makes this first call, it moves itself behind AddressSanitizer's
// library in the list. The dynamic linker looks up symbols in a different list, which does not change: the program
// still calls the shim's malloc, which calls the sanitizer's.

#include "load_order.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "own_object.h"

/*
 * Parts of the file names of libraries that abort the program unless they come first in the dynamic linker's list of
 * objects.
 */
static const char *const first_ones[] = { "libasan.so", "libclang_rt.asan" };

static bool wants_to_be_first(const struct link_map *object)
{
	for (size_t i = 0; i < sizeof(first_ones) / sizeof(first_ones[0]); i++)
		if (strstr(object->l_name, first_ones[i]))
			return true;
	return false;
}

/*
 * Moves @object to immediately after @other in the dynamic linker's list of objects. @object is never the executable,
 * which comes first in the list.
 */
static void move_behind(struct link_map *object, struct link_map *other)
{
	object->l_prev->l_next = object->l_next;
	if (object->l_next)
		object->l_next->l_prev = object->l_prev;
	object->l_prev = other;
	object->l_next = other->l_next;
	if (other->l_next)
		other->l_next->l_prev = object;
	other->l_next = object;
}

/*
 * The shim's entry in the dynamic linker's list of objects, and the entry that preceded it originally. @before is
 * non-NULL only while the shim is not in its original place.
 */
static struct link_map *own, *before;

void mf_load_order_yield(void)
{
	own = mf_own_object();
	if (!own || !own->l_prev)
		return;
	for (struct link_map *other = own->l_next; other; other = other->l_next) {
		if (wants_to_be_first(other)) {
			before = own->l_prev;
			move_behind(own, other);
			return;
		}
	}
}

void mf_load_order_return(const struct mf_real *real)
{
	if (!before)
		return;
	/*
	 * Allocate a block, so that AddressSanitizer's library, which insists on being first in the list of objects,
	 * checks its position now, unless it has already done so.
	 */
	real->free(real->malloc(1));
	move_behind(own, before);
	before = NULL;
}
