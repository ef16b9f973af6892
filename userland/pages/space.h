/* SPDX-License-Identifier: GPL-2.0 */
/* The address space of one mm: disjoint intervals in the order of their addresses. */
#ifndef MASSIF_PAGES_SPACE_H
#define MASSIF_PAGES_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* What is mapped from start to end (exclusive; bytes, multiples of the page size). */
struct mf_interval {
	uint64_t start, end;
	uint64_t offset;  /* of start in the file, bytes; 0 without a file */
	uint32_t context; /* of the stack that mapped it */
	uint32_t file;	  /* the owner's number of the file; 0: none or not known yet */
};

/*
 * A treap: it splits and joins by address, which is what overwriting and cutting mappings needs.
 * The nodes are in one array; links are indexes; 0 is no node.
 */
struct mf_space_node {
	struct mf_interval interval;
	uint32_t left, right;
	uint32_t priority;
};

struct mf_space {
	struct mf_space_node *nodes;
	uint32_t root;
	uint32_t n_nodes;    /* of the array in use, free ones included */
	uint32_t max_nodes;  /* of the array */
	uint32_t free_nodes; /* list of free ones, linked by left */
	uint32_t random;     /* state of the priorities' generator */
	uint32_t count;	     /* intervals */
	uint64_t total;	     /* bytes */
};

/* Told of each part that leaves the space, in the order of addresses. May not touch the space. */
typedef void (*mf_space_visit)(const struct mf_interval *part, void *data);

void mf_space_init(struct mf_space *space);
void mf_space_deinit(struct mf_space *space);

/*
 * Maps @interval. What was there leaves the space first, as with MAP_FIXED, and @left (may be NULL)
 * is told. Neighbours of the same context that continue each other become one interval. Returns 0,
 * -EINVAL for an empty or unaligned interval, or -ENOMEM with nothing changed.
 */
int mf_space_add(struct mf_space *space, const struct mf_interval *interval, mf_space_visit left,
		 void *data);

/* Unmaps whatever lies between @start and @end. Returns as mf_space_add. */
int mf_space_remove(struct mf_space *space, uint64_t start, uint64_t end, mf_space_visit left,
		    void *data);

/* Says that what is mapped from @start to @end is @file from @offset on. Returns as mf_space_add.
 */
int mf_space_set_file(struct mf_space *space, uint64_t start, uint64_t end, uint32_t file,
		      uint64_t offset);

/*
 * The first interval that ends after @address, or NULL. Valid until the space changes. All of them:
 * for (i = mf_space_next(space, 0); i; i = mf_space_next(space, i->end))
 */
const struct mf_interval *mf_space_next(const struct mf_space *space, uint64_t address);

/* The interval that holds @address, or NULL. */
const struct mf_interval *mf_space_find(const struct mf_space *space, uint64_t address);

/*
 * The first hole in @start..@end: true and its bounds in *@hole_start, *@hole_end, or false when
 * all of it is mapped.
 */
bool mf_space_hole(const struct mf_space *space, uint64_t start, uint64_t end, uint64_t *hole_start,
		   uint64_t *hole_end);

#endif
