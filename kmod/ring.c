// SPDX-License-Identifier: GPL-2.0
// The ring of one session: allocation, mapping, and the only function that adds records.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "compat/words.h"
#include "ring.h"

static bool alloc_pages_of(struct massif_ring *ring, unsigned long nr)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;

	ring->control = (void *)__get_free_page(gfp);
	ring->consumer = (void *)__get_free_page(gfp);
	ring->pages = kvcalloc(nr, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT);
	if (!ring->control || !ring->consumer || !ring->pages)
		return false;
	ring->pages[MASSIF_MMAP_CONTROL] = virt_to_page(ring->control);
	ring->pages[MASSIF_MMAP_CONSUMER] = virt_to_page(ring->consumer);
	for (ring->nr_pages = MASSIF_MMAP_DATA; ring->nr_pages < nr; ring->nr_pages++) {
		struct page *page = alloc_page(gfp);

		if (!page)
			return false;
		ring->pages[ring->nr_pages] = page;
		cond_resched();
	}
	return true;
}

/**
 * massif_ring_init() - allocate the pages of a ring.
 * @bytes: size of the data area, checked by the caller.
 *
 * The pages are charged to the memory cgroup of the caller.
 *
 * Context: process context; may sleep.
 * Return: 0, or -ENOMEM, in which case the ring is all zero.
 */
int massif_ring_init(struct massif_ring *ring, u64 bytes)
{
	unsigned long nr = massif_ring_pages(bytes);

	BUILD_BUG_ON(sizeof(struct massif_control) > PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct massif_consumer) > PAGE_SIZE);

	memset(ring, 0, sizeof(*ring));
	raw_spin_lock_init(&ring->lock);
	if (alloc_pages_of(ring, nr))
		ring->data = vmap(ring->pages + MASSIF_MMAP_DATA, nr - MASSIF_MMAP_DATA, VM_MAP,
				  PAGE_KERNEL);
	if (!ring->data) {
		massif_ring_close(ring);
		massif_ring_deinit(ring);
		return -ENOMEM;
	}
	ring->bytes = bytes;
	ring->control->abi = MASSIF_ABI;
	ring->control->page_bytes = PAGE_SIZE;
	ring->control->data_bytes = bytes;
	return 0;
}

/**
 * massif_ring_close() - free the data pages and make the ring appear full.
 *
 * No mapping of the ring remains: each mapping holds a reference to the file, and this function is called when the last
 * such reference is dropped. The control and consumer pages are kept: a thread that still holds a reference to the
 * session may be about to write a record. It will read the tail, find that there is no room, and count the loss in the
 * control page.
 *
 * Context: process context; may sleep.
 */
void massif_ring_close(struct massif_ring *ring)
{
	unsigned long irq;
	u8 *data;

	if (!ring->pages)
		return;
	raw_spin_lock_irqsave(&ring->lock, irq);
	data = ring->data;
	ring->data = NULL;
	/* Task work of a thread that the session followed may read it without the lock. */
	WRITE_ONCE(ring->bytes, 0);
	raw_spin_unlock_irqrestore(&ring->lock, irq);

	vunmap(data);
	while (ring->nr_pages > MASSIF_MMAP_DATA) {
		__free_page(ring->pages[--ring->nr_pages]);
		cond_resched();
	}
	kvfree(ring->pages);
	ring->pages = NULL;
}

/**
 * massif_ring_deinit() - free the rest of a closed ring when the last reference to the session is dropped.
 * Context: process context.
 */
void massif_ring_deinit(struct massif_ring *ring)
{
	free_page((unsigned long)ring->control);
	free_page((unsigned long)ring->consumer);
	memset(ring, 0, sizeof(*ring));
}

/**
 * massif_ring_mmap() - map a part of the ring into the consumer's address space.
 *
 * Only the consumer page can be mapped writable, and only in a separate mapping. All other mappings lose VM_MAYWRITE,
 * so that mprotect() cannot make them writable. Forked children of the consumer do not inherit the mappings.
 *
 * Context: mmap_lock is held for writing.
 * Return: 0; -EINVAL for a private mapping; -EPERM for an executable mapping, or a writable mapping of anything but the
 *	consumer page; -ENXIO for a range outside the ring.
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
	return massif_vma_map(vma, ring->pages, ring->nr_pages);
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

/**
 * massif_ring_put() - append whole records contiguously, and set the seq and time of each.
 * @records: one or more whole records.
 * @bytes: total size of the records.
 * @use: determines how much of the ring must stay free.
 *
 * Copies the records with the lock held; for a stack of 64 KiB, this takes a few microseconds. The benefit is that the
 * ring never contains a partial record.
 *
 * Context: ring->lock is held.
 * Return: false if there is no room, in which case nothing is written.
 */
bool massif_ring_put(struct massif_ring *ring, void *records, size_t bytes,
		     enum massif_ring_use use)
{
	u64 at = ring->head & (ring->bytes - 1);
	u64 pad = bytes > ring->bytes - at ? ring->bytes - at : 0;

	lockdep_assert_held(&ring->lock);
	if (massif_ring_unread(ring) + pad + bytes + massif_ring_reserve(ring, use) > ring->bytes)
		return false;

	if (pad) {
		struct massif_record *rec = (void *)(ring->data + at);

		rec->type = MASSIF_REC_PAD;
		rec->size = pad;
		at = 0;
	}
	stamp(ring, records, bytes);
	massif_copy_words(ring->data + at, records, bytes);
	WRITE_ONCE(ring->head, ring->head + pad + bytes);
	if (use == MASSIF_RING_URGENT)
		WRITE_ONCE(ring->urgent, ring->head);
	WRITE_ONCE(ring->control->records, ring->records);
	/* Pairs with the consumer's load-acquire: all bytes before head are complete. */
	smp_store_release(&ring->control->head, ring->head);
	return true;
}

/**
 * massif_ring_lose() - skip @count sequence numbers for records that could not be written.
 * Context: ring->lock is held.
 */
void massif_ring_lose(struct massif_ring *ring, u64 count)
{
	lockdep_assert_held(&ring->lock);
	ring->seq += count;
	ring->lost += count;
	WRITE_ONCE(ring->control->lost, ring->lost);
}
