/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What each thread has allocated since its start: blocks, bytes, temporary blocks. Nothing is counted for this alone. A
 * thread's allocations are in its tally's size classes, and its temporary blocks in the tally; what was added to them while
 * the thread had the tally for itself is the thread's. If there are more threads than tallies (MF_SHARDS_MAX), threads
 * share tallies, and what these count is that of number 0, which stands for all of them.
 *
 * Context for all functions but mf_thread_totals_read(): no other thread is handling an event.
 */
#ifndef MASSIF_MODEL_THREAD_TOTALS_H
#define MASSIF_MODEL_THREAD_TOTALS_H

#include <stdint.h>

#include "model/store.h"
#include "profile/thread.h"

/* Call this before mf_tally_begin(), for the thread @number of the table. */
void mf_thread_totals_begin(struct mf_store *store, uint32_t tally, uint32_t number);

/* Call this after mf_tally_end(). */
void mf_thread_totals_end(struct mf_store *store, uint32_t tally);

/*
 * Writes the sums of threads 0 to @n, which are at most those of the table, to @sums. Safe against damaged memory, and
 * while the program runs, though the sums may then lack what threads are just counting.
 */
void mf_thread_totals_read(const struct mf_store *store, uint32_t n, struct mf_thread_sums *sums);

#endif
