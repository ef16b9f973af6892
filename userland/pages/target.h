/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One target: an address space of the session. Its events are kept in ring order until the stacks that explain them
 * have arrived, and are then accounted for.
 *
 * The stack for a record arrives only when the system call returns, which may take a long time (MAP_POPULATE). Until
 * then, the events after the record wait as well, so snapshots see all events in their true order and with their real
 * stacks. Events of other address spaces do not wait. The memory for waiting events is limited: beyond the limit, the
 * oldest event is accounted for without its stack.
 */
#ifndef MASSIF_PAGES_TARGET_H
#define MASSIF_PAGES_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/massif.h>

#include "base/error.h"
#include "pages/accounting.h"
#include "pages/stack_cache.h"
#include "pages/pages.h"
#include "pages/resync.h"
#include "pages/ring.h"
#include "pages/unwind.h"

struct mf_event;
struct mf_context_filter;
struct mf_stack_wait;

/* How the stack cache is used. Modes other than MF_KNOWN_ON are for tests (MASSIF_KNOWN_STACKS in pages.h). */
enum mf_stack_cache_mode {
	MF_KNOWN_ON,
	MF_KNOWN_OFF,	 /* the stack cache is off: each stack is copied and walked */
	/* stacks are copied and walked even if they are cached, and the result is compared with the cached stack */
	MF_KNOWN_VERIFY,
};

/* State shared by all targets of a session. */
struct mf_target_common {
	struct mf_ring *ring; /* the session's ring; its mf_ring_queue_stack() sends cached stacks to the module */
	enum mf_stack_cache_mode known_mode;
	struct mf_files files;
	uint32_t frames;       /* maximum number of frames to unwind */
	enum mf_pages_what what;
	const char *dump_path; /* file name from MASSIF_DUMP_INTERVALS, or NULL */
	uint64_t held_bytes;   /* bytes of memory used by waiting events and stacks */
	uint64_t held_bytes_max;
	/*
	 * The filter that decides which pages count, and the options for looking up the function names that it needs.
	 * Both come from struct mf_pages_options.
	 */
	const struct mf_report_options *filter;
	const struct mf_symbolizer_options *names;
};

struct mf_target {
	struct mf_target *next; /* next target in the session's table */
	struct mf_target_common *common;
	uint32_t number;  /* the module's number for the target */
	uint64_t seen_ns; /* time of the target's last record */
	struct mf_accounting *accounting;
	/* the filter that decides by call stack which mapped pages are counted; NULL if all pages are */
	struct mf_context_filter *context_filter;
	struct mf_unwinder *unwinder; /* unwinder of the address space; NULL until the first stack arrives */
	/* stack cache, created together with the unwinder; NULL if out of memory or if the cache is off */
	struct mf_stack_cache *known;
	struct mf_pages_process process;
	uint64_t kernel_pages; /* the kernel's total (total_vm) in the last record that allowed a comparison with our
			        * total */

	struct mf_event *first, **last; /* queue of events that have not been accounted for yet */
	struct mf_stack_wait *waits;	/* stacks for which queued events are waiting */
	bool blocked;			/* the target was forked, and its FORK event is still queued in its parent */
	/*
	 * a resync has been completed and no record has been lost since, so our number of mapped pages can be compared
	 * with the kernel's
	 */
	bool in_sync;
	bool resyncing;			/* a resync is in progress: its last part has not arrived yet */
	bool exited;			/* the target's EXIT record has been accounted for */
	/* The target was created when a profiled process executed a program, not by a launch, an attach or a fork. */
	bool executed;
	enum mf_pages_state left;	/* how the process left this target; MF_PAGES_RUNNING if it has not */
	bool reported;			/* the target's profile has ended, and mf_pages_next_ended() has returned it */
};

/* Creates a target with no mappings for process @pid. Its profile starts at @time_ns. */
int mf_target_create(struct mf_target_common *common, const struct mf_model_options *options,
		     uint32_t number, pid_t pid, uint64_t time_ns, struct mf_target **target,
		     struct mf_error *err);

/* Frees the target and the events still in its queue. */
void mf_target_destroy(struct mf_target *target);

/* Checks that the range consists of pages in user space. Returns 0, or -EPROTO with a message that names @record. */
int mf_target_check_range(const struct massif_record *record, uint64_t start, uint64_t length,
			  struct mf_error *err);

/*
 * Each of the functions below processes one record of the target. All return 0, -ENOMEM, or -EPROTO for an impossible
 * address range.
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

/*
 * Processes a FORK record. The new target @child waits until @target has accounted for its own events up to this
 * record, and then inherits its mappings and pages.
 */
int mf_target_fork(struct mf_target *target, struct mf_target *child,
		   const struct massif_record *record, struct mf_error *err);

/* Processes one part of a resync. Takes ownership of @resync, which was allocated with malloc(), even on failure. */
int mf_target_resync(struct mf_target *target, struct mf_resync *resync, bool first_part,
		     const struct massif_record *record, struct mf_error *err);

/*
 * Processes a LOST record. The stacks that events are waiting for may have been lost, so the events stop waiting for
 * them.
 */
int mf_target_lost(struct mf_target *target, const struct massif_rec_lost *lost,
		   struct mf_error *err);

/* Records for the report that @count records were lost between the target's last record and @time_ns. */
void mf_target_note_loss(struct mf_target *target, uint64_t count, uint64_t time_ns);

/* Accounts for all queued events, without waiting any longer for their stacks. */
int mf_target_flush(struct mf_target *target, struct mf_error *err);

/* Ends the profile with @state, unless it has already ended. */
int mf_target_finish(struct mf_target *target, enum mf_pages_state state, uint64_t time_ns,
		     struct mf_error *err);

/* Writes the target's mappings at @moment to the file named in MASSIF_DUMP_INTERVALS. */
int mf_target_dump(const struct mf_target *target, const char *moment, struct mf_error *err);

#endif
