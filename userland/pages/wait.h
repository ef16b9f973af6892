/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stacks that events wait for. A capture may come long after the records that it explains, or not
 * at all; what its context is can only be told when the mappings are those that it saw.
 */
#ifndef MASSIF_PAGES_WAIT_H
#define MASSIF_PAGES_WAIT_H

#include <stdint.h>

#include <linux/massif.h>

struct mf_target;

enum mf_wait_state {
	MF_WAIT_OPEN,     /* the STACK has not come */
	MF_WAIT_HELD,     /* it has come and is kept until the first event's turn */
	MF_WAIT_RESOLVED, /* its context is known */
};

/* A capture that events of the queue refer to. */
struct mf_stack_wait {
	struct mf_stack_wait *next;
	uint32_t capture, tid;
	uint32_t n_events; /* that refer to it: who adds one counts it */
	enum mf_wait_state state;
	uint32_t context;
	struct massif_rec_stack *held; /* the whole record */
};

/* The wait for @capture, of thread @tid, made if new. NULL: no memory. */
struct mf_stack_wait *mf_wait_for(struct mf_target *target, uint32_t capture, uint32_t tid);

/* One event refers to it no more; the last one frees it. */
void mf_wait_release(struct mf_target *target, struct mf_stack_wait *wait);

/* The capture of the system call that thread @tid is in, as far as is known; 0: none. */
uint32_t mf_wait_open_capture(const struct mf_target *target, uint32_t tid);

/* Finds the context of @stack, captured with the mappings that are now. NULL: it never came. */
void mf_wait_resolve(struct mf_target *target, struct mf_stack_wait *wait,
		     const struct massif_rec_stack *stack);

/* Whatever has not come will not. */
void mf_wait_give_up(struct mf_target *target);

/*
 * The context of an event whose turn it is: of known stack @known, if it is not 0; of @wait, which
 * is not open any more; or without either, of what its record's @flags say.
 */
uint32_t mf_wait_context(struct mf_target *target, struct mf_stack_wait *wait, uint32_t known,
			 uint32_t flags);

#endif
