/* SPDX-License-Identifier: GPL-2.0 */
/* The ring of one session: pages shared with the consumer, into which hooks write records. */
#ifndef MASSIF_RING_H
#define MASSIF_RING_H

#include <linux/massif.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/* What a record is used for. This decides how much space it must leave free in the ring for more important records. */
enum massif_ring_use {
	MASSIF_RING_URGENT,	/* for LOST, EXIT and END records: small records that may use the whole ring */
	MASSIF_RING_ORDINARY,
	/* for stack copies: as the least important records, they must leave more of the ring free than other records */
	MASSIF_RING_STACK,
};

struct massif_ring {
	/*
	 * Protects the fields below, up to and including lost, and the counts of lost records in sessions and targets.
	 * Hooks take it under mmap_lock with interrupts off; no other lock is taken while it is held.
	 */
	raw_spinlock_t lock;
	u64 head;	/* position after the last record; the control page has a copy for the consumer */
	u64 urgent;	/* position after the last LOST, EXIT or END record (MASSIF_RING_URGENT) */
	u64 seq;
	u64 records;
	u64 lost;

	/*
	 * Size of the data area, changed under lock, and also read without it to find out how much room there is. 0 after
	 * massif_ring_close(): then the ring is treated as full, and nothing is written.
	 */
	u64 bytes;
	u8 *data;

	/* Addresses of the ring's shared pages: constant between massif_ring_init() and massif_ring_deinit(). */
	struct massif_control *control;
	struct massif_consumer *consumer;

	/* All pages of the ring: constant from massif_ring_init() to massif_ring_close(). */
	struct page **pages;
	unsigned long nr_pages;
};

/* The number of pages in a ring with a data area of the given size in bytes. */
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
 * The number of bytes that must stay free after a record of this importance (enum massif_ring_use) is written. So LOST,
 * EXIT and END records (a few hundred of them in the smallest ring) still fit after ordinary records have filled their
 * part of the ring, and ordinary records still fit after stacks have filled theirs.
 */
static inline u64 massif_ring_reserve(const struct massif_ring *ring, enum massif_ring_use use)
{
	switch (use) {
	case MASSIF_RING_URGENT:
		return 0;
	case MASSIF_RING_ORDINARY:
		return READ_ONCE(ring->bytes) / 16;
	case MASSIF_RING_STACK:
		break;
	}
	return READ_ONCE(ring->bytes) / 4;
}

/*
 * Number of bytes that the consumer has not read yet. The tail is written by the consumer and is therefore not trusted:
 * if its value is impossible, the ring is treated as full.
 */
static inline u64 massif_ring_unread(struct massif_ring *ring)
{
	/*
	 * This acquire pairs with the consumer's store-release of the tail. After it, the bytes before the tail may be
	 * overwritten.
	 */
	u64 tail = smp_load_acquire(&ring->consumer->tail);
	u64 head = READ_ONCE(ring->head);
	u64 bytes = READ_ONCE(ring->bytes);

	if (tail > head || head - tail > bytes || (tail & 7))
		return bytes;
	return head - tail;
}

/*
 * The number of bytes still available for records of this importance (enum massif_ring_use). Padding at the end of the
 * data area, which the next record may need, is not subtracted.
 */
static inline u64 massif_ring_room(struct massif_ring *ring, enum massif_ring_use use)
{
	u64 used = massif_ring_unread(ring) + massif_ring_reserve(ring, use);
	/* Read once, as the ring may be closed in the meantime: there is no room in a closed ring. */
	u64 bytes = READ_ONCE(ring->bytes);

	return used >= bytes ? 0 : bytes - used;
}

/* True if there is no room for a LOST record followed by an ordinary record. */
static inline bool massif_ring_full(struct massif_ring *ring)
{
	return massif_ring_room(ring, MASSIF_RING_ORDINARY) < 512;
}

/* True if poll() should return POLLIN. */
static inline bool massif_ring_readable(struct massif_ring *ring)
{
	u64 used = massif_ring_unread(ring);
	u64 watermark = READ_ONCE(ring->consumer->watermark);

	if (!used)
		return false;
	/*
	 * An unread urgent record (LOST, EXIT or END) makes the ring readable regardless of the watermark. The last
	 * urgent record is unread if it ends between tail and head.
	 */
	return used >= min(watermark, READ_ONCE(ring->bytes) / 2) ||
	       READ_ONCE(ring->head) - READ_ONCE(ring->urgent) < used;
}

#endif
