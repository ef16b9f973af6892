/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of the events of one address space, in the order in which they were in the ring. Events are accounted for
 * in this order; an event waits in the queue until its stack has arrived.
 */
#ifndef MASSIF_PAGES_EVENT_H
#define MASSIF_PAGES_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "base/error.h"
#include "pages/resync.h"

#define MF_PAGE_BYTES 4096ull

struct mf_stack_wait;
struct mf_target;

enum mf_event_type {
	MF_EVENT_MAP,
	MF_EVENT_UNMAP,
	MF_EVENT_NAME,
	MF_EVENT_RESYNC,
	MF_EVENT_RESIDENT,
	MF_EVENT_MOVE,
	MF_EVENT_FORK,
	MF_EVENT_LOST,
	MF_EVENT_EXIT,
};

struct mf_event {
	struct mf_event *next;
	enum mf_event_type type;
	uint32_t flags;	  /* flags of the event's record: MASSIF_RF_* */
	uint32_t thread;  /* thread that caused the event, or 0 for no particular thread */
	/*
	 * Number of the stack copy made during the event's system call. An UNMAP event needs no stack; its number is
	 * copied from another record of the same system call.
	 */
	uint32_t capture;
	uint32_t known;	  /* number of the cached stack that the module has recognised, or 0 for none */
	uint64_t time_ns;
	uint64_t total_vm; /* total number of mapped pages according to the kernel */
	uint64_t start, end;
	struct mf_stack_wait *wait; /* in a MAP event: the stack that the event waits for, or NULL if none */
	union {
		uint32_t kind; /* in a MAP event: what kind of mapping was created, MASSIF_MAP_* */
		struct {
			uint32_t file;
			uint64_t offset;
		} name;
		struct {
			struct mf_resync *resync;
			bool first_part;
		} resync;
		struct mf_target *child; /* in a FORK event: the forked child's target */
		struct massif_rec_resident *resident; /* in a RESIDENT event: an owned copy of the record */
		uint64_t from;			      /* in a MOVE event: address from which the pages move */
	};
};

/*
 * Appends a new event to the queue, with the time and flags of @record (may be NULL). The caller sets the type-specific
 * fields. Returns NULL if out of memory.
 */
struct mf_event *mf_event_append(struct mf_target *target, enum mf_event_type type,
				 const struct massif_record *record);

/* Removes the first event and frees everything it holds. */
void mf_event_pop(struct mf_target *target);

/* Accounts for events until one has to wait for its stack. Returns 0, or -errno with a message in @err. */
int mf_event_run(struct mf_target *target, struct mf_error *err);

#endif
