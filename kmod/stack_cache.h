/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stack cache: recognises stacks that the consumer has unwound before, so that they are not copied again.
 */
#ifndef MASSIF_STACK_CACHE_H
#define MASSIF_STACK_CACHE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct massif_stack_cache;
struct massif_status;
struct massif_target;

/* The stack cache of a session. */
struct massif_stack_cache_table {
	/* Size and hash table: constant once the session is ready. */
	u32 max;			/* bytes that entries may use; 0: no cache */
	unsigned int bits;
	struct hlist_head *buckets;	/* hash chains of the entries; changed under lock, read in hooks under RCU */

	/* Serialises changes, which only the consumer makes, and protects the fields below. */
	struct mutex lock;
	struct list_head entries;	/* all entries, oldest first */
	u32 used;			/* bytes that entries use */
	u32 count;
	u64 forgotten;

	atomic64_t hits;
};

int massif_stack_cache_init(struct massif_stack_cache_table *table, u32 max);
void massif_stack_cache_deinit(struct massif_stack_cache_table *table);

int massif_stack_cache_tell(struct massif_stack_cache_table *table, struct massif_stack_cache *known);
void massif_stack_cache_status(struct massif_stack_cache_table *table, struct massif_status *status);

u32 massif_stack_cache_find(struct massif_target *target);
void massif_stack_cache_drop(struct massif_target *target);

#endif
