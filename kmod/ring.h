/* SPDX-License-Identifier: GPL-2.0 */
/* The ring of one session: pages shared with the consumer, written by hooks. */
#ifndef MASSIF_RING_H
#define MASSIF_RING_H

#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* What a record is for decides how much of the ring it leaves to more important ones. */
enum massif_ring_use {
	MASSIF_RING_URGENT,	/* LOST, EXIT, END: they are small */
	MASSIF_RING_ORDINARY,
	MASSIF_RING_STACK,	/* bytes of stacks: others matter more */
};

struct massif_control;
struct massif_consumer;

struct massif_ring {
	/*
	 * Protects all that is below it up to lost, and what session.c counts as lost. Hooks take
	 * it under mmap_lock with interrupts off; no other lock is taken inside.
	 */
	raw_spinlock_t lock;
	u64 head;	/* the true one; the control page only has a copy for the consumer */
	u64 urgent;	/* position after the last urgent record */
	u64 seq;
	u64 records;
	u64 lost;

	/* Constant from init to deinit. */
	u64 bytes;
	void *base;
	struct massif_control *control;
	struct massif_consumer *consumer;
	u8 *data;
	struct page **pages;
	unsigned long nr_pages;
};

int massif_ring_init(struct massif_ring *ring, u64 bytes);
void massif_ring_deinit(struct massif_ring *ring);
int massif_ring_mmap(struct massif_ring *ring, struct vm_area_struct *vma);

bool massif_ring_put(struct massif_ring *ring, void *records, size_t bytes,
		     enum massif_ring_use use);
void massif_ring_lose(struct massif_ring *ring, u64 count);
u64 massif_ring_room(struct massif_ring *ring, enum massif_ring_use use);
bool massif_ring_full(struct massif_ring *ring);
bool massif_ring_readable(struct massif_ring *ring);

#endif
