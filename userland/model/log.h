/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the model did with snapshots, step by step, for a user who asked to be told (-v -v); with
 * heap mode's events, one by one (-v -v -v); and which stacks were filtered (-v -v -v -v).
 *
 * It lies in the store since the model may run in the program's process, where nobody can print.
 */
#ifndef MASSIF_MODEL_LOG_H
#define MASSIF_MODEL_LOG_H

#include <stdint.h>

#include "model/store.h"

/* What made the model look whether a snapshot is due. */
enum mf_occasion {
	MF_OCCASION_START,
	MF_OCCASION_ALLOC,
	MF_OCCASION_FREE,
	MF_OCCASION_REALLOC,
	MF_OCCASION_PEAK_BEFORE_FREE,
	MF_OCCASION_PEAK_BEFORE_REALLOC,
	MF_OCCASION_REQUEST, /* the program's own */
	MF_OCCASION_STACK_GROWS,
	MF_OCCASION_STACK_SHRINKS,
	MF_OCCASION_PEAK_BEFORE_STACK,
	MF_OCCASION_PEAK_AT_END,
	MF_OCCASION_END,
};

/* What header->logs_steps asks for. */
enum mf_log_level {
	MF_LOG_NOTHING,
	MF_LOG_SNAPSHOTS,
	MF_LOG_EVENTS,
	MF_LOG_FILTERING,
};

enum mf_step_kind {
	MF_STEP_SNAPSHOT,     /* was taken; @count attempts were skipped since the one before */
	MF_STEP_CULLING,      /* begins */
	MF_STEP_VICTIM,	      /* goes in round @count; @span between its neighbours */
	MF_STEP_PAIR_SKIPPED, /* @number - 1 and @number do not bear on the interval */
	MF_STEP_CULLED,	      /* @number of @count are gone */
	MF_STEP_SURVIVOR,
	MF_STEP_INTERVAL,     /* is @span now, that between @number - 1 and @number */
	MF_STEP_ALLOC,	      /* begins: @heap bytes and @extra of slop */
	MF_STEP_FREE,	      /* begins */
	MF_STEP_REALLOC,      /* begins: to @heap bytes */
	MF_STEP_IGNORED,      /* it does not count */
	MF_STEP_ALLOC_END,
	MF_STEP_FREE_END,     /* @heap bytes and @extra of slop are gone */
	MF_STEP_REALLOC_END,  /* @heap and @extra are signed changes */
	MF_STEP_STACK,	      /* begins: @heap is a signed change of all stacks */
	MF_STEP_STACK_END,
	MF_STEP_CAPTURE,      /* of a stack for @entry, just before an ALLOC, before or after a REALLOC */
};

#define MF_ENTRY_SIZE 40

struct mf_step {
	uint8_t kind;	  /* enum mf_step_kind */
	uint8_t occasion; /* enum mf_occasion */
	char mark;	  /* of a snapshot: 'p' the peak, 'd' one with a tree, '.' another */
	uint8_t reserved;
	/* Of the snapshot, in the order of those that were kept then; of a new context, or 0. */
	uint32_t number;
	uint32_t count;
	uint32_t reserved_too;
	union {
		struct {
			int64_t span;
			int64_t time;
			uint64_t heap, extra, stacks;
		};
		char entry[MF_ENTRY_SIZE]; /* the allocation function's symbol, with its NUL */
	};
};

/* Keeps @step, or its absence, for the reader. By the store's one writer. */
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

/* Keeps an event's step, if events are asked for. */
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
 * Keeps that a stack was captured, where @entry, up to a bracket, is the symbol of what was called
 * (NULL: not known); with the number of its @context if that is new, otherwise 0.
 */
static inline void mf_log_capture(struct mf_store *store, const char *entry, uint32_t context)
{
	struct mf_step step = { .kind = MF_STEP_CAPTURE, .number = context };

	for (size_t i = 0; entry && i < MF_ENTRY_SIZE - 1 && entry[i] && entry[i] != '('; i++)
		step.entry[i] = entry[i];
	mf_log_add(store, &step);
}

/* The steps kept, in order; *@n is their number. Safe against what a broken program left behind. */
static inline const struct mf_step *mf_log_view(const struct mf_store *store, uint32_t *n)
{
	uint32_t known = __atomic_load_n(&store->header->n_steps, __ATOMIC_ACQUIRE);
	uint64_t room = store->sizes[MF_REGION_STEPS] / sizeof(struct mf_step);

	*n = known < room ? known : (uint32_t)room;
	return store->regions[MF_REGION_STEPS];
}

#endif
