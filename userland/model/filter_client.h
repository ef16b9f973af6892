/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asks the aggregator whether a new context is to be counted.
 *
 * With --ignore-fn and --alloc-fn, the function names in a stack decide whether its blocks are counted at all. The
 * answer is needed before the block is counted, and only the aggregator knows the names. So the shim asks once for each
 * context, and waits. Without these options, it does not ask.
 *
 * The store's writer stores the context's number in header->question and wakes the filter server. The server stores the
 * answer in header->answer and 0 in header->question, and wakes the writer.
 *
 * The filter server can be killed at any moment. Therefore header->filter_server is a robust futex that contains the
 * server's thread ID: when the thread dies, for whatever reason, the kernel sets FUTEX_OWNER_DIED there, and the
 * program stops waiting. The program checks this with a plain load, because a sandbox might forbid system calls. 0
 * means that no filter server has started yet or that it is just being replaced.
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

/*
 * The robust futex list of the filter server's thread, by which the program notices that the thread has died. It is in
 * memory that the program cannot change.
 */
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
 * Registers the calling thread as the filter server. @seat must exist until mf_filter_client_leave() is called, and the
 * thread must not use any other robust futex. If the thread dies without calling mf_filter_client_leave(), the program
 * detects this.
 */
void mf_filter_client_sit(struct mf_store *store, struct mf_filter_client_seat *seat);
void mf_filter_client_leave(struct mf_store *store, struct mf_filter_client_seat *seat);

/*
 * Called in the program, by the store's only writer: asks the filter server about @context, and waits for the answer.
 * Returns whether the context is to be counted. If there is no answer, this context and all later ones are counted, and
 * the filter server is not asked again.
 */
bool mf_filter_client_ask(struct mf_store *store, uint32_t context);

/*
 * Called in the filter server: returns the next context that the program asks about, or 0 if there is none within
 * @timeout_ms.
 */
uint32_t mf_filter_client_wait(struct mf_store *store, int timeout_ms);

/* Called in the filter server: answers the program's query about a context and wakes the program. */
void mf_filter_client_answer(struct mf_store *store, enum mf_answer answer);

#endif
