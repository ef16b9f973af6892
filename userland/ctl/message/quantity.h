/* SPDX-License-Identifier: GPL-2.0 */
/* Formats sizes and times for people: four digits and a unit, as on the axes of ms_print's graph. */
#ifndef MASSIF_CTL_QUANTITY_H
#define MASSIF_CTL_QUANTITY_H

#include <stdint.h>

#include "profile/profile.h"

struct mf_quantity {
	char text[48];
};

/* Formats a size, for example as "300.6 MB"; a KB is 1024 bytes and a MB is 1024 KB. */
struct mf_quantity mf_quantity_bytes(uint64_t bytes);

/*
 * Formats a time in a profile, for example as "6.123 s", "61.38 Mi instructions" (Mi is 1024 * 1024) or "37.16 MB
 * allocated and freed".
 */
struct mf_quantity mf_quantity_time(int64_t time, enum mf_time_unit unit);

/* Returns @part in per cent of @whole; 0 if @whole is 0. */
static inline double mf_quantity_share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

#endif
