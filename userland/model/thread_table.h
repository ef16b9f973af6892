/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of threads, if the profile tells threads apart. If their stacks are kept apart (--separate-threads), each
 * thread in the table has a node of the trie, a child of the root, below which its stacks are inserted. These nodes stand
 * for no frame: mf_trie_frames() leaves them out. So the same stack of two threads is two contexts with the same frames.
 * Otherwise the table has the sums of what each thread has allocated (thread_totals.h).
 */
#ifndef MASSIF_MODEL_THREAD_TABLE_H
#define MASSIF_MODEL_THREAD_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/store.h"
#include "model/trie.h"
#include "profile/thread.h"

/*
 * Threads are numbered from 1 in the order of their first events. If there are more than MF_THREAD_TABLE_MAX, the last
 * number stands for all others.
 */
#define MF_THREAD_TABLE_MAX 16384u

#define MF_THREAD_TABLE_OTHERS "(other threads)" /* the name of a number that stands for several threads */

struct mf_thread_record {
	int32_t tid; /* thread ID; 0 if the record stands for several threads, or if the ID is unknown */
	uint32_t is_shared; /* the record stands for several threads */
	char name[MF_THREAD_NAME_SIZE]; /* as in pthread_setname_np(3), the last one seen; "" if unknown */
	struct mf_thread_sums sums; /* what the thread has allocated, if threads are counted; see thread_totals.h */
};

static inline struct mf_thread_record *mf_thread_table_record(const struct mf_store *store, uint32_t number)
{
	return (struct mf_thread_record *)store->regions[MF_REGION_THREAD_TABLE] + number;
}

/* Adds the object to which the threads' nodes belong. Call this before threads are added, and only once. */
void mf_thread_table_init(struct mf_store *store);

/* Adds a thread that needs no node. Returns its number. Context: no other thread changes the table. */
uint32_t mf_thread_table_enter(struct mf_store *store, int32_t tid, const char *name);

/*
 * Adds a thread. Returns its node, or MF_NODE_ROOT if the trie is full. @name has MF_THREAD_NAME_SIZE bytes. Context: as
 * for mf_trie_child().
 */
uint32_t mf_thread_table_add(struct mf_store *store, int32_t tid, const char *name);

/* Returns the node of the newest thread with this ID, or MF_NODE_ROOT if there is none. @tid may be 0: there is none. */
uint32_t mf_thread_table_find(const struct mf_store *store, int32_t tid);

/* Changes the name of the thread whose node is @node. Does nothing if @node stands for no thread or for several. */
void mf_thread_table_rename(struct mf_store *store, uint32_t node, const char *name);

/* Changes the name of thread @number. Does nothing if there is no such thread, or if the number stands for several. */
void mf_thread_table_set_name(struct mf_store *store, uint32_t number, const char *name);

/* Returns whether @node is a thread's node. */
static inline bool mf_thread_table_is_node(const struct mf_store *store, const struct mf_node *node)
{
	uint32_t object = store->header->thread_object;

	return object && node->object == object && node->parent == MF_NODE_ROOT;
}

/* Returns the number of the thread to which @context belongs, or 0 if it belongs to none. Safe against damaged memory. */
uint32_t mf_thread_table_of(const struct mf_store *store, uint32_t context);

#endif
