/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asks the aggregator whether a new context counts.
 *
 * With --ignore-fn and --alloc-fn, the function names of a stack decide whether its blocks count at all. The answer is
 * needed before the block is counted, and only the aggregator knows names. So the shim asks once for each context and
 * waits. Without these options it does not ask.
 *
 * The store's writer puts the number of the context into header->question and wakes the filter server. The server puts
 * the answer into header->answer and 0 into header->question, and wakes the writer.
 *
 * The filter server can be killed at any moment. Therefore header->consultant holds the number of its thread in the
 * form of a robust futex: when the thread dies, for whatever reason, the kernel sets FUTEX_OWNER_DIED there, and the
 * program stops waiting. The program reads this with a load, without a system call that a sandbox could forbid. 0 means
 * that there is no filter server yet, or none for a moment.
 */
#ifndef MASSIF_MODEL_FILTER_CLIENT_H
#define MASSIF_MODEL_FILTER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

enum mf_answer {
	MF_ANSWER_PENDING,
	MF_ANSWER_COUNTS,
	MF_ANSWER_IGNORED,
};

/* The registration of a filter server's thread, in memory that the program cannot change. */
struct mf_filter_client_seat {
	struct {
		void *next;
	} entry;
	struct {
		void *next;
		long offset;
		void *pending;
	} list; /* the layout of struct robust_list_head in linux/futex.h */
};

/*
 * Registers the calling thread as the filter server. @seat must stay until mf_filter_client_leave(), and the thread may
 * have no other robust futex. If the thread dies without leaving, the program notices.
 */
void mf_filter_client_sit(struct mf_store *store, struct mf_filter_client_seat *seat);
void mf_filter_client_leave(struct mf_store *store, struct mf_filter_client_seat *seat);

/*
 * In the program, by the store's only writer: asks about @context and waits for the answer. Returns whether it counts.
 * If there is no answer, all contexts count from then on and the server is not asked again.
 */
bool mf_filter_client_ask(struct mf_store *store, uint32_t context);

/* In the filter server: returns the next context asked about, or 0 if there is none within @timeout_ms. */
uint32_t mf_filter_client_wait(struct mf_store *store, int timeout_ms);

/* In the filter server: answers the present question and wakes the program. */
void mf_filter_client_answer(struct mf_store *store, enum mf_answer answer);

#endif
