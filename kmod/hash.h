/* SPDX-License-Identifier: GPL-2.0 */
/* Hash tables of targets and members, keyed by a pointer and sized by the machine's memory. */
#ifndef MASSIF_HASH_H
#define MASSIF_HASH_H

#include <linux/types.h>

/*
 * Returns the number of bits of a hash for a machine with this many pages of memory.
 *
 * A user may have thousands of targets, and every process of the system looks into the tables: with a fixed number of
 * chains, the processes of all users become slower, the more targets there are. Each target and member is a running
 * process, and the memory limits how many there are: a process needs more than 100 KiB. So there is a chain, which takes 8
 * bytes, for every one to two MiB of memory. Even if all the memory is full of targets, an average chain has no more than
 * twenty entries; usually it has none or one. At most 2^22 processes exist (PID_MAX_LIMIT), for which 2^20 chains are
 * enough.
 */
static inline unsigned int massif_hash_bits(unsigned long pages)
{
	unsigned int bits = 8;

	while (bits < 20 && pages >> (bits + 1 + 8))
		bits++;
	return bits;
}

/*
 * Returns the chain of a pointer. The kernel allocates objects of one kind side by side, so that some bits of their
 * addresses have few values. All bits of the product depend on all lower bits of the address, and the hash is its highest
 * bits.
 */
static inline unsigned long massif_hash_of(const void *key, unsigned int bits)
{
	return (unsigned long)key * 0x9e3779b97f4a7c15ul >> (64 - bits);
}

#ifdef __KERNEL__
#include <linux/list.h>

struct massif_hash {
	struct hlist_head *chains;	/* constant while the module is loaded */
	unsigned int bits;
};

static inline struct hlist_head *massif_hash_chain(const struct massif_hash *hash, const void *key)
{
	return &hash->chains[massif_hash_of(key, hash->bits)];
}

int massif_hash_init(struct massif_hash *hash);
void massif_hash_exit(struct massif_hash *hash);
#endif

#endif
