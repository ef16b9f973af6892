// SPDX-License-Identifier: GPL-2.0
// The ring of one session: allocation, mapping, and the one way to add records.
#include <linux/massif.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "compat/words.h"
#include "ring.h"

/*
 * bytes is the size of the data area, already checked. The pages are charged to the opener's memory
 * cgroup. Returns 0 or -ENOMEM.
 */
int massif_ring_init(struct massif_ring *ring, u64 bytes)
{
	unsigned long nr = MASSIF_MMAP_DATA + (bytes >> PAGE_SHIFT);
	unsigned long i;

	BUILD_BUG_ON(sizeof(struct massif_control) > PAGE_SIZE);

	memset(ring, 0, sizeof(*ring));
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

/* The consumer's mappings are gone: each held the file, and so the session. Leaves it as before init. */
void massif_ring_deinit(struct massif_ring *ring)
{
	unsigned long i;

	if (!ring->base)
		return;
	vunmap(ring->base);
	for (i = 0; i < ring->nr_pages; i++)
		__free_page(ring->pages[i]);
	kvfree(ring->pages);
	memset(ring, 0, sizeof(*ring));
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
