/* SPDX-License-Identifier: GPL-2.0 */
/* The mappings of a sample, by name. */
#ifndef MASSIF_RESIDENCY_AREAS_H
#define MASSIF_RESIDENCY_AREAS_H

#include <stddef.h>

#include "profile/residency.h"

/* Zero-initialise it. */
struct mf_areas {
	struct mf_residency_area *list;
	size_t n, room;
};

/*
 * Adds a mapping whose name is @name, which is copied; @area->name and @area->areas are not used. Mappings of one band with
 * the same name become one area, unless the name is "". Returns 0 or -ENOMEM.
 */
int mf_areas_add(struct mf_areas *areas, const char *name, const struct mf_residency_area *area);

/*
 * Moves the areas to @detail, in the order of bands, the largest first. Of more than 256 (AREAS_MAX), the smallest are summed
 * up, those of each band by themselves.
 */
void mf_areas_finish(struct mf_areas *areas, struct mf_residency_detail *detail);

void mf_areas_deinit(struct mf_areas *areas);

#endif
