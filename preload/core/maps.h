/* SPDX-License-Identifier: GPL-2.0 */
/* Reads this process's mappings from /proc/self/maps. */
#ifndef MASSIF_PRELOAD_MAPS_H
#define MASSIF_PRELOAD_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_map {
	uint64_t start, end;
	int protection; /* what the mapping allows: PROT_READ, PROT_WRITE, PROT_EXEC */
};

/* An open list of mappings. Reading it allocates nothing. */
struct mf_maps {
	int fd;
	size_t n, at;
	char buffer[2048];
};

/* Returns 0 or -errno. Call mf_maps_close() only after success. Preserves errno. */
int mf_maps_open(struct mf_maps *maps);
void mf_maps_close(struct mf_maps *maps);

/* Reads the next mapping, in order of ascending address. Returns false if there are no more. */
bool mf_maps_next(struct mf_maps *maps, struct mf_map *map);

#endif
