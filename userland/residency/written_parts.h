/* SPDX-License-Identifier: GPL-2.0 */
/* Which parts of a file have been written to. */
#ifndef MASSIF_RESIDENCY_WRITTEN_PARTS_H
#define MASSIF_RESIDENCY_WRITTEN_PARTS_H

#include <stddef.h>
#include <sys/types.h>

struct mf_written_part {
	off_t start, end;
};

/* Zero-initialise it. */
struct mf_written_parts {
	struct mf_written_part *list; /* in ascending order; at least one byte is between two parts */
	size_t n, room;
};

/*
 * Finds out which parts of the file @fd between @start and @end are not holes. Call this again to find parts that have been
 * written to since then: the parts that are known are not looked at again, so that a part which has become a hole remains.
 * Returns 0 or -errno.
 */
int mf_written_parts_look(struct mf_written_parts *parts, int fd, off_t start, off_t end);

void mf_written_parts_deinit(struct mf_written_parts *parts);

#endif
