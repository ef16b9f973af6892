// SPDX-License-Identifier: GPL-2.0
// Allocates the chains of a hash table.
#include <linux/mm.h>
#include <linux/slab.h>

#include "hash.h"

/**
 * massif_hash_init() - allocate the chains of a hash table. Called when the module is loaded.
 * @hash: zero.
 * Context: process context; may sleep.
 * Return: 0 or -ENOMEM.
 */
int massif_hash_init(struct massif_hash *hash)
{
	hash->bits = massif_hash_bits(totalram_pages());
	hash->chains = kvcalloc(1ul << hash->bits, sizeof(*hash->chains), GFP_KERNEL);
	return hash->chains ? 0 : -ENOMEM;
}

/**
 * massif_hash_exit() - free the chains. Called when the module is unloaded, or when loading it fails.
 * @hash: empty, and no longer read by any hook.
 * Context: process context; may sleep.
 */
void massif_hash_exit(struct massif_hash *hash)
{
	kvfree(hash->chains);
	hash->chains = NULL;
}
