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
 */
#ifndef MASSIF_MODEL_CONSULT_H
#define MASSIF_MODEL_CONSULT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/store.h"

enum mf_answer {
	MF_ANSWER_PENDING,
	MF_ANSWER_COUNTS,
	MF_ANSWER_IGNORED,
};

/*
 * In the program, by the store's one writer: asks about @context and waits for the answer. A context
 * counts when nobody answers any more; the consultant is then not asked again. Keeps errno not.
 */
bool mf_consult_ask(struct mf_store *store, uint32_t context);

/* In the aggregator: the next question, or 0 if none comes within @timeout_ms. */
uint32_t mf_consult_wait(struct mf_store *store, int timeout_ms);
void mf_consult_answer(struct mf_store *store, enum mf_answer answer);

#endif
