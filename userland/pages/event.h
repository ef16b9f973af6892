/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happened to an address space, in the order of the ring: a queue of events, which are
 * accounted one after the other, each when its stack is there.
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
	uint32_t flags;	  /* MASSIF_RF_* */
	uint32_t thread;  /* 0: nobody's doing */
	uint32_t capture; /* of the system call; UNMAP: if another record of it has one */
	uint32_t known;	  /* number of the stack; 0: it is not a known one */
	uint64_t time_ns;
	uint64_t total_vm; /* pages */
	uint64_t start, end;
	struct mf_stack_wait *wait; /* MAP: for the stack; NULL: there is none to wait for */
	union {
		uint32_t kind; /* MAP: MASSIF_MAP_* */
		struct {
			uint32_t file;
			uint64_t offset;
		} name;
		struct {
			struct mf_resync *resync;
			bool first_part;
		} resync;
		struct mf_target *child; /* FORK */
		struct massif_rec_resident *resident; /* a copy */
		uint64_t from;			      /* MOVE */
	};
};

/*
 * A new event of @record (NULL: none) at the end of the queue; what it is about is to be set. NULL: no
 * memory.
 */
struct mf_event *mf_event_append(struct mf_target *target, enum mf_event_type type,
				 const struct massif_record *record);

/* Takes the first event out, with all that it holds. */
void mf_event_pop(struct mf_target *target);

/* Accounts the events whose turn it is. Returns 0 or -errno, with words in @err. */
int mf_event_run(struct mf_target *target, struct mf_error *err);

#endif
