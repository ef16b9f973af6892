/* SPDX-License-Identifier: GPL-2.0 */
/* Which code touched the resident pages of a process first, as recorded by massif.ko beside the profile of its heap. */
#ifndef MASSIF_PROFILE_FIRST_TOUCHES_H
#define MASSIF_PROFILE_FIRST_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>

struct mf_profile;
struct mf_profile_snapshot;
struct mf_symbolizer;

struct mf_first_touches {
	/*
	 * The profile of the resident pages, as pages mode makes it (--pages=resident). Its time is in milliseconds. The
	 * samples of the resident set (struct mf_residency_touch) refer to its contexts.
	 */
	const struct mf_profile *profile;
	const struct mf_profile_snapshot *end; /* what was resident at the end, with a tree */
	bool with_kinds; /* the stacks begin with the kind of page, as in pages mode; those of a recording do not */
	struct mf_symbolizer *symbolizer;      /* was created with the profile's objects */
	uint64_t peak;	  /* the largest number of resident bytes */
	uint64_t peak_ms; /* when that was reached, since the first event of the heap's profile */
	uint64_t lost;	  /* records that were lost */
};

#endif
