/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model's log: what it did with snapshots (-v -v), each event of heap mode (-v -v -v), and which stacks were
 * filtered (-v -v -v -v).
 *
 * The log is in the store because the model may run in the program's process, which must not print.
 */
#ifndef MASSIF_MODEL_LOG_H
#define MASSIF_MODEL_LOG_H

#include <stdint.h>

#include "model/store.h"

/* The reason why the model checked whether a snapshot is due. */
enum mf_occasion {
	MF_OCCASION_START,
	MF_OCCASION_ALLOC,
	MF_OCCASION_FREE,
	MF_OCCASION_REALLOC,
	MF_OCCASION_PEAK_BEFORE_FREE,
	MF_OCCASION_PEAK_BEFORE_REALLOC,
	MF_OCCASION_REQUEST, /* a client request */
	MF_OCCASION_STACK_GROWS,
	MF_OCCASION_STACK_SHRINKS,
	MF_OCCASION_PEAK_BEFORE_STACK,
	MF_OCCASION_PEAK_AT_END,
	MF_OCCASION_END,
};

/* Which events the model logs. These are the possible values of header->logs_steps. */
enum mf_log_level {
	MF_LOG_NOTHING,
	MF_LOG_SNAPSHOTS,
	MF_LOG_EVENTS,
	MF_LOG_FILTERING,
};

enum mf_step_kind {
	/* a snapshot was taken; since the one before it, @count attempts to take one were skipped */
	MF_STEP_SNAPSHOT,
	MF_STEP_CULLING,      /* a culling begins */
	/* a culling removed a snapshot in round @count; @span is the time between its neighbours */
	MF_STEP_VICTIM,
	/*
	 * the culling ignored the pair of snapshots @number - 1 and @number when it computed the new interval between
	 * snapshots, because both must be kept
	 */
	MF_STEP_PAIR_SKIPPED,
	MF_STEP_CULLED,	      /* out of @count snapshots, @number were removed */
	MF_STEP_SURVIVOR,
	/*
	 * a culling set the minimum interval between future snapshots to @span: the shortest time between two
	 * neighbouring snapshots (@number - 1 and @number), or least_interval (struct mf_model_options) if that is
	 * longer
	 */
	MF_STEP_INTERVAL,
	MF_STEP_ALLOC,	      /* an allocation begins: @heap bytes, and @extra bytes of slop */
	MF_STEP_FREE,	      /* a free begins */
	MF_STEP_REALLOC,      /* a reallocation to @heap bytes begins */
	MF_STEP_IGNORED,      /* the event is not counted */
	MF_STEP_ALLOC_END,
	MF_STEP_FREE_END,     /* @heap bytes and @extra bytes of slop were freed */
	MF_STEP_REALLOC_END,  /* a reallocation ends; @heap and @extra are the changes, signed */
	MF_STEP_STACK,	      /* a change to a stack's size begins; @heap is the signed change in bytes */
	MF_STEP_STACK_END,
	/*
	 * a stack was captured for a call of the allocation function @entry. Logged right before the MF_STEP_ALLOC step
	 * or, for a realloc, before the MF_STEP_REALLOC step. If a realloc shrinks the block, logged after that step
	 * instead, because a possible peak must be recorded before the stack becomes a new context.
	 */
	MF_STEP_CAPTURE,
};

#define MF_ENTRY_SIZE 40

struct mf_step {
	uint8_t kind;	  /* what the model did: enum mf_step_kind */
	uint8_t occasion; /* why a snapshot was considered: enum mf_occasion */
	char mark;	  /* kind of snapshot: 'p' peak, 'd' detailed, '.' any other */
	uint8_t reserved;
	/*
	 * For a snapshot: its index among the snapshots that are kept at that time. For MF_STEP_CAPTURE: the context if
	 * it is new, otherwise 0.
	 */
	uint32_t number;
	uint32_t count;
	uint32_t reserved_too;
	union {
		struct {
			int64_t span;
			int64_t time;
			uint64_t heap, extra, stacks;
		};
		char entry[MF_ENTRY_SIZE]; /* name of the allocation function's symbol, including the NUL */
	};
};

/* Appends @step to the log, or counts it as lost if the log is full. Context: the store's only writer. */
static inline void mf_log_add(struct mf_store *store, const struct mf_step *step)
{
	struct mf_store_header *header = store->header;
	struct mf_step *steps = store->regions[MF_REGION_STEPS];
	uint32_t n = header->n_steps;

	if (!mf_store_fits(store, MF_REGION_STEPS, n, sizeof(*steps))) {
		header->steps_lost++;
		return;
	}
	steps[n] = *step;
	__atomic_store_n(&header->n_steps, n + 1, __ATOMIC_RELEASE);
}

/*
 * If events are being logged, adds a log entry for one step of an event (an allocation, a free, ...). @kind says which
 * step, for example the event's beginning or its end.
 */
static inline void mf_log_event(struct mf_store *store, enum mf_step_kind kind, int64_t heap,
				int64_t extra)
{
	if (__builtin_expect(store->header->logs_steps >= MF_LOG_EVENTS, 0))
		mf_log_add(store, &(struct mf_step){
					  .kind = (uint8_t)kind,
					  .heap = (uint64_t)heap,
					  .extra = (uint64_t)extra,
				  });
}

/*
 * Logs that a stack was captured. @entry names the allocation function that was called, or is NULL if that is not
 * known; only the part before "(" is kept. @context is the number of the context if it is new, otherwise 0.
 */
static inline void mf_log_capture(struct mf_store *store, const char *entry, uint32_t context)
{
	struct mf_step step = { .kind = MF_STEP_CAPTURE, .number = context };

	for (size_t i = 0; entry && i < MF_ENTRY_SIZE - 1 && entry[i] && entry[i] != '('; i++)
		step.entry[i] = entry[i];
	mf_log_add(store, &step);
}

/*
 * Returns the logged steps in order, and stores their number in *@n. Safe against memory that a faulty program left
 * behind.
 */
static inline const struct mf_step *mf_log_view(const struct mf_store *store, uint32_t *n)
{
	uint32_t known = __atomic_load_n(&store->header->n_steps, __ATOMIC_ACQUIRE);
	uint64_t room = store->sizes[MF_REGION_STEPS] / sizeof(struct mf_step);

	*n = known < room ? known : (uint32_t)room;
	return store->regions[MF_REGION_STEPS];
}

#endif
