/* SPDX-License-Identifier: GPL-2.0 */
/* The ring of one session: pages shared with the consumer, written by hooks. */
#ifndef MASSIF_RING_H
#define MASSIF_RING_H

#include <linux/massif.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* What a record is for decides how much of the ring it leaves to more important ones. */
enum massif_ring_use {
	MASSIF_RING_URGENT,	/* LOST, EXIT, END: they are small */
	MASSIF_RING_ORDINARY,
	MASSIF_RING_STACK,	/* bytes of stacks: others matter more */
};

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

	/* 0 after close, under the lock: then it is full, and nothing is written any more. */
	u64 bytes;
	u8 *data;

	/* Constant from init to deinit. */
	struct massif_control *control;
	struct massif_consumer *consumer;

	/* Constant from init to close. */
	struct page **pages;
	unsigned long nr_pages;
};

/* How many pages are a ring's whose data area has so many bytes? */
static inline unsigned long massif_ring_pages(u64 bytes)
{
	return MASSIF_MMAP_DATA + (bytes >> PAGE_SHIFT);
}

int massif_ring_init(struct massif_ring *ring, u64 bytes);
void massif_ring_close(struct massif_ring *ring);
void massif_ring_deinit(struct massif_ring *ring);
int massif_ring_mmap(struct massif_ring *ring, struct vm_area_struct *vma);

bool massif_ring_put(struct massif_ring *ring, void *records, size_t bytes,
		     enum massif_ring_use use);
void massif_ring_lose(struct massif_ring *ring, u64 count);

/*
 * Room that is left to others. So LOST, EXIT and END still fit when ordinary records have filled
 * the ring (a few hundred of them in the smallest), and the ordinary when stacks have.
 */
static inline u64 massif_ring_reserve(const struct massif_ring *ring, enum massif_ring_use use)
{
	switch (use) {
	case MASSIF_RING_URGENT:
		return 0;
	case MASSIF_RING_ORDINARY:
		return ring->bytes / 16;
	case MASSIF_RING_STACK:
		break;
	}
	return ring->bytes / 4;
}

/* Bytes not read yet. The tail is the consumer's word: one that cannot be right means full. */
static inline u64 massif_ring_unread(struct massif_ring *ring)
{
	/* With the consumer's release: what it has read may be overwritten. */
	u64 tail = smp_load_acquire(&ring->consumer->tail);
	u64 head = READ_ONCE(ring->head);

	if (tail > head || head - tail > ring->bytes || (tail & 7))
		return ring->bytes;
	return head - tail;
}

/* Bytes that records of this use may still take, if they need not be wrapped around the end. */
static inline u64 massif_ring_room(struct massif_ring *ring, enum massif_ring_use use)
{
	u64 used = massif_ring_unread(ring) + massif_ring_reserve(ring, use);

	return used >= ring->bytes ? 0 : ring->bytes - used;
}

/* Is there no room for an ordinary record, with the LOST that may have to precede it? */
static inline bool massif_ring_full(struct massif_ring *ring)
{
	return massif_ring_room(ring, MASSIF_RING_ORDINARY) < 512;
}

/* Is there anything that poll should report? */
static inline bool massif_ring_readable(struct massif_ring *ring)
{
	u64 used = massif_ring_unread(ring);
	u64 watermark = READ_ONCE(ring->consumer->watermark);

	if (!used)
		return false;
	/* An urgent record is unread if it lies in the last used bytes before head. */
	return used >= min(watermark, ring->bytes / 2) ||
	       READ_ONCE(ring->head) - READ_ONCE(ring->urgent) < used;
}

#endif
