/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A question from the program to the aggregator: does a new context count?
 *
 * With --ignore-fn and --alloc-fn the names of a stack's functions decide whether its blocks count
 * at all, so the answer is needed before the block is accounted; and names are the aggregator's
 * business. So the shim asks, once for each context, and waits. Without these options nobody asks.
 *
 * The writer of the store puts the context's number into header->question and wakes; the consultant
 * puts the answer into header->answer, 0 into header->question, and wakes.
 *
 * The consultant can be killed at any moment. So header->consultant has the number of its thread, in the
 * form of a robust futex: when the thread dies, however that comes about, the kernel sets
 * FUTEX_OWNER_DIED there, and the program waits no longer. It sees this by a load, without a system call that
 * a sandbox could forbid. 0 says that there is no consultant yet, or for a moment.
 */
#ifndef MASSIF_MODEL_CONSULT_H
#define MASSIF_MODEL_CONSULT_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

enum mf_answer {
	MF_ANSWER_PENDING,
	MF_ANSWER_COUNTS,
	MF_ANSWER_IGNORED,
};

/* The seat of a consultant's thread, in memory that the program cannot change. */
struct mf_filter_client_seat {
	struct {
		void *next;
	} entry;
	struct {
		void *next;
		long offset;
		void *pending;
	} list; /* as struct robust_list_head of linux/futex.h */
};

/*
 * In the thread that answers from now on: takes the seat, which must stay until it is left, and has no other
 * robust futex. If the thread ends without leaving, the program knows.
 */
void mf_filter_client_sit(struct mf_store *store, struct mf_filter_client_seat *seat);
void mf_filter_client_leave(struct mf_store *store, struct mf_filter_client_seat *seat);

/*
 * In the program, by the store's one writer: asks about @context and waits for the answer. A context
 * counts when nobody answers any more; the consultant is then not asked again.
 */
bool mf_filter_client_ask(struct mf_store *store, uint32_t context);

/* In the aggregator: the next question, or 0 if none comes within @timeout_ms. */
uint32_t mf_filter_client_wait(struct mf_store *store, int timeout_ms);
void mf_filter_client_answer(struct mf_store *store, enum mf_answer answer);

#endif
