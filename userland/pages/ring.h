/* SPDX-License-Identifier: GPL-2.0 */
/* A session of massif.ko and its ring of records; linux/massif.h describes the protocol. */
#ifndef MASSIF_PAGES_RING_H
#define MASSIF_PAGES_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/massif.h>

#include "base/error.h"

struct mf_ring {
	int fd; /* descriptor of the device, or -1 if the ring is ordinary memory */
	const struct massif_control *control;
	struct massif_consumer *consumer;
	const uint8_t *data;
	uint64_t data_bytes; /* size of the ring in bytes, a power of two */
	uint64_t page_bytes;
	uint64_t tail;	    /* position of the next record to read */
	uint64_t published; /* the position up to which records were read, as last reported to the module */
	uint64_t next_seq;  /* sequence number that the next record should have; 0 for any */
	uint64_t most_unread; /* largest number of unread bytes seen since the session was opened */

	/* Stacks that massif-ctl has unwound and will add to the module's stack cache. */
	/* buffer for unwound stacks waiting to be sent to the module; NULL if the stack cache is off */
	uint8_t *queued;
	uint32_t queued_bytes;
};

/* Parameters of a session. */
struct mf_ring_setup {
	uint64_t flags;	      /* flags of the session: MASSIF_SETUP_* */
	uint64_t ring_bytes;  /* size of the ring in bytes, a power of two */
	uint32_t stack_bytes; /* maximum size of a stack copy in bytes */
	uint32_t known_bytes; /* maximum size of the module's stack cache; 0 for no cache */
};

/*
 * Opens @device, checks the protocol version and sets up a session. Returns 0, or -errno with a message in @err that
 * says what is missing and what to do.
 */
int mf_ring_open(struct mf_ring *ring, const char *device, const struct mf_ring_setup *setup,
		 struct mf_error *err);

/*
 * Reads records from memory that is laid out as a ring. mf_ring_close() frees none of it. Returns 0, or -EINVAL if
 * @control is not a control page.
 */
int mf_ring_attach(struct mf_ring *ring, const struct massif_control *control,
		   struct massif_consumer *consumer, const uint8_t *data, struct mf_error *err);

/*
 * Maps the ring again in a forked child, which from then on reads it in place of its parent. The child has not
 * inherited the parent's mappings of the ring, because the module does not allow that. Returns 0 or -errno.
 */
int mf_ring_forked(struct mf_ring *ring, struct mf_error *err);

/* Unmaps and closes the ring, which ends the session. */
void mf_ring_close(struct mf_ring *ring);

/*
 * Sets *@record to the next record, or to NULL if the ring is empty. The record's sizes, strings and arrays have been
 * checked; it is valid until mf_ring_advance(). Sets *@gap to the number of records missing before it. Returns 0, or
 * -EPROTO if the bytes cannot be a record.
 */
int mf_ring_next(struct mf_ring *ring, const struct massif_record **record, uint64_t *gap,
		 struct mf_error *err);

/* Advances past the record returned by mf_ring_next(). */
void mf_ring_advance(struct mf_ring *ring, const struct massif_record *record);

/* Releases the space of all records read so far, so that the module can reuse it. */
void mf_ring_publish(struct mf_ring *ring);

/*
 * mf_ring_queue_stack() queues a cached stack for the module, and sends the queue when it is full.
 * mf_ring_send_queued() sends the queue immediately. If sending fails, the module merely copies such stacks again.
 */
void mf_ring_queue_stack(struct mf_ring *ring, const struct massif_stack_cache_stack *stack);
void mf_ring_send_queued(struct mf_ring *ring);

/* Enrols the calling process. Async-signal-safe. Returns 0 or -errno. */
int mf_ring_enrol(const struct mf_ring *ring);

/* Makes the running process @pid a member. Returns 0 or -errno; linux/massif.h lists the errors. */
int mf_ring_join(const struct mf_ring *ring, pid_t pid);

/*
 * Requests a resync of all targets that are out of sync. Returns the number of targets that are still out of sync, or
 * -errno.
 */
int mf_ring_resync(const struct mf_ring *ring);

/* Returns whether at least one process was enrolled and all enrolled processes, with their address spaces, are gone. */
bool mf_ring_hung_up(const struct mf_ring *ring);

#endif
