// SPDX-License-Identifier: GPL-2.0
// The ring of one session: allocation, mapping, and the one way to add records.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "ring.h"

/*
 * Room that is left to others. So LOST, EXIT and END still fit when ordinary records have filled
 * the ring (a few hundred of them in the smallest), and the ordinary when stacks have.
 */
static u64 reserve(const struct massif_ring *ring, enum massif_ring_use use)
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

/*
 * bytes is the size of the data area, already checked. The pages are charged to the opener's memory
 * cgroup. Returns 0 or -ENOMEM.
 */
int massif_ring_init(struct massif_ring *ring, u64 bytes)
{
	unsigned long nr = MASSIF_MMAP_DATA + (bytes >> PAGE_SHIFT);
	unsigned long i;

	BUILD_BUG_ON(sizeof(struct massif_control) > PAGE_SIZE);

	raw_spin_lock_init(&ring->lock);
	ring->pages = kvcalloc(nr, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT);
	if (!ring->pages)
		return -ENOMEM;

	for (i = 0; i < nr; i++) {
		ring->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ring->pages[i])
			goto err_pages;
		cond_resched();
	}

	ring->base = vmap(ring->pages, nr, VM_MAP, PAGE_KERNEL);
	if (!ring->base)
		goto err_pages;

	ring->nr_pages = nr;
	ring->bytes = bytes;
	ring->control = ring->base + MASSIF_MMAP_CONTROL * PAGE_SIZE;
	ring->consumer = ring->base + MASSIF_MMAP_CONSUMER * PAGE_SIZE;
	ring->data = ring->base + MASSIF_MMAP_DATA * PAGE_SIZE;
	ring->control->abi = MASSIF_ABI;
	ring->control->page_bytes = PAGE_SIZE;
	ring->control->data_bytes = bytes;
	return 0;

err_pages:
	while (i--)
		__free_page(ring->pages[i]);
	kvfree(ring->pages);
	ring->pages = NULL;
	return -ENOMEM;
}

/* The consumer's mappings are gone: each held the file, and so the session. */
void massif_ring_deinit(struct massif_ring *ring)
{
	unsigned long i;

	if (!ring->base)
		return;
	vunmap(ring->base);
	for (i = 0; i < ring->nr_pages; i++)
		__free_page(ring->pages[i]);
	kvfree(ring->pages);
	ring->base = NULL;
}

/*
 * Only the consumer page may be writable, and only when it is mapped alone; VM_MAYWRITE goes from
 * all else, so that mprotect cannot bring it back. A fork of the consumer does not inherit the
 * ring.
 */
int massif_ring_mmap(struct massif_ring *ring, struct vm_area_struct *vma)
{
	bool consumer = vma->vm_pgoff == MASSIF_MMAP_CONSUMER && vma_pages(vma) == 1;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!consumer) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		massif_vma_flags_clear(vma, VM_MAYWRITE);
	}
	massif_vma_flags_clear(vma, VM_MAYEXEC);
	massif_vma_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages(vma, ring->pages, ring->nr_pages);
}

/* Bytes not read yet. The tail is the consumer's word: one that cannot be right means full. */
static u64 unread(struct massif_ring *ring)
{
	/* With the consumer's release: what it has read may be overwritten. */
	u64 tail = smp_load_acquire(&ring->consumer->tail);
	u64 head = READ_ONCE(ring->head);

	if (tail > head || head - tail > ring->bytes || (tail & 7))
		return ring->bytes;
	return head - tail;
}

/* Bytes that records of this use may still take, if they need not be wrapped around the end. */
u64 massif_ring_room(struct massif_ring *ring, enum massif_ring_use use)
{
	u64 used = unread(ring) + reserve(ring, use);

	return used >= ring->bytes ? 0 : ring->bytes - used;
}

/* Is there no room for an ordinary record, with the LOST that may have to precede it? */
bool massif_ring_full(struct massif_ring *ring)
{
	return massif_ring_room(ring, MASSIF_RING_ORDINARY) < 512;
}

/* Is there anything that poll should report? */
bool massif_ring_readable(struct massif_ring *ring)
{
	u64 used = unread(ring);
	u64 watermark = READ_ONCE(ring->consumer->watermark);

	if (!used)
		return false;
	/* An urgent record is unread if it lies in the last used bytes before head. */
	return used >= min(watermark, ring->bytes / 2) ||
	       READ_ONCE(ring->head) - READ_ONCE(ring->urgent) < used;
}

static void stamp(struct massif_ring *ring, void *records, size_t bytes)
{
	u64 now = ktime_get_ns();
	size_t at = 0;

	while (at < bytes) {
		struct massif_record *rec = records + at;

		rec->seq = ++ring->seq;
		rec->time_ns = now;
		ring->records++;
		at += rec->size;
	}
}

/*
 * Adds records (one or several, whole, bytes in all) in one piece, giving each its seq and time.
 * False if there is no room; nothing is written then. Copies up to a stack's 64 KiB under the lock:
 * some microseconds, for a ring in which nothing is ever half written.
 */
bool massif_ring_put(struct massif_ring *ring, void *records, size_t bytes,
		     enum massif_ring_use use)
{
	u64 at = ring->head & (ring->bytes - 1);
	u64 pad = bytes > ring->bytes - at ? ring->bytes - at : 0;

	lockdep_assert_held(&ring->lock);
	if (unread(ring) + pad + bytes + reserve(ring, use) > ring->bytes)
		return false;

	if (pad) {
		struct massif_record *rec = (void *)(ring->data + at);

		rec->type = MASSIF_REC_PAD;
		rec->size = pad;
		at = 0;
	}
	stamp(ring, records, bytes);
	memcpy(ring->data + at, records, bytes);
	WRITE_ONCE(ring->head, ring->head + pad + bytes);
	if (use == MASSIF_RING_URGENT)
		WRITE_ONCE(ring->urgent, ring->head);
	ring->control->records = ring->records;
	/* With the consumer's acquire: what is before head is complete. */
	smp_store_release(&ring->control->head, ring->head);
	return true;
}

/* count records were not put: leave a gap in seq. */
void massif_ring_lose(struct massif_ring *ring, u64 count)
{
	lockdep_assert_held(&ring->lock);
	ring->seq += count;
	ring->lost += count;
	WRITE_ONCE(ring->control->lost, ring->lost);
}
