/* SPDX-License-Identifier: GPL-2.0 */
/* An ELF object's unwind tables, read from its file, where they would be if it were loaded. */
#ifndef MASSIF_UNWIND_ELFMAP_H
#define MASSIF_UNWIND_ELFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/object.h"
#include "unwind/rows.h"

struct mf_elfmap {
	struct mf_rows_object object;
	uint64_t bias; /* of an address here against the link-time one */
	void *memory;
	size_t size;
};

/*
 * Reads the file of @object, if it is still the one with its build id. Returns 0 or -errno. Nothing in
 * the file is trusted; and whatever becomes of it later, what was read stays.
 */
int mf_elfmap_open(struct mf_elfmap *map, const struct mf_object *object);
void mf_elfmap_close(struct mf_elfmap *map);

#endif
