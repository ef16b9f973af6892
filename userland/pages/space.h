/* SPDX-License-Identifier: GPL-2.0 */
/* The mappings of one address space (an mm_struct in the kernel), as disjoint intervals in address order. */
#ifndef MASSIF_PAGES_SPACE_H
#define MASSIF_PAGES_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* A mapping from start to end (exclusive; in bytes, multiples of the page size). */
struct mf_interval {
	uint64_t start, end;
	uint64_t offset;  /* file offset of start, in bytes; 0 if there is no file */
	uint32_t context; /* number of the context: the call stack that created the mapping */
	uint32_t file; /* number of the mapped file, set by the code that uses the space; 0 if none or not known yet */
};

/*
 * A treap. Mappings are replaced and removed by splitting the treap at their addresses and joining the parts again. All
 * nodes are in one array; links are indexes, and 0 stands for no node.
 */
struct mf_space_node {
	struct mf_interval interval;
	uint32_t left, right;
	uint32_t priority;
};

struct mf_space {
	struct mf_space_node *nodes;
	uint32_t root;
	uint32_t n_nodes;    /* number of elements of @nodes in use, including free nodes */
	uint32_t max_nodes;  /* allocated size of @nodes, in elements */
	uint32_t free_nodes; /* list of free nodes, linked through @left */
	uint32_t random;     /* state of the random number generator for the priorities of the treap's nodes */
	uint32_t count;	     /* number of intervals */
	uint64_t total;	     /* total size of the intervals in bytes */
};

/*
 * Called for each interval, or part of one, that is removed from the space, in address order. The function must not
 * change the space.
 */
typedef void (*mf_space_visit)(const struct mf_interval *part, void *data);

void mf_space_init(struct mf_space *space);
void mf_space_deinit(struct mf_space *space);

/*
 * Maps @interval. As with MAP_FIXED, everything mapped there is removed first; @left (may be NULL) is called for each
 * removed part. Adjacent intervals with the same context are merged if one continues the other in the file. Returns 0,
 * -EINVAL for an empty or unaligned interval, or -ENOMEM with nothing changed.
 */
int mf_space_add(struct mf_space *space, const struct mf_interval *interval, mf_space_visit left,
		 void *data);

/*
 * Removes everything between @start and @end from the space. Calls @left, which may be NULL, for each interval or part
 * of one that is removed. Returns the same values as mf_space_add().
 */
int mf_space_remove(struct mf_space *space, uint64_t start, uint64_t end, mf_space_visit left,
		    void *data);

/*
 * Records that the mappings from @start to @end map @file, with file offset @offset (in bytes) at @start. Returns the
 * same values as mf_space_add().
 */
int mf_space_set_file(struct mf_space *space, uint64_t start, uint64_t end, uint32_t file,
		      uint64_t offset);

/*
 * Returns the first interval that ends after @address, or NULL. Valid until the space changes. To visit all of them:
 * for (i = mf_space_next(space, 0); i; i = mf_space_next(space, i->end))
 */
const struct mf_interval *mf_space_next(const struct mf_space *space, uint64_t address);

/* Returns the interval that contains @address, or NULL. */
const struct mf_interval *mf_space_find(const struct mf_space *space, uint64_t address);

/*
 * Finds the first hole in @start..@end. Returns true with its bounds in *@hole_start and *@hole_end, or false if the
 * whole range is mapped.
 */
bool mf_space_hole(const struct mf_space *space, uint64_t start, uint64_t end, uint64_t *hole_start,
		   uint64_t *hole_end);

#endif
