/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stacks that queued events are waiting for. The copy of a stack may arrive long after the records of these events,
 * or not at all. It can be unwound only as long as the mappings are the same as when it was copied.
 */
#ifndef MASSIF_PAGES_WAIT_H
#define MASSIF_PAGES_WAIT_H

#include <stdint.h>

#include <linux/massif.h>

struct mf_target;

enum mf_wait_state {
	MF_WAIT_OPEN,     /* the STACK record with the stack copy has not arrived */
	/* the STACK record is kept until the first event that refers to it is accounted for; there is none if it never comes */
	MF_WAIT_HELD,
	MF_WAIT_RESOLVED, /* the context of the stack has been determined */
};

/* A stack copy to which queued events refer. */
struct mf_stack_wait {
	struct mf_stack_wait *next;
	uint32_t capture, tid;
	/* number of queued events that refer to this stack copy; incremented by the code that queues an event */
	uint32_t n_events;
	enum mf_wait_state state;
	uint32_t context;
	struct massif_rec_stack *held; /* the whole STACK record, or NULL */
};

/*
 * Returns the entry for stack copy @capture of thread @tid, creating it if necessary. The caller increments n_events.
 * Returns NULL if out of memory.
 */
struct mf_stack_wait *mf_wait_for(struct mf_target *target, uint32_t capture, uint32_t tid);

/* Drops one event's reference; dropping the last one frees the entry. */
void mf_wait_release(struct mf_target *target, struct mf_stack_wait *wait);

/*
 * Returns the number of the outstanding stack copy of thread @tid, which belongs to its current system call; 0 if there
 * is none.
 */
uint32_t mf_wait_open_capture(const struct mf_target *target, uint32_t tid);

/*
 * Unwinds @stack and sets the context of @wait. The mappings must be the same as when the stack was copied. @stack is
 * NULL if the stack never arrived.
 */
void mf_wait_resolve(struct mf_target *target, struct mf_stack_wait *wait,
		     const struct massif_rec_stack *stack);

/* Stops waiting for any stacks that have not arrived yet. */
void mf_wait_give_up(struct mf_target *target);

/*
 * Returns the context of an event that is being accounted for. If @known is not 0, this is the context of the cached
 * stack @known. Otherwise, if @wait is not NULL, it is the context of the stack that @wait waited for, which must have
 * arrived or been given up (mf_wait_give_up()). Without either, it is a placeholder chosen by the record's @flags.
 */
uint32_t mf_wait_context(struct mf_target *target, struct mf_stack_wait *wait, uint32_t known,
			 uint32_t flags);

#endif
