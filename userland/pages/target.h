/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One address space of the session: its events in the order of the ring, held back until the
 * stacks that explain them have come, then accounted.
 *
 * A stack follows its records when the system call returns, which may be late (MAP_POPULATE).
 * Events behind such a record wait, so that snapshots see everything in its true order and under
 * its real stack; other address spaces do not wait. What waits is bounded: beyond the limits the
 * oldest event goes ahead without its stack.
 */
#ifndef MASSIF_PAGES_TARGET_H
#define MASSIF_PAGES_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "base/error.h"
#include "pages/accounting.h"
#include "pages/known.h"
#include "pages/pages.h"
#include "pages/resync.h"
#include "pages/ring.h"
#include "pages/unwind.h"

struct mf_event;
struct mf_context_filter;
struct mf_stack_wait;

/* Whether stacks that equal a known one are walked: for tests, see pages.h. */
enum mf_stack_cache_mode {
	MF_KNOWN_ON,
	MF_KNOWN_OFF,	 /* nothing is known */
	MF_KNOWN_VERIFY, /* they are captured and walked, and compared with what is known */
};

/* What all targets of a session share. */
struct mf_target_common {
	struct mf_ring *ring; /* whose module is told of stacks */
	enum mf_stack_cache_mode known_mode;
	struct mf_files files;
	uint32_t frames;       /* to unwind at most */
	enum mf_pages_what what;
	const char *dump_path; /* MASSIF_DUMP_INTERVALS, or NULL */
	uint64_t held_bytes;   /* of events and stacks held back */
	uint64_t held_bytes_max;
	const struct mf_report_options *filter; /* with names: as in struct mf_pages_options */
	const struct mf_symbolizer_options *names;
};

struct mf_target {
	struct mf_target *next; /* in the session's table */
	struct mf_target_common *common;
	uint32_t number;  /* the module's */
	uint64_t seen_ns; /* time of the last record of it */
	struct mf_accounting *accounting;
	struct mf_context_filter *judge; /* of what counts; NULL: everything */
	struct mf_unwinder *unwinder; /* made with the first stack */
	struct mf_stack_cache *known;	      /* as well; NULL: no memory, or not wanted */
	struct mf_pages_process process;
	uint64_t kernel_pages; /* the last total that could be compared */

	struct mf_event *first, **last; /* events held back */
	struct mf_stack_wait *waits;	/* stacks that they wait for */
	bool blocked;			/* forked by a target that has not come to the fork yet */
	bool in_sync;			/* totals may be compared */
	bool resyncing;			/* within a series of parts, from the first one on */
	bool exited;			/* EXIT accounted */
	bool executed;			/* by a profiled process; false: launched, joined or forked */
	enum mf_pages_state left;	/* how the process left it; MF_PAGES_RUNNING: it has not */
	bool reported;			/* by mf_pages_next_ended */
};

/* A target of process @pid whose profile starts at @time_ns, with nothing mapped. */
int mf_target_create(struct mf_target_common *common, const struct mf_model_options *options,
		     uint32_t number, pid_t pid, uint64_t time_ns, struct mf_target **target,
		     struct mf_error *err);

/* Frees it with all that it holds back. */
void mf_target_destroy(struct mf_target *target);

/* Is it one of pages of a process? Returns 0 or -EPROTO, with words about @record. */
int mf_target_check_range(const struct massif_record *record, uint64_t start, uint64_t length,
			  struct mf_error *err);

/*
 * These take records of the target. All return 0 or -errno: -ENOMEM, or -EPROTO for an
 * address range that cannot be.
 */
int mf_target_map(struct mf_target *target, const struct massif_rec_map *map, struct mf_error *err);
int mf_target_name(struct mf_target *target, const struct massif_rec_vma *name,
		   struct mf_error *err);
int mf_target_stack(struct mf_target *target, const struct massif_rec_stack *stack,
		    struct mf_error *err);
int mf_target_resident(struct mf_target *target, const struct massif_rec_resident *resident,
		       struct mf_error *err);
int mf_target_move(struct mf_target *target, const struct massif_rec_move *move,
		   struct mf_error *err);
int mf_target_exit(struct mf_target *target, const struct massif_rec_exit *end,
		   struct mf_error *err);

/* @child, new, was forked: it waits until @target comes here, then inherits. */
int mf_target_fork(struct mf_target *target, struct mf_target *child,
		   const struct massif_record *record, struct mf_error *err);

/* A part of a resync. Takes @resync over, of malloc, in any case. */
int mf_target_resync(struct mf_target *target, struct mf_resync *resync, bool first_part,
		     const struct massif_record *record, struct mf_error *err);

/* Records are missing here, among them perhaps stacks that are waited for. */
int mf_target_lost(struct mf_target *target, const struct massif_rec_lost *lost,
		   struct mf_error *err);

/* Notes for the report that @count records from the last one on to @time_ns are missing. */
void mf_target_note_loss(struct mf_target *target, uint64_t count, uint64_t time_ns);

/* Waits for nothing any more: all events are accounted. */
int mf_target_flush(struct mf_target *target, struct mf_error *err);

/* Notes the end of its profile as @state, unless that was noted before. */
int mf_target_finish(struct mf_target *target, enum mf_pages_state state, uint64_t time_ns,
		     struct mf_error *err);

/* Writes its mappings down, as of @moment, where MASSIF_DUMP_INTERVALS says. */
int mf_target_dump(const struct mf_target *target, const char *moment, struct mf_error *err);

#endif
