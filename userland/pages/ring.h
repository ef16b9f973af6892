/* SPDX-License-Identifier: GPL-2.0 */
/* A session of massif.ko and the ring of its records; see linux/massif.h for the protocol. */
#ifndef MASSIF_PAGES_RING_H
#define MASSIF_PAGES_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/massif.h>

#include "base/error.h"

struct mf_ring {
	int fd; /* of the device; -1: attached to memory */
	const struct massif_control *control;
	struct massif_consumer *consumer;
	const uint8_t *data;
	uint64_t data_bytes; /* a power of two */
	uint64_t page_bytes;
	uint64_t tail;	    /* position of the next record to read */
	uint64_t published; /* tail as the module knows it */
	uint64_t next_seq;  /* that the next record should have; 0: any */
	uint64_t most_unread; /* bytes */

	/* Stacks that the module will be told of. */
	uint8_t *told; /* NULL: it does not want to know */
	uint32_t told_bytes;
};

/* What a session is set up with. */
struct mf_ring_setup {
	uint64_t flags;	      /* MASSIF_SETUP_* */
	uint64_t ring_bytes;  /* a power of two */
	uint32_t stack_bytes; /* of a capture, at most */
	uint32_t known_bytes; /* of the module's memory for known stacks, at most; 0: none */
};

/*
 * Opens @device, checks its version and sets up a session. Returns 0, or -errno with words on what
 * is missing and what to do.
 */
int mf_ring_open(struct mf_ring *ring, const char *device, const struct mf_ring_setup *setup,
		 struct mf_error *err);

/*
 * Reads from memory that looks like a ring; nothing of it is freed by mf_ring_close. Returns
 * -EINVAL if the control page is not one.
 */
int mf_ring_attach(struct mf_ring *ring, const struct massif_control *control,
		   struct massif_consumer *consumer, const uint8_t *data, struct mf_error *err);

/*
 * In a child that this process forked, and that reads the ring from now on in its place. Returns 0 or
 * -errno.
 */
int mf_ring_forked(struct mf_ring *ring, struct mf_error *err);

void mf_ring_close(struct mf_ring *ring);

/*
 * The next record, whose sizes, strings and arrays have been checked; NULL in *@record when the
 * ring is empty. It stays valid until mf_ring_advance. *@gap says how many records before it are
 * missing. Returns 0, or -EPROTO when the bytes cannot be a record.
 */
int mf_ring_next(struct mf_ring *ring, const struct massif_record **record, uint64_t *gap,
		 struct mf_error *err);

/* Goes beyond the record that mf_ring_next returned. */
void mf_ring_advance(struct mf_ring *ring, const struct massif_record *record);

/* Gives the room of all records read back to the module. */
void mf_ring_publish(struct mf_ring *ring);

/*
 * Tells the module of a known stack, soon: with others, or when mf_ring_tell_now() is called. That
 * it fails costs time, not truth.
 */
void mf_ring_tell(struct mf_ring *ring, const struct massif_stack_cache_stack *stack);
void mf_ring_tell_now(struct mf_ring *ring);

/* Enrols the calling process. Async-signal-safe. Returns 0 or -errno. */
int mf_ring_enrol(const struct mf_ring *ring);

/* Makes the running process @pid a member. Returns 0 or -errno; see linux/massif.h. */
int mf_ring_join(const struct mf_ring *ring, pid_t pid);

/* Asks for the resync of targets that are out of sync. Returns how many remain so, or -errno. */
int mf_ring_resync(const struct mf_ring *ring);

/* Whether processes were enrolled and all are gone, with their address spaces. */
bool mf_ring_hung_up(const struct mf_ring *ring);

#endif
