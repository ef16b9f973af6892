/* SPDX-License-Identifier: GPL-2.0 */
/* A finished profile: the input of the output file writers. */
#ifndef MASSIF_PROFILE_PROFILE_H
#define MASSIF_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "details.h"
#include "first_touches.h"
#include "function.h"
#include "pages_what.h"
#include "residency.h"
#include "object.h"
#include "size_class.h"
#include "thread.h"

enum mf_time_unit {
	MF_TIME_INSTRUCTIONS, /* instructions, printed as "i" */
	MF_TIME_MS,	      /* milliseconds, printed as "ms" */
	MF_TIME_BYTES,	      /* number of bytes allocated and freed so far, printed as "B" */
};

/* A recorded stack, innermost frame first, before filtering by function name. */
struct mf_context {
	const struct mf_frame *frames;
	uint32_t n_frames;
};

#define MF_PROFILE_FRAMES_MAX 512u /* maximum number of frames in a stack */

/* The live bytes of one context at the time of a snapshot. */
struct mf_leaf {
	uint32_t context; /* index into the profile's contexts */
	uint32_t blocks; /* its live blocks, UINT32_MAX if there are more; only in a snapshot that has_blocks */
	uint64_t bytes;
};

enum mf_tree_kind {
	MF_TREE_EMPTY,
	MF_TREE_DETAILED,
	MF_TREE_PEAK,
};

struct mf_profile_snapshot {
	int64_t time;		/* time of the snapshot, in the profile's time unit */
	uint64_t heap_bytes;	/* heap mode: bytes requested by live blocks; pages mode: mapped or resident bytes */
	uint64_t extra_bytes;	/* overhead of the allocator */
	uint64_t stack_bytes;
	enum mf_tree_kind tree;
	const char *root; /* text of the tree's root, or NULL for the usual text */
	/*
	 * In a detailed snapshot: the contexts with live bytes. Contexts 0 to n_seen - 1 that are not listed have none.
	 */
	const struct mf_leaf *leaves;
	size_t n_leaves;
	size_t n_seen; /* number of contexts that existed at the time of the snapshot */
	bool has_blocks; /* the leaves have numbers of blocks */
};

/* Returns all the bytes of @snapshot. */
static inline uint64_t mf_profile_total(const struct mf_profile_snapshot *snapshot)
{
	return snapshot->heap_bytes + snapshot->extra_bytes + snapshot->stack_bytes;
}

/* What one context has allocated since the start, and how many of its blocks are live at the end. */
struct mf_counts {
	uint64_t allocations; /* blocks that it has allocated, by realloc as well */
	uint64_t allocated;   /* the sum of their sizes */
	uint64_t temporaries; /* those of them that are temporary; see mf_profile.temporary_others */
	uint64_t live;
};

/* The counts of a context. All but MF_COUNT_LIVE concern all blocks since the start. */
enum mf_count {
	MF_COUNT_ALLOCATIONS,
	MF_COUNT_ALLOCATED,
	MF_COUNT_TEMPORARIES,
	MF_COUNT_LIVE,
	MF_COUNTS,
};

/* Returns whether @count is in bytes; otherwise it is in blocks. */
static inline bool mf_profile_is_in_bytes(enum mf_count count)
{
	return count == MF_COUNT_ALLOCATED;
}

static inline uint64_t mf_profile_count(const struct mf_counts *counts, enum mf_count count)
{
	const uint64_t numbers[MF_COUNTS] = {
		[MF_COUNT_ALLOCATIONS] = counts->allocations,
		[MF_COUNT_ALLOCATED] = counts->allocated,
		[MF_COUNT_TEMPORARIES] = counts->temporaries,
		[MF_COUNT_LIVE] = counts->live,
	};

	return numbers[count];
}

struct mf_profile {
	const char *desc; /* the options: the text after "desc: ", e.g. "--time-unit=B" or "(none)" */
	const char *cmd;  /* the program's command line: the text after "cmd: " */
	enum mf_time_unit time_unit;
	bool pages; /* this is a pages-mode profile, whose trees have a different text in their root line */
	enum mf_pages_what what; /* what a pages-mode profile counts */
	const struct mf_object *objects; /* all objects; number 0 is the unknown object */
	size_t n_objects;
	/*
	 * Callback that copies the frames of context @number of @source to @frames, which has room for
	 * MF_PROFILE_FRAMES_MAX. Returns the number of frames. This is a callback rather than an array of contexts,
	 * because there may be too many contexts to keep in memory.
	 */
	uint32_t (*read_context)(const void *source, uint32_t number, struct mf_frame *frames);
	const void *source;
	/*
	 * If the source has the stacks as a tree in which each path of frames from the root, node 0, occurs once: node_of()
	 * returns the node of the innermost frame of context @number, and read_node() writes the frame of @node and returns
	 * the node of its caller, whose number is less. All are less than @n_nodes. Otherwise NULL.
	 */
	uint32_t (*node_of)(const void *source, uint32_t number);
	uint32_t (*read_node)(const void *source, uint32_t node, struct mf_frame *frame);
	uint32_t n_nodes;
	size_t n_contexts;
	const uint8_t *functions; /* the allocation function that each context has called (function.h), or NULL */
	const struct mf_counts *counts; /* the counts of each context, or NULL if they are not known */
	/*
	 * which blocks are the temporary ones of @counts: those during whose life their thread allocated at most so many
	 * others. Other than 0 only if the user has chosen it.
	 */
	uint64_t temporary_others;
	/*
	 * If the stacks of different threads are kept apart: the threads, of which number 0 stands for those that are not
	 * known, and the thread of each context. Otherwise NULL.
	 */
	const struct mf_thread_info *threads;
	size_t n_threads;
	const uint32_t *context_threads;
	/*
	 * Otherwise, what each thread has allocated, if that is known. Number 0 stands for threads that are not told apart;
	 * see thread_totals.h.
	 */
	const struct mf_thread_total *thread_totals;
	size_t n_thread_totals;
	const struct mf_context_details *details; /* the details of each context, or NULL if they were not kept */
	bool has_ages; /* the details have ages; those of earlier versions of massif have none */
	uint64_t details_lost; /* blocks whose details are incomplete */
	const struct mf_size_class *sizes; /* all allocated blocks by their size (MF_SIZE_CLASSES), or NULL */
	const struct mf_residency *residency; /* samples of the resident set, or NULL if none were taken */
	const struct mf_first_touches *touches; /* who touched the resident pages first, or NULL if that is not known */
	const struct mf_profile_snapshot *snapshots; /* all snapshots, in the order of their numbers */
	size_t n_snapshots;
};

/*
 * Returns the snapshot of the peak; if there is none, that with the largest total that has a tree. @end is a snapshot,
 * with a tree, of what was held at the end; it need not be among those of the profile.
 */
const struct mf_profile_snapshot *mf_profile_peak(const struct mf_profile *profile,
						  const struct mf_profile_snapshot *end);

/* Returns the first snapshot that has a tree, which is @end if there is no other. */
const struct mf_profile_snapshot *mf_profile_first(const struct mf_profile *profile,
						   const struct mf_profile_snapshot *end);

/*
 * Lists the contexts whose @count is not 0, with the count in place of bytes, in @leaves, which has room for all contexts.
 * The profile has counts. Returns how many these are.
 */
size_t mf_profile_list_counts(const struct mf_profile *profile, enum mf_count count, struct mf_leaf *leaves);

#endif
