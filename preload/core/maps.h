/* SPDX-License-Identifier: GPL-2.0 */
/* What is mapped in this process, as /proc/self/maps tells it. */
#ifndef MASSIF_PRELOAD_MAPS_H
#define MASSIF_PRELOAD_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mf_map {
	uint64_t start, end;
	int protection; /* PROT_READ, PROT_WRITE, PROT_EXEC */
};

/* A reading of it. Allocates nothing. */
struct mf_maps {
	int fd;
	size_t n, at;
	char buffer[2048];
};

/* Returns 0 or -errno; only then it is to be closed. */
int mf_maps_open(struct mf_maps *maps);
void mf_maps_close(struct mf_maps *maps);

/* The next mapping, by address; false: there is none. */
bool mf_maps_next(struct mf_maps *maps, struct mf_map *map);

#endif
